import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** The unit in which Linux counts CPU time (`getconf CLK_TCK`), on every machine. */
const TICK_MS = 10;
const PINS = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** The note for figures measured without pinning; '' with pinning. */
export const pinningNote = PINS ? '' : 'not pinned to a core';

/**
 * Starts `command` on one core or on several (`0,1`), if pinning is available. By default, a Node process has a message
 * channel.
 */
export function startChild(
  core: number | string,
  command: string,
  args: readonly string[],
  options: SpawnOptions = {},
): ChildProcess {
  const [program, ...rest] = PINS ? ['taskset', '-c', String(core), command, ...args] : [command, ...args];
  const isNode = command === process.execPath;
  return spawn(program ?? command, rest, {
    stdio: ['ignore', 'ignore', 'inherit', ...(isNode ? ['ipc' as const] : [])],
    ...options,
  });
}

/** Starts this program again as `role`. */
export function startRole(core: number, file: string, role: string, ...args: string[]): ChildProcess {
  return startChild(core, process.execPath, [file, role, ...args]);
}

/** Resolves with the next message of a child. Rejects if the child ends first. */
export async function message<T>(child: ChildProcess): Promise<T> {
  const over = new AbortController();
  try {
    const ended = once(child, 'exit', { signal: over.signal }).then(([code]) => {
      throw new Error(`a bench process ended with ${code}`);
    });
    const [value] = (await Promise.race([once(child, 'message', { signal: over.signal }), ended])) as [T];
    return value;
  } finally {
    over.abort();
  }
}

/** Returns the CPU time of a process so far, user and system, in ms. */
export function cpuMs({ pid }: Pick<ChildProcess, 'pid'>): number {
  const [, , ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/\(.*\)/s, 'name')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Returns the CPU time of this process and of its ended children, in ms. */
export function familyCpuMs(): number {
  const [, , ...fields] = readFileSync('/proc/self/stat', 'utf8')
    .replace(/\(.*\)/s, 'name')
    .split(' ');
  // proc(5): utime, stime, cutime, cstime.
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * TICK_MS;
}

/** Returns the resident memory of a process, in bytes. */
export function rssBytes({ pid }: ChildProcess): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}
