import type { Clock } from '../clock.ts';
import { KEPT_KEYS, type RateLimiter, refusedFor } from './rate-limiter.ts';

/** Decides when the next use is allowed, from the times of earlier uses. */
export interface LogRule {
  /** Uses older than this are forgotten. */
  windowMs: number;
  /**
   * Returns the ms from `now` until the next use is allowed; 0 or less: now. `recent`: the uses within the window,
   * oldest first.
   */
  waitMs: (recent: readonly number[], now: number) => number;
}

/** Limits tries: the first `free` tries need no wait. Then the wait doubles with each try, up to `longestWaitMs`. */
export interface BackoffRule {
  free: number;
  firstWaitMs: number;
  longestWaitMs: number;
  windowMs: number;
}

/** Allows at most `most` uses in any span of `windowMs`. */
export function atMost(most: number, windowMs: number): LogRule {
  return {
    windowMs,
    waitMs(recent, now) {
      const oldest = recent.at(-most);
      return oldest === undefined ? 0 : Math.min(windowMs, oldest + windowMs - now);
    },
  };
}

/** Requires waits that grow with the number of tries. */
export function backoff({ free, firstWaitMs, longestWaitMs, windowMs }: BackoffRule): LogRule {
  return {
    windowMs,
    waitMs(recent, now) {
      const last = recent.at(-1);
      const wait = recent.length < free ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** (recent.length - free));
      return last === undefined ? 0 : last + wait - now;
    },
  };
}

/**
 * Creates a sliding log in memory, which stores the time of each use per key, for at most `kept` keys. It enforces a
 * rule to the millisecond, unlike a token bucket. Keys without a use within the window are removed gradually.
 */
export function createSlidingLog({ windowMs, waitMs }: LogRule, clock: Clock, kept = KEPT_KEYS): RateLimiter {
  const uses = new Map<string, number[]>();

  return {
    take(key) {
      const now = clock.now();
      // Uses in the future were counted before the clock was set back.
      const recent = (uses.get(key) ?? []).filter((at) => Math.abs(now - at) < windowMs);
      const wait = waitMs(recent, now);
      if (wait > 0) return refusedFor(wait);
      recent.push(now);
      // Delete first, so that the map stays in order of last use.
      uses.delete(key);
      uses.set(key, recent);
      sweep(now);
      return { waitMs: 0, giveBack: () => giveBack(key, now) };
    },
  };

  function giveBack(key: string, at: number): void {
    const recent = uses.get(key);
    const index = recent?.indexOf(at) ?? -1;
    if (!recent || index < 0) return;
    recent.splice(index, 1);
    if (recent.length === 0) uses.delete(key);
  }

  function sweep(now: number): void {
    // Check two keys per use, so that old ones are removed faster than new ones are added.
    for (let n = 0; n < 2; n++) {
      const [oldest] = uses;
      if (oldest && (uses.size > kept || Math.abs(now - (oldest[1].at(-1) ?? now)) >= windowMs)) uses.delete(oldest[0]);
    }
  }
}
