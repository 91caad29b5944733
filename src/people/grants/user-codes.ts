import { randomInt } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { addressKey } from '../../kernel/ip.ts';
import { backoff, createSlidingLog } from '../../kernel/limits/sliding-log.ts';
import type { Secret } from '../../store/secret.ts';
import { type Attempt, createAttemptLimit } from '../login-limits.ts';

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

/** The user who types a code. */
export interface Guesser {
  sessionId: string;
  accountId: string;
  address: string;
}

/** Counts wrong codes. */
export interface GuessLimit {
  /**
   * Counts a code before it is looked up; forgive it if the code is valid. Throws RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS
   * if the session, the account or the address has exceeded its limit, even if this code is valid.
   */
  take(guesser: Guesser): Attempt;
}

/** Limits of wrong codes within ten minutes. 20 guesses at 100 live codes succeed with a chance of 8 in 100 million. */
const FREE = { session: 5, account: 10, address: 20 };
const WINDOW_MS = 600_000;

/**
 * Creates the limit of wrong codes. Attempts are forgotten after ten minutes. They are in memory, with a size limit; a
 * restart resets the count.
 */
export function createGuessLimit(clock: Clock): GuessLimit {
  const limit = (free: number) =>
    createAttemptLimit(
      createSlidingLog(backoff({ free, firstWaitMs: WINDOW_MS, longestWaitMs: WINDOW_MS, windowMs: WINDOW_MS }), clock),
    );
  const [session, account, address] = [limit(FREE.session), limit(FREE.account), limit(FREE.address)];
  return {
    take(guesser) {
      const taken: Attempt[] = [];
      const forgive = () => taken.splice(0).forEach((attempt) => attempt.forgive());
      try {
        taken.push(address.take(addressKey(guesser.address)));
        taken.push(account.take(guesser.accountId));
        taken.push(session.take(guesser.sessionId));
      } catch (error) {
        forgive();
        throw error;
      }
      return { forgive };
    },
  };
}

function shown(letters: string): string {
  return `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`;
}
