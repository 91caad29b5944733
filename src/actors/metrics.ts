import { readTickStats, tickCommands } from '../hosting/tick-stats.ts';
import type { TickStats } from '../hosting/tick-stats.ts';
import type { Log } from '../log.ts';
import type { Clock, Console, Engine } from '../ports.ts';
import { deleteSamplesBefore, insertSample, listSamples } from '../store/metrics.ts';
import type { StoredSample } from '../store/metrics.ts';
import type { Store, Tx } from '../store/store.ts';
import type { ServerNow } from './effect-host.ts';
import type { Servers } from './servers.ts';

/** What a running server needed, and how it kept its pace, at an instant. */
export interface MetricSample {
  at: number;
  /** -1: unknown. */
  cpuPercent: number;
  memUsedMb: number;
  /** 0: the engine has no reading. */
  memLimitMb: number;
  /** 0, like `tps`: the game did not say. */
  mspt: number;
  tps: number;
  players: number;
}

/** A minute of a running server, as it is stored. */
export interface Minute {
  serverId: string;
  /** Since when this run of the game takes players. */
  readyAt: number;
  sample: MetricSample;
}

/** The figures of running servers: read every minute, kept for 24 hours. */
export interface Metrics {
  /** The newest reading of a running server, and whether the game answered then; undefined where there is none of late. */
  latest(serverId: string): { sample: MetricSample; live: boolean } | undefined;
  /** One sample a minute for which the server ran, at most 24 h of them, oldest first. */
  series(serverId: string): Promise<MetricSample[]>;
  close(): void;
}

export interface MetricsOptions {
  servers: Pick<Servers, 'live'>;
  engine: Pick<Engine, 'stats'>;
  console: Pick<Console, 'run'>;
  clock: Clock;
  store: Store;
  log: Log;
  rconPassword: (serverId: string) => string;
  /** Looks at each minute in the write that stores it; what it gives is called once it is stored. */
  onMinute?: (tx: Tx, minutes: readonly Minute[]) => Promise<() => void>;
}

export const SAMPLE_MS = 60_000;
const SERIES = 1_440;
const SERIES_MS = SERIES * SAMPLE_MS;
const PURGE_MS = 3_600_000;
/** A reading older than this is none: two in a row are missing. */
const FRESH_MS = 2.5 * SAMPLE_MS;
/** Servers asked at the same time. */
const AT_ONCE = 8;

/** Reads every running server each minute, over the console that is kept open anyway, until closed. */
export function createMetrics(options: MetricsOptions): Metrics {
  const { servers, engine, console, clock, store, log, onMinute = async () => () => {} } = options;
  let readings = new Map<string, { sample: MetricSample; live: boolean }>();
  let purgedAt = 0;
  let reading = false;
  let closed = false;
  let cancel = clock.at(clock.now() + SAMPLE_MS, beat);

  function beat(): void {
    cancel = clock.at(clock.now() + SAMPLE_MS, beat);
    if (reading) return;
    reading = true;
    void round()
      .catch((error: unknown) => log.warn({ err: error }, 'metrics could not be stored'))
      .finally(() => (reading = false));
  }

  async function round(): Promise<void> {
    const at = clock.now();
    const running = servers.live().filter(({ state }) => state === 'running');
    const next: typeof readings = new Map();
    const waiting = running.values();
    const worker = async () => {
      for (const now of waiting) next.set(now.row.id, await read(now, at));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    readings = next;
    const isPurge = at - purgedAt >= PURGE_MS;
    if (closed || (next.size === 0 && !isPurge)) return;
    const minutes = running.flatMap(({ row, context }) => {
      const found = next.get(row.id);
      return found === undefined ? [] : [{ serverId: row.id, readyAt: context.readyAt ?? 0, sample: found.sample }];
    });
    const tell = await store.write(async (tx) => {
      for (const { serverId, sample } of minutes) await insertSample(tx, serverId, stored(sample));
      if (isPurge) await deleteSamplesBefore(tx, at - SERIES_MS);
      return onMinute(tx, minutes);
    });
    tell();
    if (isPurge) purgedAt = at;
  }

  async function read(now: ServerNow, at: number): Promise<{ sample: MetricSample; live: boolean }> {
    const [stats, ticks] = await Promise.all([
      engine.stats(now.row.id).catch(() => undefined),
      ticksOf(now).catch(() => undefined),
    ]);
    const { cpuPercent = -1, memUsedMb = 0, memLimitMb = 0 } = stats ?? {};
    const { mspt = 0, tps = 0 } = ticks ?? {};
    const players = now.context.live.players ?? 0;
    return { sample: { at, cpuPercent, memUsedMb, memLimitMb, mspt, tps, players }, live: ticks !== undefined };
  }

  async function ticksOf({ row, context }: ServerNow): Promise<TickStats | undefined> {
    if (context.rcon === null) return undefined;
    const replies: string[] = [];
    for (const command of tickCommands({ core: row.type, version: row.version }))
      replies.push(await console.run(context.rcon, options.rconPassword(row.id), command));
    return readTickStats(replies);
  }

  return {
    latest(id) {
      const found = readings.get(id);
      return found && clock.now() - found.sample.at < FRESH_MS ? found : undefined;
    },
    async series(id) {
      return (await listSamples(store, id, clock.now() - SERIES_MS, SERIES)).map(sampleOf);
    },
    close() {
      closed = true;
      cancel();
    },
  };
}

function stored({ at, cpuPercent, memUsedMb, memLimitMb, mspt, tps, players }: MetricSample): StoredSample {
  return { at, figures: [cpuPercent, memUsedMb, memLimitMb, mspt, tps, players] };
}

function sampleOf({ at, figures }: StoredSample): MetricSample {
  const [cpuPercent, memUsedMb, memLimitMb, mspt, tps, players] = figures;
  return { at, cpuPercent, memUsedMb, memLimitMb, mspt, tps, players };
}
