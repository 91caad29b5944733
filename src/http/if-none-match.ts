/**
 * Whether an `If-None-Match` names this ETag, compared weakly (RFC 9110 §13.1.2). Koa's own comparison gives way to a
 * `Cache-Control: no-cache` of the request, which some clients add to every condition.
 */
export function namesEtag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((each) => ['*', etag].includes(each.trim().replace(/^W\//, '')));
}
