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
  /** Memory that it holds now. */
  residentMb: number;
}

/** The heap of a worker, whatever a job may take beside it. */
const HEAP_MB = 256;
/** Lower than the service: who waits for foreign bytes waits before who plays. */
const NICE = 5;
/** The kernel ends workers before anything else where memory runs out. */
const OOM_SCORE = '1000';
const CLOCK_TICKS = 100;
const PAGE_BYTES = 4096;

export interface WorkerProcessOptions {
  /** Descriptors that it has as 4, 5 and so on. */
  files: readonly number[];
  /** Its standard input: a stream, an open file or nothing. */
  stdin: 'pipe' | 'ignore' | number;
  /** Folders that it may read beside the program's own. */
  modules: readonly string[];
  /** See `WorkerPoolOptions`. */
  trusted: boolean;
  /** It does jobs of `bundledJob` only, and starts in a third of the time. */
  bundled: boolean;
  /** The kernel ends it after so much CPU time, also where the service has been killed meanwhile. */
  mostCpuMs: number;
}

/**
 * Starts a worker (`main.ts`). It sees neither the environment nor, unless it is trusted and where Node can see to that, any file
 * but the program's own and those it was given open, and it may not write.
 */
export function startWorkerProcess(options: WorkerProcessOptions): ChildProcess {
  const { files, stdin, modules, mostCpuMs, trusted, bundled } = options;
  const limits = trusted ? [] : permissions(modules);
  const node = [process.execPath, `--max-old-space-size=${HEAP_MB}`, ...limits, bundled ? bundledWorker(MAIN) : MAIN];
  // Node keeps code once compiled only where it may write.
  const { NODE_COMPILE_CACHE: cache } = process.env;
  // A shell, for Node has no call for it; it makes way for Node at once.
  const child = spawn('/bin/sh', ['-c', 'ulimit -t "$0" && exec "$@"', String(Math.ceil(mostCpuMs / 1000)), ...node], {
    stdio: [stdin, 'ignore', 'ignore', 'ipc', ...files],
    serialization: 'advanced',
    env: trusted && cache !== undefined ? { NODE_COMPILE_CACHE: cache } : {},
  });
  const { pid } = child;
  // It may be gone already, and where neither can be had it works without.
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
    // The name, in parentheses, may hold anything. Behind it: proc(5), fields 3 and on.
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

/** A job's module, made one with all that it imports; undefined where nothing has made it, or its files have changed since. */
export function bundledJob(module: string): string | undefined {
  if (found.has(module)) return found.get(module);
  // Looked at once: it is a look at a thousand files.
  hasBundle ??= currentBundle() !== undefined;
  const file = hasBundle && module.startsWith(SOURCES) ? bundledWorker(fileURLToPath(module)) : undefined;
  const made = file !== undefined && existsSync(file) ? pathToFileURL(file).href : undefined;
  found.set(module, made);
  return made;
}

/** Node's permission model: nothing is allowed but to read these. */
function permissions(modules: readonly string[]): string[] {
  if (!process.allowedNodeEnvironmentFlags.has('--permission')) return [];
  const folders = [join(ROOT, 'src'), join(ROOT, 'node_modules'), ...modules, '/proc/self/fd'];
  const readable = [...folders.map((folder) => join(folder, '*')), join(ROOT, 'package.json')];
  return ['--permission', ...readable.map((path) => `--allow-fs-read=${path}`)];
}
