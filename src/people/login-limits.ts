import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { type BucketRule, createTokenBuckets } from '../kernel/token-buckets.ts';
import { SECOND_MS } from '../kernel/units.ts';

/** How fast something may be tried: freely at first, then after a wait that doubles with each try, up to a longest one. */
export interface AttemptRule {
  free: number;
  firstWaitMs: number;
  longestWaitMs: number;
  /** Tries older than this are forgotten. */
  windowMs: number;
}

/** Counts tries by key. There is no lock: after the wait anybody may try again, so that nobody can shut others out. */
export interface AttemptLimit {
  /** Counts a try, before its work; RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS where it comes too soon, and then it is not counted. */
  take(key: string): Attempt;
}

/** One counted try. */
export interface Attempt {
  /** It was a good one after all, and does not count. */
  forgive(): void;
}

/** What people do without a credential, or in order to get one. */
export interface LoginLimits {
  /** Wrong passwords, of a device or session that the account knows. */
  own: AttemptLimit;
  /** Wrong passwords of others, by account and network. */
  network: AttemptLimit;
  /** Wrong passwords from networks that the account's user never came from, by account. */
  account: AttemptLimit;
  /** Wrong passwords and codes, by client address. */
  address: AttemptLimit;
  /** New accounts, by client address. */
  signUp: AttemptLimit;
  /** Letters, by whoever has them sent. */
  mail: AttemptLimit;
}

const HOUR_SECONDS = 3_600;
/** Keys are the caller's to choose, so there is a bound; the one tried longest ago is forgotten first. */
const KEPT_KEYS = 50_000;

const perHour = (burst: number, count: number): BucketRule => ({ burst, perSecond: count / HOUR_SECONDS });

/**
 * In a quarter of an hour about 15 tries at an account from a network, and 50 from an address. 300 an hour at an account from
 * all new networks together: what one network may do is a seventh of it, and a year of guessing tries less than 3 million.
 */
export const LOGIN_RULES: Record<keyof LoginLimits, BucketRule> = {
  own: perHour(10, 40),
  network: perHour(5, 40),
  account: perHour(60, 300),
  address: perHour(30, 80),
  signUp: perHour(10, 10),
  mail: perHour(10, 10),
};

export function createLoginLimits(clock: Clock, rules: Partial<typeof LOGIN_RULES> = {}): LoginLimits {
  const limit = (name: keyof LoginLimits) => createBucketLimit(rules[name] ?? LOGIN_RULES[name], clock);
  return {
    own: limit('own'),
    network: limit('network'),
    account: limit('account'),
    address: limit('address'),
    signUp: limit('signUp'),
    mail: limit('mail'),
  };
}

/** Tries by token buckets: a burst of them, then one by one. */
export function createBucketLimit(rule: BucketRule, clock: Pick<Clock, 'now'>): AttemptLimit {
  const buckets = createTokenBuckets(rule, clock, KEPT_KEYS);
  return {
    take(key) {
      const waitMs = buckets.take(key);
      if (waitMs > 0) throw tooMany(waitMs);
      return { forgive: () => buckets.giveBack(key) };
    },
  };
}

export function createAttemptLimit(rule: AttemptRule, clock: Clock): AttemptLimit {
  const tries = new Map<string, number[]>();

  return {
    take(key) {
      const now = clock.now();
      const recent = (tries.get(key) ?? []).filter((at) => Math.abs(now - at) < rule.windowMs);
      const waitMs = (recent.at(-1) ?? -Infinity) + waitAfter(recent.length, rule) - now;
      if (waitMs > 0) throw tooMany(waitMs);
      recent.push(now);
      // Taken out first, so that the map stays in the order of last use.
      tries.delete(key);
      tries.set(key, recent);
      const [oldest] = tries.keys();
      if (oldest !== undefined && tries.size > KEPT_KEYS) tries.delete(oldest);
      return { forgive: () => forget(key, now) };
    },
  };

  function forget(key: string, at: number): void {
    const recent = tries.get(key);
    const index = recent?.indexOf(at) ?? -1;
    if (!recent || index < 0) return;
    recent.splice(index, 1);
    if (recent.length === 0) tries.delete(key);
  }
}

function waitAfter(count: number, { free, firstWaitMs, longestWaitMs }: AttemptRule): number {
  return count < free ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** (count - free));
}

function tooMany(waitMs: number): StatusError {
  const seconds = Math.ceil(waitMs / SECOND_MS);
  return new StatusError('RESOURCE_EXHAUSTED', 'TOO_MANY_ATTEMPTS', `Too many tries. Wait ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
    metadata: { seconds: String(seconds) },
  });
}
