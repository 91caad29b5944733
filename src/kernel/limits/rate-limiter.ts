import type { Clock } from '../clock.ts';

/** Counts by key how often something is done. There is no lock: after the wait anybody may go on, whatever was asked meanwhile. */
export interface RateLimiter {
  take(key: string): Taken;
}

/** The result of one use. */
export interface Taken {
  /** 0: it is counted. Otherwise it came too soon by so many ms, and is not counted. */
  waitMs: number;
  /** It does not count after all. Does nothing where it was not counted. */
  giveBack: () => void;
}

/** A token bucket for each key: `burst` uses at once, `perSecond` in the long run. */
export interface BucketRule {
  burst: number;
  perSecond: number;
}

/** Keys are often the caller's to choose, so there is a bound; the one used longest ago is forgotten first. */
export const KEPT_KEYS = 50_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Token buckets in memory, at most `kept` of them. One that is full again costs nothing for long. */
export function createRateLimiter({ burst, perSecond }: BucketRule, clock: Clock, kept = KEPT_KEYS): RateLimiter {
  const buckets = new Map<string, Bucket>();
  const tokensAt = ({ tokens, at }: Bucket, now: number) =>
    Math.min(burst, tokens + (Math.max(0, now - at) / 1_000) * perSecond);

  return {
    take(key) {
      const now = clock.now();
      const tokens = tokensAt(buckets.get(key) ?? { tokens: burst, at: now }, now);
      const isTaken = tokens >= 1;
      // Refused uses count as well, so that a caller that keeps asking is not forgotten.
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
    // Taken out first, so that the map stays in the order of last use.
    buckets.delete(key);
    buckets.set(key, bucket);
    // Two for each that is added: full ones go faster than new ones come.
    for (let n = 0; n < 2; n++) {
      const [oldest] = buckets;
      if (oldest && (buckets.size > kept || tokensAt(oldest[1], bucket.at) >= burst)) buckets.delete(oldest[0]);
    }
  }
}

/** A use that came too soon. */
export function refusedFor(waitMs: number): Taken {
  return { waitMs, giveBack: () => {} };
}
