import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../store/secret.ts';

const DAY_SECONDS = 86_400;
/** The longest that browsers keep a cookie (RFC 6265bis §5.5). */
const KEPT_SECONDS = 400 * DAY_SECONDS;
const VALUE = /^([\w-]{22})\.([\w-]{43})$/;

/**
 * A cookie that tells one browser from others, also while nobody is signed in: who has signed in with it before is not kept
 * out by strangers that guess the password (OWASP, Slow Down Online Guessing Attacks with Device Cookies). It opens nothing.
 */
export function newDevice(secret: Secret): string {
  const id = randomBytes(16).toString('base64url');
  return `${id}.${secret.derive('device', id)}`;
}

/** The device's own id where the value is one of ours; undefined where it is not. */
export function deviceId(secret: Secret, value: string | undefined): string | undefined {
  const [, id, seal] = VALUE.exec(value ?? '') ?? [];
  if (id === undefined || seal === undefined) return undefined;
  return timingSafeEqual(Buffer.from(seal), Buffer.from(secret.derive('device', id))) ? id : undefined;
}

/** The value in a `Cookie` header; undefined where there is none. */
export function deviceOf(baseUrl: string, header: string | undefined): string | undefined {
  const name = `${cookieName(baseUrl)}=`;
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(name))?.slice(name.length);
}

/** The value of a `Set-Cookie` that a browser keeps past sessions. */
export function deviceCookie(baseUrl: string, device: string): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  return `${cookieName(baseUrl)}=${device}; Path=/; Max-Age=${KEPT_SECONDS}; HttpOnly; SameSite=Lax${secure}`;
}

function cookieName(baseUrl: string): string {
  return baseUrl.startsWith('https:') ? '__Host-device' : 'device';
}
