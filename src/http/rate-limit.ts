import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { type BucketRule, type RateLimiter, type Taken, createRateLimiter } from '../kernel/limits/rate-limiter.ts';
import { type Principal, credentialId } from './principal.ts';

/** `burst` calls at once, `perSecond` calls on average. */
export type RateLimit = BucketRule;

/** The limit of a key with this long-term rate. The burst allows for pages that make several calls. */
export function keyRate(perSecond: number): RateLimit {
  return { perSecond, burst: 3 * perSecond };
}

/** Most buckets kept. A key whose bucket was dropped gets a full one. */
const KEPT_BUCKETS = 10_000;

/** Multiple of a key's rate that an account with many keys and sessions has in total. */
const ACCOUNT_FACTOR = 2;
/** Factor by which expensive operations may be called less often. */
const EXPENSIVE_FACTOR = 5;

/**
 * Counts calls by address or account. The returned function throws RESOURCE_EXHAUSTED RATE_LIMITED with the time of a
 * retry.
 */
export function createRateLimit(rate: RateLimit, clock: Clock, of: 'address' | 'account'): (key: string) => void {
  const limiter = createRateLimiter(rate, clock, KEPT_BUCKETS);
  return (key) => void takeFrom(limiter, `${of}:${key}`, `from this ${of}`);
}

/** Counts a call of a credential and its account. Throws RESOURCE_EXHAUSTED RATE_LIMITED with the time of a retry. */
export type TakeToken = (caller: Principal, operation?: { expensive?: boolean }) => void;

export function createCallerRate(rate: RateLimit, clock: Clock): TakeToken {
  const [credentials, accounts, expensive] = [1, ACCOUNT_FACTOR, ACCOUNT_FACTOR / EXPENSIVE_FACTOR].map((factor) => {
    const rule = { perSecond: rate.perSecond * factor, burst: Math.max(1, rate.burst * factor) };
    return createRateLimiter(rule, clock, KEPT_BUCKETS);
  }) as [RateLimiter, RateLimiter, RateLimiter];
  return function takeToken(caller, operation) {
    const account = `account:${caller.accountId}`;
    const ofCredential = takeFrom(credentials, `credential:${credentialId(caller)}`, 'with this credential');
    try {
      if (operation?.expensive) takeFrom(expensive, account, 'of this kind from this account');
      takeFrom(accounts, account, 'from this account');
    } catch (error) {
      ofCredential.giveBack();
      throw error;
    }
  };
}

function takeFrom(limiter: RateLimiter, subject: string, whose: string): Taken {
  const taken = limiter.take(subject);
  if (taken.waitMs === 0) return taken;
  throw new StatusError('RESOURCE_EXHAUSTED', 'RATE_LIMITED', `Too many calls ${whose}. Slow down.`, {
    retryAfterSeconds: Math.ceil(taken.waitMs / 1_000),
    metadata: { subject },
  });
}
