import type { Clock } from '../ports.ts';
import { StatusError } from '../status.ts';

/** A token bucket: `burst` calls at once, `perSecond` in the long run. */
export interface RateLimit {
  perSecond: number;
  burst: number;
}

/** What an ordinary key may do unless told otherwise. */
export const KEY_RATE: RateLimit = { perSecond: 20, burst: 60 };

/** Buckets beyond which full ones are forgotten; a key that comes back finds a full one again. */
const KEPT_BUCKETS = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

/**
 * Counts calls by key: of a credential, or of an address. The returned function throws RESOURCE_EXHAUSTED RATE_LIMITED, saying
 * when to come back.
 */
export function createRateLimit(
  { perSecond, burst }: RateLimit,
  clock: Clock,
  of: 'credential' | 'address' = 'credential',
): (key: string) => void {
  const buckets = new Map<string, Bucket>();
  const tokensAt = ({ tokens, at }: Bucket, now: number) =>
    Math.min(burst, tokens + (Math.max(0, now - at) / 1000) * perSecond);

  function forgetFull(now: number): void {
    for (const [key, bucket] of buckets) if (tokensAt(bucket, now) >= burst) buckets.delete(key);
  }

  return function take(key) {
    const now = clock.now();
    if (buckets.size >= KEPT_BUCKETS) forgetFull(now);
    const tokens = tokensAt(buckets.get(key) ?? { tokens: burst, at: now }, now);
    if (tokens >= 1) {
      buckets.set(key, { tokens: tokens - 1, at: now });
      return;
    }
    const seconds = Math.ceil((1 - tokens) / perSecond);
    throw new StatusError(
      'RESOURCE_EXHAUSTED',
      'RATE_LIMITED',
      `Too many calls ${of === 'address' ? 'from' : 'with'} this ${of}. Slow down.`,
      {
        retryAfterSeconds: seconds,
        metadata: { subject: `${of}:${key}` },
      },
    );
  };
}
