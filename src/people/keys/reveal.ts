import type { Clock } from '../../kernel/clock.ts';
import { MINUTE_MS } from '../../kernel/units.ts';

/** Holds values that are shown to one session for a short time, in memory only. */
export interface Reveals<T> {
  put(sessionId: string, value: T): void;
  /** Returns undefined once the time is over. */
  see(sessionId: string): T | undefined;
}

/** Long enough to copy a key, even after a reload of the page. */
export const REVEAL_MS = 5 * MINUTE_MS;
const MOST = 10_000;

/**
 * Keeps the latest value of each session. This lets a GET show a secret that a POST created, without putting it in an
 * address.
 */
export function createReveals<T>(clock: Clock): Reveals<T> {
  const kept = new Map<string, { value: T; until: number }>();
  return {
    put(sessionId, value) {
      const now = clock.now();
      for (const [id, { until }] of kept) {
        if (until > now && kept.size < MOST) break;
        kept.delete(id);
      }
      kept.delete(sessionId);
      kept.set(sessionId, { value, until: now + REVEAL_MS });
    },
    see(sessionId) {
      const found = kept.get(sessionId);
      return found && found.until > clock.now() ? found.value : undefined;
    },
  };
}
