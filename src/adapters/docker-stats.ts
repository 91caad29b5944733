import type { ContainerStats } from 'dockerode';
import type { GameStats } from '../ports.ts';

const MIB = 1024 * 1024;

/**
 * The figures `docker stats` shows: CPU in percent of one processor between the two readings in the answer, memory
 * without the file cache that the kernel could drop at once (Docker reference, "docker stats"). Undefined for a
 * container that does not run, whose answer is empty.
 */
export function gameStats(raw: ContainerStats): GameStats | undefined {
  const { usage, limit, stats } = raw.memory_stats;
  if (!usage || !limit) return undefined;
  // cgroup v1 counts child groups in `total_…`; v2 has the plain name only.
  const cache = stats.total_inactive_file ?? stats.inactive_file ?? 0;
  return {
    cpuPercent: cpuPercent(raw),
    memUsedMb: Math.max(0, usage - cache) / MIB,
    memLimitMb: limit / MIB,
  };
}

function cpuPercent({ cpu_stats: now, precpu_stats: before }: ContainerStats): number {
  const used = now.cpu_usage.total_usage - before.cpu_usage.total_usage;
  const passed = now.system_cpu_usage - (before.system_cpu_usage ?? 0);
  const processors = now.online_cpus || now.cpu_usage.percpu_usage?.length || 1;
  return used > 0 && passed > 0 ? (used / passed) * processors * 100 : 0;
}
