/** However long a service says; none is to be away for a day because of one header. */
const MOST_MS = 600_000;

/**
 * Reads Retry-After (RFC 9110 §10.2.3), as seconds or a date, and Modrinth's own header. Returns 0 without one, at most
 * ten minutes.
 */
export function retryAfterMs({ headers }: Pick<Response, 'headers'>): number {
  const text = headers.get('retry-after') ?? headers.get('x-ratelimit-reset') ?? '';
  if (/^\d{1,6}$/.test(text)) return Math.min(Number(text) * 1_000, MOST_MS);
  const until = Date.parse(text) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(until) ? 0 : Math.min(Math.max(0, until), MOST_MS);
}
