import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { type BucketRule, type RateLimiter, createRateLimiter } from '../kernel/limits/rate-limiter.ts';
import { SECOND_MS } from '../kernel/units.ts';

/**
 * Limits attempts by key. Keys are never locked: anyone may retry after the wait, so strangers cannot lock a user out.
 */
export interface AttemptLimit {
  /**
   * Counts an attempt before its work. Throws RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS without counting it if it comes too
   * soon.
   */
  take(key: string): Attempt;
}

/** One counted attempt. */
export interface Attempt {
  /** Removes a successful attempt from the count. */
  forgive(): void;
}

/** Limits of actions without a credential, or to obtain one. */
export interface LoginLimits {
  /** Wrong passwords from a device or session known to the account. */
  own: AttemptLimit;
  /** Other wrong passwords, by account and network. */
  network: AttemptLimit;
  /** Wrong passwords from networks new to the account's user, by account. */
  account: AttemptLimit;
  /** Wrong passwords and codes, by client address. */
  address: AttemptLimit;
  /** Wrong second-factor codes from devices new to their user, by user. */
  code: AttemptLimit;
  /** New accounts, by client address. */
  signUp: AttemptLimit;
  /** E-mails, by requester. */
  mail: AttemptLimit;
}

const HOUR_SECONDS = 3_600;

const perHour = (burst: number, count: number): BucketRule => ({ burst, perSecond: count / HOUR_SECONDS });

/**
 * Within a quarter of an hour, about 15 attempts at an account from a network, and 50 from an address. 300 an hour at
 * an account from all new networks together: one network's share is a seventh of it, and a year of guessing makes less
 * than 3 million attempts. 10 codes an hour, with three valid codes at any time: an attacker who also has the password
 * succeeds within a year with a chance of one in four.
 */
export const LOGIN_RULES: Record<keyof LoginLimits, BucketRule> = {
  own: perHour(10, 40),
  network: perHour(5, 40),
  account: perHour(60, 300),
  address: perHour(30, 80),
  code: perHour(5, 10),
  signUp: perHour(10, 10),
  mail: perHour(10, 10),
};

export function createLoginLimits(clock: Clock, rules: Partial<typeof LOGIN_RULES> = {}): LoginLimits {
  const limit = (name: keyof LoginLimits) =>
    createAttemptLimit(createRateLimiter(rules[name] ?? LOGIN_RULES[name], clock));
  return {
    own: limit('own'),
    network: limit('network'),
    account: limit('account'),
    address: limit('address'),
    code: limit('code'),
    signUp: limit('signUp'),
    mail: limit('mail'),
  };
}

/** Counts attempts with a rate limiter. */
export function createAttemptLimit(limiter: RateLimiter): AttemptLimit {
  return {
    take(key) {
      const { waitMs, giveBack } = limiter.take(key);
      if (waitMs > 0) throw tooMany(waitMs);
      return { forgive: giveBack };
    },
  };
}

function tooMany(waitMs: number): StatusError {
  const seconds = Math.ceil(waitMs / SECOND_MS);
  return new StatusError('RESOURCE_EXHAUSTED', 'TOO_MANY_ATTEMPTS', `Too many tries. Wait ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
    metadata: { seconds: String(seconds) },
  });
}
