import { createHmac, timingSafeEqual } from 'node:crypto';

/** The defaults of authenticator apps: HMAC-SHA-1, six digits, a new code every half minute (RFC 6238 §4). */
const STEP_MS = 30_000;
const DIGITS = 6;
/**
 * Steps before and after the present one whose codes are also accepted, for differing clocks and slow typing (RFC 6238
 * §5.2).
 */
const SKEW_STEPS = 1;
/** RFC 4226 §4: 160 bits. */
export const KEY_BYTES = 20;

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Returns the step of an instant: the number of half minutes since 1970. Each step has one code. */
export function stepAt(at: number): number {
  return Math.floor(at / STEP_MS);
}

/** Returns the six digits of a step (RFC 4226 §5.3). */
export function codeOfStep(key: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hmac = createHmac('sha1', key).update(counter).digest();
  const offset = hmac.readUInt8(hmac.length - 1) & 0xf;
  const number = hmac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

/** Returns the step of a code among those valid at an instant and later than `taken`; undefined without one. */
export function stepOfCode(
  key: Buffer,
  code: string,
  { at, taken }: { at: number; taken: number },
): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const given = Buffer.from(code);
  const first = Math.max(stepAt(at) - SKEW_STEPS, taken + 1, 0);
  for (let step = first; step <= stepAt(at) + SKEW_STEPS; step++) {
    if (timingSafeEqual(given, Buffer.from(codeOfStep(key, step)))) return step;
  }
  return undefined;
}

/** Encodes bytes for apps that cannot scan a picture (RFC 4648 §6, without padding). */
export function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  return bits.replaceAll(/.{1,5}/g, (five) => BASE32.charAt(Number.parseInt(five.padEnd(5, '0'), 2)));
}

/** Returns the QR code's content: the key, and its name in the app (Key URI Format of Google Authenticator). */
export function keyUri(key: Buffer, { issuer, account }: { issuer: string; account: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${base32(key)}&issuer=${encodeURIComponent(issuer)}`;
}
