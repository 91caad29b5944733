import { DAY_MS } from '../../kernel/units.ts';
import { createCookie } from './cookies.ts';

const COOKIE = createCookie('sid');

/** Maximum age of a session, however often it is used. */
export const SESSION_LIFE_MS = 90 * DAY_MS;

/** The session cookie's name. */
export const sessionCookieName = (baseUrl: string): string => COOKIE.name(baseUrl);

/**
 * Returns the value of a `Set-Cookie` that signs a browser in. The database ends sessions before the cookie expires.
 */
export function sessionCookie(baseUrl: string, token: string): string {
  return COOKIE.set(baseUrl, token, SESSION_LIFE_MS / 1_000);
}

/** Returns the value of a `Set-Cookie` that makes a browser drop its session. */
export function clearedSessionCookie(baseUrl: string): string {
  return COOKIE.set(baseUrl, '', 0);
}

/** Returns the token in a `Cookie` header; undefined if it is missing or repeated, because then one was planted. */
export function sessionToken(baseUrl: string, header: string | undefined): string | undefined {
  const [token, ...more] = COOKIE.values(baseUrl, header);
  return more.length > 0 ? undefined : token;
}
