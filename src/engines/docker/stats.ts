import type { Container, ContainerStats } from 'dockerode';
import { MIB } from '../../kernel/units.ts';
import type { GameStats } from '../engine.ts';
import { unless, within } from './errors.ts';

const STATS_MS = 15_000;

/** Processor time a container has used, at an instant of its engine's clock. */
export interface CpuReading {
  at: number;
  usedMs: number;
}

/** Creates a reader of containers' statistics. Each reading covers the time since the one before. */
export function createStatsReader() {
  const readings = new Map<string, CpuReading>();
  return {
    /** Reads a container that started at `startedAt` (epoch ms). Returns undefined if it no longer runs. */
    async read(serverId: string, container: Container, startedAt: number): Promise<GameStats | undefined> {
      // Without `one-shot` the engine takes two readings, a second apart.
      const once = container.stats({ stream: false, 'one-shot': true });
      const raw = await unless([404, 409], within(STATS_MS, once));
      if (raw === undefined) return undefined;
      const start = { at: startedAt, usedMs: 0 };
      const last = readings.get(serverId) ?? start;
      const stats = gameStats(raw, last.at < start.at ? start : last);
      if (stats !== undefined) readings.set(serverId, cpuReading(raw));
      return stats;
    },
    forget: (serverId: string): void => void readings.delete(serverId),
  };
}

/**
 * Returns the figures that `docker stats` shows: CPU in percent of one processor since the reading `before`, and memory
 * without the file cache that the kernel could drop immediately (Docker reference, "docker stats"). Undefined for a
 * container that does not run, because Docker's answer is then empty.
 */
export function gameStats(raw: ContainerStats, before: CpuReading): GameStats | undefined {
  const { usage, limit, stats } = raw.memory_stats;
  if (!usage || !limit) return undefined;
  // cgroup v1 counts child groups in `total_…`; v2 has the plain name only.
  const cache = stats.total_inactive_file ?? stats.inactive_file ?? 0;
  return {
    cpuPercent: cpuPercent(cpuReading(raw), before),
    memUsedMb: Math.max(0, usage - cache) / MIB,
    memLimitMb: limit / MIB,
  };
}

/** Returns the processor time in an answer, for use as `before` in the next reading. */
export function cpuReading({ read, cpu_stats: { cpu_usage } }: ContainerStats): CpuReading {
  return { at: Date.parse(read), usedMs: cpu_usage.total_usage / 1e6 };
}

function cpuPercent({ at, usedMs }: CpuReading, before: CpuReading): number {
  return at > before.at ? (Math.max(0, usedMs - before.usedMs) / (at - before.at)) * 100 : 0;
}
