import type { Clock } from '../clock.ts';

/** Counts uses per key. It never locks a key: after the wait, the next use succeeds, regardless of refused uses. */
export interface RateLimiter {
  take(key: string): Taken;
}

/** The result of one use. */
export interface Taken {
  /**
   * 0 if the use was counted. Otherwise the use came too soon and was not counted: the ms until the next one is
   * allowed.
   */
  waitMs: number;
  /** Removes the use from the count. Does nothing if it was not counted. */
  giveBack: () => void;
}

/** A token bucket for each key: `burst` uses at once, `perSecond` in the long run. */
export interface BucketRule {
  burst: number;
  perSecond: number;
}

/** Most keys stored, because callers can often choose keys. The least recently used key is removed first. */
export const KEPT_KEYS = 50_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Creates token buckets in memory, at most `kept`. Buckets that are full again are soon removed. */
export function createRateLimiter({ burst, perSecond }: BucketRule, clock: Clock, kept = KEPT_KEYS): RateLimiter {
  const buckets = new Map<string, Bucket>();
  const tokensAt = ({ tokens, at }: Bucket, now: number) =>
    Math.min(burst, tokens + (Math.max(0, now - at) / 1_000) * perSecond);

  return {
    take(key) {
      const now = clock.now();
      const tokens = tokensAt(buckets.get(key) ?? { tokens: burst, at: now }, now);
      const isTaken = tokens >= 1;
      // A refused use also counts as the last use, so that the bucket of a caller that keeps trying is not removed.
      put(key, { tokens: isTaken ? tokens - 1 : tokens, at: now });
      if (!isTaken) return refusedFor(Math.ceil(((1 - tokens) / perSecond) * 1_000));
      return { waitMs: 0, giveBack: () => giveBack(key) };
    },
  };

  function giveBack(key: string): void {
    const bucket = buckets.get(key);
    if (bucket) bucket.tokens = Math.min(burst, bucket.tokens + 1);
  }

  function put(key: string, bucket: Bucket): void {
    // Delete first, so that the map stays in order of last use.
    buckets.delete(key);
    buckets.set(key, bucket);
    // Check two buckets per use, so that full ones are removed faster than new ones are added.
    for (let n = 0; n < 2; n++) {
      const [oldest] = buckets;
      if (oldest && (buckets.size > kept || tokensAt(oldest[1], bucket.at) >= burst)) buckets.delete(oldest[0]);
    }
  }
}

/** Returns the result of a use that came too soon. */
export function refusedFor(waitMs: number): Taken {
  return { waitMs, giveBack: () => {} };
}
