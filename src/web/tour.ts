import { createCookie } from '../http/session/cookies.ts';

/** The longest that browsers keep a cookie (RFC 6265bis §5.5). */
const KEPT_SECONDS = 400 * 86_400;

/** Says which user's first steps are through, or were dismissed, in this browser. */
const COOKIE = createCookie('tour');

/** Whether the way to a first join need not be shown to a user, by a `Cookie` header. */
export function isTourOver(baseUrl: string, header: string | undefined, userId: string): boolean {
  return COOKIE.values(baseUrl, header).includes(userId);
}

/** The value of a `Set-Cookie` that remembers it. */
export function tourOverCookie(baseUrl: string, userId: string): string {
  return COOKIE.set(baseUrl, userId, KEPT_SECONDS);
}
