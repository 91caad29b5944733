import { randomInt } from 'node:crypto';
import type { Secret } from '../store/secret.ts';

/** RFC 8628 §6.1: no vowels, so no words; no letters that look or sound alike. */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
const LENGTH = 8;
const OUTSIDE = new RegExp(`[^${ALPHABET}]`, 'g');
/** Longer than any way to type a code. */
const TYPED_CHARS = 64;

/** Returns a new user code in its displayed format, `WDJB-MJHT`: 34.6 bits from the operating system's generator. */
export function mintUserCode(): string {
  return shown(Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join(''));
}

/**
 * Returns a typed code in its displayed format; undefined if it cannot be one. Ignores case and characters that no code
 * contains: blanks, dashes of any kind (RFC 8628 §6.1).
 */
export function readUserCode(typed: string): string | undefined {
  const letters = typed.slice(0, TYPED_CHARS).normalize('NFKC').toUpperCase().replaceAll(OUTSIDE, '');
  return letters.length === LENGTH ? shown(letters) : undefined;
}

/**
 * Returns the stored form of a displayed code. Keyed with the secret, because a plain hash of so few bits can be
 * reversed in seconds.
 */
export function hashUserCode(secret: Secret, code: string): string {
  return secret.derive('user-code', code);
}

function shown(letters: string): string {
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}
