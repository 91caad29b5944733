import type { GameConsoles } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import { type TickStats, readTickStats, tickCommands } from '../game/tick-stats.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import type { Log } from '../kernel/log.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../kernel/units.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store, Tx } from '../store/store.ts';
import type { ServerEvents } from './events.ts';
import {
  type StoredSample,
  deleteSamplesBefore,
  insertSample,
  listSamples,
  oldestSampleAt,
  thinSamples,
} from './metric-rows.ts';

/** A running server's use of CPU and memory, and its pace, at an instant. */
export interface MetricSample {
  at: number;
  /** -1: unknown. */
  cpuPercent: number;
  memUsedMb: number;
  /** 0: the engine has no reading. */
  memLimitMb: number;
  /** 0, like `tps`, if the game did not report it. */
  mspt: number;
  tps: number;
  players: number;
}

/** The figures of an instant; only the sample is stored. */
interface Reading {
  sample: MetricSample;
  /** Whether the game itself answered. */
  live: boolean;
}

/** A minute of a running server, as stored. */
export interface Minute {
  serverId: string;
  /** When this run of the game became ready for players. */
  readyAt: number;
  sample: MetricSample;
}

interface MetricsOptions {
  servers: Pick<Servers, 'live'>;
  engine: Engine;
  consoles: GameConsoles;
  clock: Clock;
  store: Store;
  log: Log;
  serverEvents: Pick<ServerEvents, 'publish'>;
  /**
   * Called each minute with all running servers, in the write that stores their samples. Returns a function to call
   * after the commit. Called once more after the last server has stopped.
   */
  onMinute?: (tx: Tx, at: number, minutes: readonly Minute[]) => Promise<() => void>;
}

export const SAMPLE_MS = MINUTE_MS;
/** Each minute is stored for a day, and then one in ten minutes for a week. */
const EACH_MS = DAY_MS;
const SPARSE_MS = 10 * MINUTE_MS;
export const KEPT_MS = 7 * DAY_MS;
const PURGE_MS = HOUR_MS;
/** The maximum age of a reading. If it is older, two in a row are missing. */
const FRESH_MS = 2.5 * SAMPLE_MS;
/** Number of servers read at the same time. An engine may take a second or two for each, and there may be hundreds. */
const AT_ONCE = 64;
/**
 * Time limit for reading a server. Without an answer by then, this minute has no figures of it. Longer than the
 * console's own limit.
 */
const PATIENCE_MS = 15_000;

/**
 * Reads the figures of running servers every minute until closed, over consoles that are open anyway. Stores them for
 * a day, and one in ten minutes for a week.
 */
export class Metrics {
  readonly #options: MetricsOptions;
  readonly #cancel: () => void;
  #readings = new Map<string, Reading>();
  /** Whether the last stored minute had servers in it. */
  #hadServers = false;
  #purgedAt = 0;
  #reading = false;
  #closed = false;

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#cancel = every(options.clock, SAMPLE_MS, () => this.#beat());
  }

  /** Returns the newest reading of a server that runs since `since`; undefined without a recent one of this run. */
  latest(serverId: string, since: number): Reading | undefined {
    const found = this.#readings.get(serverId);
    const oldest = Math.max(since, this.#options.clock.now() - FRESH_MS);
    return found && found.sample.at >= oldest ? found : undefined;
  }

  /**
   * Returns the samples of a span until now, oldest first: one for each minute that the server ran; over a day, one for
   * each ten minutes.
   */
  async series(serverId: string, spanMs: number): Promise<MetricSample[]> {
    const { store, clock } = this.#options;
    const stored = await listSamples(store, serverId, clock.now() - spanMs, spanMs / SAMPLE_MS);
    const samples = stored.map(sampleOf);
    if (spanMs <= EACH_MS) return samples;
    const slot = (sample: MetricSample | undefined) => Math.floor((sample?.at ?? 0) / SPARSE_MS);
    return samples.filter((sample, nth) => slot(sample) !== slot(samples[nth - 1]));
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  #beat(): void {
    const { log } = this.#options;
    if (this.#reading) return log.warn('metrics skipped a minute: the previous one is not read yet');
    this.#reading = true;
    void this.#round()
      .catch((error: unknown) => log.warn({ err: error }, 'metrics could not be stored'))
      .finally(() => (this.#reading = false));
  }

  async #round(): Promise<void> {
    const { servers, clock, store, onMinute = async () => () => {} } = this.#options;
    const at = clock.now();
    const running = servers.live().filter(({ state }) => state === 'running');
    const next = new Map<string, Reading>();
    const waiting = running.values();
    const worker = async () => {
      for (const now of waiting) next.set(now.row.id, await this.#read(now, at));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    this.#readings = next;
    const isPurge = at - this.#purgedAt >= PURGE_MS;
    if (this.#closed || (next.size === 0 && !this.#hadServers && !isPurge)) return;
    this.#hadServers = true;
    this.#publish(next);
    const minutes = running.flatMap(({ row, context }) => {
      const found = next.get(row.id);
      return found === undefined ? [] : [{ serverId: row.id, readyAt: context.readyAt ?? 0, sample: found.sample }];
    });
    const publish = await store.write(async (tx) => {
      for (const { serverId, sample } of minutes) await insertSample(tx, serverId, stored(sample));
      if (isPurge) await deleteSamplesBefore(tx, at - KEPT_MS);
      return onMinute(tx, at, minutes);
    });
    this.#hadServers = next.size > 0;
    publish();
    if (isPurge) await this.#thin(at);
  }

  /** Thins the samples older than a day, by the hour, because other writes wait meanwhile. */
  async #thin(at: number): Promise<void> {
    const { store } = this.#options;
    const end = at - EACH_MS;
    // Earlier samples are thinned already, except after a start.
    const from = this.#purgedAt === 0 ? await oldestSampleAt(store) : this.#purgedAt - EACH_MS - SPARSE_MS;
    for (let hour = from ?? end; hour < end && !this.#closed; hour += HOUR_MS) {
      const to = Math.min(hour + HOUR_MS, end);
      await store.write((tx) => thinSamples(tx, { from: hour, to, slotMs: SPARSE_MS }));
    }
    this.#purgedAt = at;
  }

  /** Publishes the readings. Skips servers that have stopped since, because figures would contradict their state. */
  #publish(next: ReadonlyMap<string, Reading>): void {
    const { servers, serverEvents } = this.#options;
    for (const { row, state, context } of servers.live()) {
      const found = next.get(row.id);
      if (state !== 'running' || found === undefined || found.sample.at < (context.readyAt ?? 0)) continue;
      const { tps, mspt, cpuPercent, memUsedMb, memLimitMb, players } = found.sample;
      const figures = { tps, mspt, cpuPercent, memUsedMb, memLimitMb, players, live: found.live };
      serverEvents.publish(row.id, 'tick', figures);
    }
  }

  async #read(now: ServerNow, at: number): Promise<Reading> {
    const { engine } = this.#options;
    const [stats, ticks] = await Promise.all([
      this.#inTime(engine.stats(now.row.id)),
      this.#inTime(this.#ticksOf(now)),
    ]);
    const { cpuPercent = -1, memUsedMb = 0, memLimitMb = 0 } = stats ?? {};
    const { mspt = 0, tps = 0 } = ticks ?? {};
    const players = now.context.live.players ?? 0;
    return { sample: { at, cpuPercent, memUsedMb, memLimitMb, mspt, tps, players }, live: ticks !== undefined };
  }

  /**
   * Resolves with undefined if the work fails or takes too long, because figures must not wait for a game that hangs.
   */
  async #inTime<T>(work: Promise<T | undefined>): Promise<T | undefined> {
    const { clock } = this.#options;
    return await withTimeout(work, PATIENCE_MS, { clock }).catch(() => undefined);
  }

  async #ticksOf({ row, context }: ServerNow): Promise<TickStats | undefined> {
    const { consoles } = this.#options;
    if (context.rcon === null) return undefined;
    const replies: string[] = [];
    for (const command of tickCommands({ core: row.type, version: row.version }))
      replies.push(await consoles.run(row.id, context.rcon, command));
    return readTickStats(replies);
  }
}

function stored({ at, cpuPercent, memUsedMb, memLimitMb, mspt, tps, players }: MetricSample): StoredSample {
  return { at, figures: [cpuPercent, memUsedMb, memLimitMb, mspt, tps, players] };
}

function sampleOf({ at, figures }: StoredSample): MetricSample {
  const [cpuPercent, memUsedMb, memLimitMb, mspt, tps, players] = figures;
  return { at, cpuPercent, memUsedMb, memLimitMb, mspt, tps, players };
}
