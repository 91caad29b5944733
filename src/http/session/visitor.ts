import { createCookie } from './cookies.ts';

const DAY_SECONDS = 86_400;
/** The longest time that browsers keep a cookie (RFC 6265bis §5.5). */
const KEPT_SECONDS = 400 * DAY_SECONDS;

/** The browser a request comes from. */
export interface Visitor {
  /** From `client-address.ts`. */
  address: string;
  userAgent: string;
  /** The device cookie, which outlives sessions; absent if not sent. Unverified. */
  device?: string | undefined;
  /** The cookie kept between password and code; absent if not sent. Unverified. */
  pending?: string | undefined;
}

const COOKIE = createCookie('device');
const PENDING = createCookie('signin');

/** Returns the device in a `Cookie` header; undefined if absent. */
export function deviceOf(baseUrl: string, header: string | undefined): string | undefined {
  return COOKIE.values(baseUrl, header)[0];
}

/** Returns the value of a `Set-Cookie` for the device, which outlives sessions. */
export function deviceCookie(baseUrl: string, device: string): string {
  return COOKIE.set(baseUrl, device, KEPT_SECONDS);
}

/** Returns the token of a browser whose user has entered the password but no code yet; undefined if absent. */
export function pendingOf(baseUrl: string, header: string | undefined): string | undefined {
  return PENDING.values(baseUrl, header)[0];
}

/** Returns the value of a `Set-Cookie` that lasts until the browser closes; null removes the cookie. */
export function pendingCookie(baseUrl: string, pending: string | null): string {
  return pending === null ? PENDING.set(baseUrl, '', 0) : PENDING.set(baseUrl, pending);
}
