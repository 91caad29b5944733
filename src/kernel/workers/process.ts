import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundledWorker, currentBundle } from './bundled.js';
import { MIB } from '../units.ts';

/** The resources a worker has used so far. */
export interface Usage {
  cpuMs: number;
  /** Current memory. */
  residentMb: number;
}

/** Largest JavaScript heap of a worker, whatever the job's memory limit. */
const HEAP_MB = 256;
/** Lower priority than the service, so that players do not wait for this work. */
const NICE = 5;
/** If memory runs out, the kernel ends workers before any other process. */
const OOM_SCORE = '1000';
const CLOCK_TICKS = 100;
const PAGE_BYTES = 4096;

export interface WorkerProcessOptions {
  /** Open descriptors, which the worker sees as 4, 5 and so on. */
  files: readonly number[];
  /** Its standard input: a stream, an open file or nothing. */
  stdin: 'pipe' | 'ignore' | number;
  /** Folders that the worker may read, in addition to the program's own. */
  modules: readonly string[];
  /** See `WorkerPoolOptions`. */
  trusted: boolean;
  /** Whether it runs only jobs from the bundle (`bundledJob`). Such a worker starts in a third of the time. */
  bundled: boolean;
  /** CPU time after which the kernel ends the worker, even if the service has been killed. */
  mostCpuMs: number;
}

/**
 * Starts a worker (`main.ts`) without the service's environment. Unless it is trusted, Node's permission model, if
 * available, lets it read only the program's own files and those that it received open, and open no file for writing.
 */
export function startWorkerProcess(options: WorkerProcessOptions): ChildProcess {
  const { files, stdin, modules, mostCpuMs, trusted, bundled } = options;
  const limits = trusted ? [] : permissions(modules);
  const node = [process.execPath, `--max-old-space-size=${HEAP_MB}`, ...limits, bundled ? bundledWorker(MAIN) : MAIN];
  // Node's compile cache needs write access, so only trusted workers use it.
  const { NODE_COMPILE_CACHE: cache } = process.env;
  // A shell sets the CPU limit, because Node has no call for it, and then replaces itself with Node.
  const child = spawn('/bin/sh', ['-c', 'ulimit -t "$0" && exec "$@"', String(Math.ceil(mostCpuMs / 1000)), ...node], {
    stdio: [stdin, 'ignore', 'ignore', 'ipc', ...files],
    serialization: 'advanced',
    env: trusted && cache !== undefined ? { NODE_COMPILE_CACHE: cache } : {},
  });
  const { pid } = child;
  // Best effort: the process may have ended already, or the system may refuse.
  if (pid !== undefined) {
    try {
      setPriority(pid, NICE);
    } catch {}
    writeFile(`/proc/${pid}/oom_score_adj`, OOM_SCORE).catch(() => undefined);
  }
  return child;
}

/** Returns the resources a worker has used; undefined if the system does not report them or it has ended. */
export async function usageOf({ pid }: ChildProcess): Promise<Usage | undefined> {
  try {
    // Cuts off the name in parentheses, which may contain any character. The rest is proc(5), fields 3 and on.
    const stat = (await readFile(`/proc/${pid}/stat`, 'latin1')).replace(/^.*\) /s, '').split(' ');
    const [user, system, pages] = [11, 12, 21].map((field) => Number(stat[field]));
    if (user === undefined || system === undefined || pages === undefined) return undefined;
    return { cpuMs: ((user + system) * 1000) / CLOCK_TICKS, residentMb: (pages * PAGE_BYTES) / MIB };
  } catch {
    return undefined;
  }
}

const ROOT = join(import.meta.dirname, '../../..');
const MAIN = join(import.meta.dirname, 'main.ts');
const SOURCES = `${pathToFileURL(join(ROOT, 'src')).href}/`;

let hasBundle: boolean | undefined;
const found = new Map<string, string | undefined>();

/** Returns the URL of a job's module, bundled with all its imports; undefined without a current bundle. */
export function bundledJob(module: string): string | undefined {
  if (found.has(module)) return found.get(module);
  // Checked only once, because the check reads the state of a thousand files.
  hasBundle ??= currentBundle() !== undefined;
  const file = hasBundle && module.startsWith(SOURCES) ? bundledWorker(fileURLToPath(module)) : undefined;
  const made = file !== undefined && existsSync(file) ? pathToFileURL(file).href : undefined;
  found.set(module, made);
  return made;
}

/** Returns the flags of Node's permission model that allow only reading these files. Empty if this Node lacks it. */
function permissions(modules: readonly string[]): string[] {
  if (!process.allowedNodeEnvironmentFlags.has('--permission')) return [];
  const folders = [join(ROOT, 'src'), join(ROOT, 'node_modules'), ...modules, '/proc/self/fd'];
  const readable = [...folders.map((folder) => join(folder, '*')), join(ROOT, 'package.json')];
  return ['--permission', ...readable.map((path) => `--allow-fs-read=${path}`)];
}
