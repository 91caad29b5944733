import type { Clock } from '../../kernel/clock.ts';
import { atMost } from '../../kernel/limits/sliding-log.ts';
import { StatusError } from '../../kernel/status.ts';
import { HOUR_MS } from '../../kernel/units.ts';
import type { Sql, Store } from '../../store/store.ts';
import { insertGrantStart, keepNewestGrantStarts, listGrantStarts, pruneGrantStarts } from './start-rows.ts';

/** Counts starts of device grants. */
export interface StartLimit {
  /** Counts a start by an address (see `addressKey`). Throws RESOURCE_EXHAUSTED RATE_LIMITED without counting it. */
  take(address: string): Promise<void>;
}

export interface StartLimitOptions {
  store: Store;
  clock: Clock;
  /** Starts per window. Default 20 an hour. */
  limit?: number;
  windowMs?: number;
  /** Limit of stored starts, of all addresses together. */
  kept?: number;
}

const PRUNED_AT_ONCE = 100;
/** Limit of stored starts. An attacker with enough addresses to displace old starts gains little. */
const KEPT = 100_000;

/**
 * Creates a sliding log of accepted starts per address, so that no hour, at any offset, exceeds the limit. Refused
 * calls do not count; otherwise a client that keeps trying would stay locked out. Stored in the database, so that a
 * restart does not reset it.
 */
export function createStartLimit(options: StartLimitOptions): StartLimit {
  const { store, clock, limit = 20, windowMs = HOUR_MS, kept = KEPT } = options;
  const rule = atMost(limit, windowMs);
  let taken = 0;

  async function require(db: Sql, address: string, now: number): Promise<number[]> {
    const starts = await listGrantStarts(db, address, now - windowMs);
    // Starts in the future were stored before the clock was set back.
    const counted = starts.filter((at) => at < now + windowMs);
    const waitMs = rule.waitMs(counted, now);
    if (waitMs > 0) throw rateLimited(waitMs);
    return counted;
  }

  return {
    async take(address) {
      // Checked before the write too, so that refused callers do not occupy its queue.
      await require(store, address, clock.now());
      await store.write(async (tx) => {
        const now = clock.now();
        const counted = await require(tx, address, now);
        await insertGrantStart(tx, address, now, counted.filter((at) => at === now).length);
        await pruneGrantStarts(tx, now - windowMs, PRUNED_AT_ONCE);
        if (++taken % PRUNED_AT_ONCE === 0) await keepNewestGrantStarts(tx, kept);
      });
    },
  };
}

function rateLimited(waitMs: number): StatusError {
  return new StatusError(
    'RESOURCE_EXHAUSTED',
    'RATE_LIMITED',
    'Too many sign-ins were started from this address. Try again later.',
    {
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    },
  );
}
