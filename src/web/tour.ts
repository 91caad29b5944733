import { createCookie } from '../http/session/cookies.ts';

/** The longest that browsers keep a cookie (RFC 6265bis §5.5). */
const KEPT_SECONDS = 400 * 86_400;

/** Stores which user has finished or dismissed the first steps in this browser. */
const COOKIE = createCookie('tour');

/** Reports whether a `Cookie` header says that a user has finished or dismissed the first steps. */
export function isTourOver(baseUrl: string, header: string | undefined, userId: string): boolean {
  return COOKIE.values(baseUrl, header).includes(userId);
}

/** Returns the value of a `Set-Cookie` that stores this. */
export function tourOverCookie(baseUrl: string, userId: string): string {
  return COOKIE.set(baseUrl, userId, KEPT_SECONDS);
}
