import type { Clock } from '../../kernel/clock.ts';
import { MINUTE_MS } from '../../kernel/units.ts';

/** Something that is shown to one session for a moment, and is kept nowhere but in memory. */
export interface Reveals<T> {
  put(sessionId: string, value: T): void;
  /** Undefined once the moment is over. */
  see(sessionId: string): T | undefined;
}

/** Long enough to copy a key, also after the page was loaded anew. */
export const REVEAL_MS = 5 * MINUTE_MS;
const MOST = 10_000;

/** Keeps only the latest of each session. Lets a page be shown by GET, after a POST made the secret, without an address for it. */
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
