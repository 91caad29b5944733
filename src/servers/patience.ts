import type { Deadline, Failure, ServerEvent } from '../../machines/server-types.ts';
import { EngineError, type EngineNodes } from '../engines/engine.ts';
import { lostGame } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { sleep } from '../kernel/sleep.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { HOUR_MS, MINUTE_MS } from '../kernel/units.ts';
import type { EffectHost, GameAccess } from './effect-host.ts';
import { GameEnded } from './readiness.ts';

/** Longest time that an aborted effect delays the next one. An engine call lasts a minute at most. */
const SETTLE_MS = 90_000;
/** How long the deadline of a start or installation is postponed at a time while its machine is lost. */
const HELD_UP_MS = 30_000;
/** Limit of every start, however much its log moves. */
const LONGEST_START_MS = 4 * HOUR_MS;

/**
 * Decides how long effects of servers may take: how long an aborted effect may take to end, and how far a start may
 * exceed its deadline.
 */
export class EffectPatience {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #nodes: EngineNodes | undefined;
  readonly #host: EffectHost;
  /** The time of the last log line or progress of a download, by starting server. */
  readonly #movedAt = new Map<string, number>();

  constructor({ clock, log, engine }: GameAccess, host: EffectHost) {
    this.#clock = clock;
    this.#log = log;
    this.#nodes = engine.nodes;
    this.#host = host;
  }

  /** Settles as `work` does. After `signal` fires it waits `SETTLE_MS` at most, then rejects with the signal's reason. */
  untilSettled<T>(id: string, work: Promise<T>, signal: AbortSignal): Promise<T> {
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => aborted.resolve(), { once: true });
    const late = (): never => {
      this.#log.error({ server: id }, `an aborted effect of ${id} has not ended; the next one begins`);
      throw signal.reason;
    };
    const soon = aborted.promise.then(() => withTimeout(work, SETTLE_MS, { clock: this.#clock, late }));
    return Promise.race([work, soon]);
  }

  moved(id: string): void {
    this.#movedAt.set(id, this.#clock.now());
  }

  forget(id: string): void {
    this.#movedAt.delete(id);
  }

  /**
   * Returns a function for an alarm at the end of a start's or installation's time. It returns a new deadline while the
   * machine is lost or the log still moves (a large pack builds its caches), otherwise undefined.
   */
  spareUntil({ id, phase }: NonNullable<Deadline['of']>): () => number | undefined {
    const setAt = this.#clock.now();
    return () => {
      const at = this.#clock.now();
      if (lostGame(this.#nodes, id) !== undefined) return at + HELD_UP_MS;
      const { wokenAt = null, limits } = this.#host.now(id)?.context ?? {};
      if (phase !== 'start' || limits === undefined || at - (wokenAt ?? setAt) >= LONGEST_START_MS) return undefined;
      // After a takeover, the service has not seen any log lines yet.
      return Math.max(this.#movedAt.get(id) ?? 0, setAt) + limits.startMs;
    };
  }
}

/** Time limit for finding the reason of an expired deadline. */
const FINDING_MS = 5_000;

/**
 * Sends ALARM at an instant, or at once if it has passed. Returns a function that cancels the alarm. For a phase,
 * `findings` returns the reason why it failed, which is sent if it is known in time. `spareUntil` is called when the
 * alarm is due: a later instant postpones it, undefined or a past instant lets it fire.
 */
export function setAlarm(
  clock: Clock,
  at: number,
  notify: (event: ServerEvent) => void,
  { findings, spareUntil }: { findings?: () => Promise<Failure>; spareUntil?: () => number | undefined } = {},
): () => void {
  let cancel = clock.at(at, due);
  return () => cancel();

  function due(): void {
    const until = spareUntil?.() ?? 0;
    if (until > clock.now()) cancel = clock.at(until, due);
    else if (findings === undefined) ring();
    else void find(findings);
  }

  function ring(failure?: Failure): void {
    notify({ type: 'ALARM', at: clock.now(), ...(failure && { failure }) });
  }

  async function find(found: () => Promise<Failure>): Promise<void> {
    const over = new AbortController();
    cancel = () => over.abort();
    const failure = await withTimeout(found(), FINDING_MS, { clock, signal: over.signal }).catch(() => undefined);
    if (!over.signal.aborted) ring(failure);
  }
}

/** An unreachable engine is retried this often, for this long, before a start fails. */
const ENGINE_RETRY_MS = 2_000;
const ENGINE_PATIENCE_MS = MINUTE_MS;
/** Number of checks for an outage after a failure that an outage would explain. */
const ENGINE_LOOKS = 3;

/**
 * Retries while the engine is unreachable. An engine that is shutting down returns misleading errors and ends games, so
 * a later check distinguishes these from real failures. `outages`: the number of times the engine has come back.
 */
export async function withPatience<T>(
  { engine, clock }: GameAccess,
  outages: () => number,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  /** Whether the engine is unreachable now, or has been since `before` outages were counted. */
  async function wasAway(before: number): Promise<boolean> {
    for (let round = 0; round < ENGINE_LOOKS; round++) {
      await sleep(clock, ENGINE_RETRY_MS, signal);
      if (outages() > before || (await engine.list().then(() => false, isAway))) return true;
    }
    return false;
  }

  for (const end = clock.now() + ENGINE_PATIENCE_MS; ; await sleep(clock, ENGINE_RETRY_MS, signal)) {
    const before = outages();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (clock.now() >= end || !(isAway(error) || (mayBeGoing(error) && (await wasAway(before))))) throw error;
    }
  }
}

function isAway(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'engine_unavailable';
}

/**
 * Whether an engine that is shutting down explains the error: it ends its games by signals and refuses requests with
 * errors of its own.
 */
function mayBeGoing(error: unknown): boolean {
  if (error instanceof GameEnded)
    return !error.exit?.oomKilled && [null, 0, 137, 143].includes(error.exit?.code ?? null);
  return error instanceof EngineError && error.code === 'unknown';
}
