import { type Attempt, type AttemptLimit, createAttemptLimit } from '../accounts/login-limits.ts';
import type { Clock } from '../kernel/clock.ts';
import { addressKey } from '../kernel/ip.ts';
import { atMost, backoff, createSlidingLog } from '../kernel/limits/sliding-log.ts';
import { StatusError } from '../kernel/status.ts';
import { HOUR_MS, MINUTE_MS } from '../kernel/units.ts';
import type { Sql, Store } from '../store/store.ts';
import { insertGrantStart, keepNewestGrantStarts, listGrantStarts, pruneGrantStarts } from './rows.ts';

const STARTS_PER_HOUR = 20;
const PRUNED_AT_ONCE = 100;
/** Limit of stored starts. An attacker with enough addresses to displace old starts gains little. */
const KEPT = 100_000;

/**
 * A sliding log of accepted starts of device grants per address, so that no hour, at any offset, exceeds the limit.
 * Refused calls do not count; otherwise a client that keeps trying would stay locked out. Stored in the database, so
 * that a restart does not reset it.
 */
export class StartLimit {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #rule: ReturnType<typeof atMost>;
  readonly #kept: number;
  #taken = 0;

  constructor(store: Store, clock: Clock, { limit = STARTS_PER_HOUR, kept = KEPT } = {}) {
    this.#store = store;
    this.#clock = clock;
    this.#rule = atMost(limit, HOUR_MS);
    this.#kept = kept;
  }

  /** Counts a start by an address (see `addressKey`). Throws RESOURCE_EXHAUSTED RATE_LIMITED without counting it. */
  async take(address: string): Promise<void> {
    // Checked before the write too, so that refused callers do not occupy its queue.
    await this.#require(this.#store, address, this.#clock.now());
    await this.#store.write(async (tx) => {
      const now = this.#clock.now();
      const counted = await this.#require(tx, address, now);
      await insertGrantStart(tx, address, now, counted.filter((at) => at === now).length);
      await pruneGrantStarts(tx, now - HOUR_MS, PRUNED_AT_ONCE);
      if (++this.#taken % PRUNED_AT_ONCE === 0) await keepNewestGrantStarts(tx, this.#kept);
    });
  }

  async #require(db: Sql, address: string, now: number): Promise<number[]> {
    const starts = await listGrantStarts(db, address, now - HOUR_MS);
    // Starts in the future were stored before the clock was set back.
    const counted = starts.filter((at) => at < now + HOUR_MS);
    const waitMs = this.#rule.waitMs(counted, now);
    if (waitMs <= 0) return counted;
    const message = 'Too many sign-ins were started from this address. Try again later.';
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
    throw new StatusError('RESOURCE_EXHAUSTED', 'RATE_LIMITED', message, { retryAfterSeconds });
  }
}

/** Limits of wrong codes within ten minutes. 20 guesses at 100 live codes succeed with a chance of 8 in 100 million. */
const FREE = { session: 5, account: 10, address: 20 };
const WINDOW_MS = 10 * MINUTE_MS;

/** Counts wrong user codes. Attempts are in memory, with a size limit, and forgotten after ten minutes. */
export class GuessLimit {
  readonly #session: AttemptLimit;
  readonly #account: AttemptLimit;
  readonly #address: AttemptLimit;

  constructor(clock: Clock) {
    const limit = (free: number) => {
      const rule = backoff({ free, firstWaitMs: WINDOW_MS, longestWaitMs: WINDOW_MS, windowMs: WINDOW_MS });
      return createAttemptLimit(createSlidingLog(rule, clock));
    };
    this.#session = limit(FREE.session);
    this.#account = limit(FREE.account);
    this.#address = limit(FREE.address);
  }

  /**
   * Counts a code before it is looked up; forgive it if the code is valid. Throws RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS
   * if the session, the account or the address has exceeded its limit, even if this code is valid.
   */
  take(guesser: { sessionId: string; accountId: string; address: string }): Attempt {
    const taken: Attempt[] = [];
    const forgive = () => taken.splice(0).forEach((attempt) => attempt.forgive());
    try {
      taken.push(this.#address.take(addressKey(guesser.address)));
      taken.push(this.#account.take(guesser.accountId));
      taken.push(this.#session.take(guesser.sessionId));
    } catch (error) {
      forgive();
      throw error;
    }
    return { forgive };
  }
}
