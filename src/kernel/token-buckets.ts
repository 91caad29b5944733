import type { Clock } from './clock.ts';

/** A token bucket for each key: `burst` tokens at once, `perSecond` in the long run. */
export interface BucketRule {
  burst: number;
  perSecond: number;
}

/** Counts by key how often something is done. There is no lock: an empty bucket fills again whatever is asked of it. */
export interface TokenBuckets {
  /** Takes a token and gives 0; or, where there is none, how many ms from now there will be one, and takes nothing. */
  take(key: string): number;
  /** Puts a token back that was taken. */
  giveBack(key: string): void;
}

/** Keys are often the caller's to choose, so there is a bound; the one used longest ago is forgotten first. */
const KEPT = 50_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Buckets in memory, at most `kept` of them. One that is full again costs nothing for long. */
export function createTokenBuckets(
  { burst, perSecond }: BucketRule,
  clock: Pick<Clock, 'now'>,
  kept = KEPT,
): TokenBuckets {
  const buckets = new Map<string, Bucket>();
  const tokensAt = ({ tokens, at }: Bucket, now: number) =>
    Math.min(burst, tokens + (Math.max(0, now - at) / 1_000) * perSecond);

  return {
    take(key) {
      const now = clock.now();
      const tokens = tokensAt(buckets.get(key) ?? { tokens: burst, at: now }, now);
      // Also where it is refused: whoever keeps asking is not forgotten for it.
      put(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
      return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1_000);
    },
    giveBack(key) {
      const bucket = buckets.get(key);
      if (bucket) bucket.tokens = Math.min(burst, bucket.tokens + 1);
    },
  };

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
