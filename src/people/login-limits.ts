import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { type BucketRule, type RateLimiter, createRateLimiter } from '../kernel/limits/rate-limiter.ts';
import { SECOND_MS } from '../kernel/units.ts';

/**
 * Counts tries by key. There is no lock: after the wait anyone may try again, so that strangers cannot lock a user out.
 */
export interface AttemptLimit {
  /** Counts a try, before its work; RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS where it comes too soon, and then it is not counted. */
  take(key: string): Attempt;
}

/** One counted try. */
export interface Attempt {
  /** It was a good one after all, and does not count. */
  forgive(): void;
}

/** Limits of actions without a credential, or to obtain one. */
export interface LoginLimits {
  /** Wrong passwords, of a device or session that the account knows. */
  own: AttemptLimit;
  /** Wrong passwords of others, by account and network. */
  network: AttemptLimit;
  /** Wrong passwords from networks that the account's user never came from, by account. */
  account: AttemptLimit;
  /** Wrong passwords and codes, by client address. */
  address: AttemptLimit;
  /** Wrong codes of a second factor, from devices that its user does not know, by user. */
  code: AttemptLimit;
  /** New accounts, by client address. */
  signUp: AttemptLimit;
  /** E-mails, by the person who requests them. */
  mail: AttemptLimit;
}

const HOUR_SECONDS = 3_600;

const perHour = (burst: number, count: number): BucketRule => ({ burst, perSecond: count / HOUR_SECONDS });

/**
 * In a quarter of an hour about 15 tries at an account from a network, and 50 from an address. 300 an hour at an
 * account from all new networks together: one network's share is a seventh of it, and a year of guessing tries less
 * than 3 million. 10 codes an hour, with three valid codes at any time: an attacker who also has the password
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

/** Tries counted by a limiter. */
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
