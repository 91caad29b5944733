import type { Clock } from '../../kernel/clock.ts';
import { atMost } from '../../kernel/limits/sliding-log.ts';
import { StatusError } from '../../kernel/status.ts';
import { HOUR_MS } from '../../kernel/units.ts';
import type { Sql, Store } from '../../store/store.ts';
import { insertGrantStart, keepNewestGrantStarts, listGrantStarts, pruneGrantStarts } from './start-rows.ts';

/** Counts starts of device grants. */
export interface StartLimit {
  /** Counts a start by an address (see `addressKey`). RESOURCE_EXHAUSTED RATE_LIMITED, and then it is not counted. */
  take(address: string): Promise<void>;
}

export interface StartLimitOptions {
  store: Store;
  clock: Clock;
  /** Starts per window. Default 20 an hour. */
  limit?: number;
  windowMs?: number;
  /** Starts of all addresses that are remembered. */
  kept?: number;
}

const PRUNED_AT_ONCE = 100;
/** Starts remembered. An attacker with so many addresses that old starts are forgotten gains little by it. */
const KEPT = 100_000;

/**
 * A sliding log: of each address the instants of its accepted starts, so that no hour, wherever it begins, holds more than
 * the limit. Calls that are refused are not counted, lest a client that keeps trying never gets in again. In the database,
 * so that a restart forgives nothing.
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
      // Asked before the write too: who is refused costs no place in its line.
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
  return new StatusError('RESOURCE_EXHAUSTED', 'RATE_LIMITED', 'Too many sign-ins were started from this address.', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
}
