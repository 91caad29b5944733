import { createCookie } from './cookies.ts';

const DAY_SECONDS = 86_400;
/** The longest that browsers keep a cookie (RFC 6265bis §5.5). */
const KEPT_SECONDS = 400 * DAY_SECONDS;

/** The browser a request comes from. */
export interface Visitor {
  /** From `client-address.ts`. */
  address: string;
  userAgent: string;
  /** The value of the cookie that it keeps past sessions; absent where it brings none. It may be anything. */
  device?: string | undefined;
  /** The value of the cookie that it keeps between password and code; absent where it brings none. It may be anything. */
  pending?: string | undefined;
}

const COOKIE = createCookie('device');
const PENDING = createCookie('signin');

/** Returns the device in a `Cookie` header; undefined without one. */
export function deviceOf(baseUrl: string, header: string | undefined): string | undefined {
  return COOKIE.values(baseUrl, header)[0];
}

/** The value of a `Set-Cookie` that a browser keeps past sessions. */
export function deviceCookie(baseUrl: string, device: string): string {
  return COOKIE.set(baseUrl, device, KEPT_SECONDS);
}

/** Returns the token of a browser that has given a password but no code yet; undefined without one. */
export function pendingOf(baseUrl: string, header: string | undefined): string | undefined {
  return PENDING.values(baseUrl, header)[0];
}

/** The value of a `Set-Cookie` that a browser keeps until it is closed; null has it forget the one it has. */
export function pendingCookie(baseUrl: string, pending: string | null): string {
  return pending === null ? PENDING.set(baseUrl, '', 0) : PENDING.set(baseUrl, pending);
}
