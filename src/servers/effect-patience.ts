import type { Deadline } from '../../machines/server-types.ts';
import type { EngineNodes } from '../engines/engine.ts';
import { lostGame } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { HOUR_MS } from '../kernel/units.ts';
import type { EffectHost } from './effect-host.ts';

/** Longest time that an aborted effect delays the next one. An engine call lasts a minute at most. */
const SETTLE_MS = 90_000;
/** How long the deadline of a start or installation is postponed at a time while its machine is lost. */
const HELD_UP_MS = 30_000;
/** Limit of every start, however much its log moves. */
const LONGEST_START_MS = 4 * HOUR_MS;

interface EffectPatienceOptions {
  clock: Clock;
  log: Log;
  nodes: EngineNodes | undefined;
  host: EffectHost;
}

/**
 * Decides how long effects of servers may take: how long an aborted effect may take to end, and how far a start may
 * exceed its deadline.
 */
export class EffectPatience {
  readonly #options: EffectPatienceOptions;
  /** The time of the last log line, by starting server. */
  readonly #loggedAt = new Map<string, number>();

  constructor(options: EffectPatienceOptions) {
    this.#options = options;
  }

  /** Settles as `work` does. After `signal` fires it waits `SETTLE_MS` at most, then rejects with the signal's reason. */
  untilSettled<T>(id: string, work: Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock, log } = this.#options;
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => aborted.resolve(), { once: true });
    const late = (): never => {
      log.error({ server: id }, `an aborted effect of ${id} has not ended; the next one begins`);
      throw signal.reason;
    };
    const soon = aborted.promise.then(() => withTimeout(work, SETTLE_MS, { clock, late }));
    return Promise.race([work, soon]);
  }

  logMoved(id: string): void {
    this.#loggedAt.set(id, this.#options.clock.now());
  }

  forget(id: string): void {
    this.#loggedAt.delete(id);
  }

  /**
   * Returns a function for an alarm at the end of a start's or installation's time. It returns a new deadline while the
   * machine is lost or the log still moves (a large pack builds its caches), otherwise undefined.
   */
  spareUntil({ id, phase }: NonNullable<Deadline['of']>): () => number | undefined {
    const { clock, nodes, host } = this.#options;
    const setAt = clock.now();
    return () => {
      const at = clock.now();
      if (lostGame(nodes, id) !== undefined) return at + HELD_UP_MS;
      const { wokenAt = null, limits } = host.now(id)?.context ?? {};
      if (phase !== 'start' || limits === undefined || at - (wokenAt ?? setAt) >= LONGEST_START_MS) return undefined;
      // After a takeover, the service has not seen any log lines yet.
      return Math.max(this.#loggedAt.get(id) ?? 0, setAt) + limits.startMs;
    };
  }
}
