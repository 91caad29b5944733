import type { Clock } from '../clock.ts';
import { KEPT_KEYS, type RateLimiter, refusedFor } from './rate-limiter.ts';

/** When the next use may be, by the instants of earlier ones. */
export interface LogRule {
  /** Uses older than this are forgotten. */
  windowMs: number;
  /** How long from `now` until the next use; 0 or less: it may be now. `recent`: uses within the window, oldest first. */
  waitMs: (recent: readonly number[], now: number) => number;
}

/** How fast something may be tried: freely at first, then after a wait that doubles with each try, up to a longest one. */
export interface BackoffRule {
  free: number;
  firstWaitMs: number;
  longestWaitMs: number;
  windowMs: number;
}

/** At most `most` uses in any span of `windowMs`, wherever it begins. */
export function atMost(most: number, windowMs: number): LogRule {
  return {
    windowMs,
    waitMs(recent, now) {
      const oldest = recent.at(-most);
      return oldest === undefined ? 0 : Math.min(windowMs, oldest + windowMs - now);
    },
  };
}

/** Waits that grow with the number of tries. */
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
 * A sliding log: of each key the instants of its uses, which holds a rule to the ms where a token bucket is near to it. In
 * memory, at most `kept` keys; keys without a use within the window go by and by.
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
      // Taken out first, so that the map stays in the order of last use.
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
    // Two for each that is added: old ones go faster than new ones come.
    for (let n = 0; n < 2; n++) {
      const [oldest] = uses;
      if (oldest && (uses.size > kept || Math.abs(now - (oldest[1].at(-1) ?? now)) >= windowMs)) uses.delete(oldest[0]);
    }
  }
}
