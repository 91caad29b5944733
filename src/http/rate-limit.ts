import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { type BucketRule, createRateLimiter } from '../kernel/limits/rate-limiter.ts';

/** `burst` calls at once, `perSecond` in the long run. */
export type RateLimit = BucketRule;

/** What a key may do that may call so often in the long run: a page of a program is a few calls. */
export function keyRate(perSecond: number): RateLimit {
  return { perSecond, burst: 3 * perSecond };
}

/** A key whose bucket had to be forgotten finds a full one again. */
const KEPT_BUCKETS = 10_000;

/**
 * Counts calls by key: of a credential, or of an address. The returned function throws RESOURCE_EXHAUSTED RATE_LIMITED, saying
 * when to come back.
 */
export function createRateLimit(
  rate: RateLimit,
  clock: Clock,
  of: 'credential' | 'address' = 'credential',
): (key: string) => void {
  const limiter = createRateLimiter(rate, clock, KEPT_BUCKETS);
  return function take(key) {
    const { waitMs } = limiter.take(key);
    if (waitMs === 0) return;
    throw new StatusError(
      'RESOURCE_EXHAUSTED',
      'RATE_LIMITED',
      `Too many calls ${of === 'address' ? 'from' : 'with'} this ${of}. Slow down.`,
      {
        retryAfterSeconds: Math.ceil(waitMs / 1_000),
        metadata: { subject: `${of}:${key}` },
      },
    );
  };
}
