import { randomInt } from 'node:crypto';
import type { Secret } from '../../store/secret.ts';

/** How many somebody gets. */
export const RECOVERY_CODES = 10;

/** No letters or digits that look alike. */
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz';
const LENGTH = 10;
const CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`);

/** Fresh codes as they are shown, `k7m2x-9qwrt`: 49.5 bits each, from the operating system's generator. */
export function mintRecoveryCodes(): string[] {
  const letter = () => ALPHABET.charAt(randomInt(ALPHABET.length));
  return Array.from({ length: RECOVERY_CODES }, () => shown(Array.from({ length: LENGTH }, letter).join('')));
}

/** Returns a typed code in its displayed format; undefined if it cannot be one. Ignores case, blanks and dashes. */
export function readRecoveryCode(typed: string): string | undefined {
  const letters = typed.toLowerCase().replaceAll(/[\s\p{Pd}]/gu, '');
  return CODE.test(letters) ? shown(letters) : undefined;
}

/** How a code, as it is shown, is stored. With the secret, as a plain hash of so few bits can be searched for. */
export function hashRecoveryCode(secret: Secret, userId: string, code: string): string {
  return secret.derive('recovery-code', `${userId} ${code}`);
}

function shown(letters: string): string {
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}
