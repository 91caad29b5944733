import { randomInt } from 'node:crypto';
import type { Secret } from '../../store/secret.ts';

/** Number of codes per user. */
export const RECOVERY_CODES = 10;

/** Excludes letters and digits that look alike. */
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz';
const LENGTH = 10;
const CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`);

/** Returns new codes in their displayed format, `k7m2x-9qwrt`: 49.5 bits each from the operating system's generator. */
export function mintRecoveryCodes(): string[] {
  const letter = () => ALPHABET.charAt(randomInt(ALPHABET.length));
  return Array.from({ length: RECOVERY_CODES }, () => shown(Array.from({ length: LENGTH }, letter).join('')));
}

/** Returns a typed code in its displayed format; undefined if it cannot be one. Ignores case, blanks and dashes. */
export function readRecoveryCode(typed: string): string | undefined {
  const letters = typed.toLowerCase().replaceAll(/[\s\p{Pd}]/gu, '');
  return CODE.test(letters) ? shown(letters) : undefined;
}

/**
 * Returns the stored form of a displayed code. Keyed with the secret, because a plain hash of so few bits can be
 * reversed.
 */
export function hashRecoveryCode(secret: Secret, userId: string, code: string): string {
  return secret.derive('recovery-code', `${userId} ${code}`);
}

function shown(letters: string): string {
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}
