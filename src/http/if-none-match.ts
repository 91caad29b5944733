/**
 * Reports whether an `If-None-Match` names this ETag, by weak comparison (RFC 9110 §13.1.2). Koa's own comparison fails
 * if the request has `Cache-Control: no-cache`, which some clients add to every conditional request.
 */
export function namesEtag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((each) => ['*', etag].includes(each.trim().replace(/^W\//, '')));
}
