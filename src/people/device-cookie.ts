import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../store/secret.ts';

const VALUE = /^([\w-]{22})\.([\w-]{43})$/;

/**
 * Creates a cookie that identifies a browser, also without a signed-in user: a user who has signed in with it before is
 * not locked out by strangers who guess the password (OWASP, Slow Down Online Guessing Attacks with Device Cookies). It
 * grants no access.
 */
export function newDevice(secret: Secret): string {
  const id = randomBytes(16).toString('base64url');
  return `${id}.${secret.derive('device', id)}`;
}

/** Returns the device's id; undefined if the value is not one of ours. */
export function deviceId(secret: Secret, value: string | undefined): string | undefined {
  const [, id, seal] = VALUE.exec(value ?? '') ?? [];
  if (id === undefined || seal === undefined) return undefined;
  return timingSafeEqual(Buffer.from(seal), Buffer.from(secret.derive('device', id))) ? id : undefined;
}
