import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { MIB, MINUTE_MS } from '../../kernel/units.ts';
import { boundRun, limitedRun } from './bound-run.ts';
import { pathsOf } from './bubblewrap.ts';
import type { Confinement } from './confinement.ts';
import { familyOf, signalGame } from './family.ts';
import { findProgram } from './find-program.ts';
import { send } from './signals.ts';
import type { Java } from './java-homes.ts';
import type { Command } from './spawn-game.ts';

/** A run of a core in a folder of its own, without any server's files. */
export interface Training {
  /** The empty folder. It is created for the run. */
  folder: string;
  java: string;
  args: readonly string[];
  /** Files of cores, which the run may read. */
  coresDir: string;
  signal: AbortSignal;
}

/** Runs cores for the service itself, out of the reach of games. */
export interface Trainer {
  /** Returns facts that differ between builds of Java. */
  identify: (java: Java) => Promise<readonly unknown[]>;
  /** Runs Java until it ends by itself. A game that is ready is asked to stop. Rejects if the run fails or is aborted. */
  train: (run: Training) => Promise<void>;
}

const LIMIT_MS = 10 * MINUTE_MS;
/** From the request to stop. Java writes the cache in this time, at a low priority. */
const STOP_MS = 5 * MINUTE_MS;
/** The beginning of a command for a training run. */
export const TRAINING_LIMIT = limitedRun({ limitMs: LIMIT_MS, stopMs: STOP_MS });
/** Minecraft, its forks, and proxies print this once players can join. */
const READY = /Done \(\d+[.,]\d+ ?s\)!/;
const KEPT_CHARS = 1_000;
/** A small flat world on a port that the system chooses. */
const PROPERTIES = ['server-ip=127.0.0.1', 'server-port=0', 'level-type=minecraft\\:flat', 'view-distance=4'];

/** Returns the trainer on this machine. Undefined if other games of the same user could change a training run. */
export function processTrainer(confinement: Confinement, searchPath: string): Trainer | undefined {
  if (confinement.user !== undefined && confinement.bubblewrap === undefined) return undefined;
  return {
    async identify({ file }) {
      const { size, mtimeMs } = await stat(file);
      return [file, size, mtimeMs];
    },
    train: (run) => train(run, confinement, searchPath),
  };
}

/**
 * Runs Java at the lowest priority and confined like a game, until it ends by itself. The run ends with this process,
 * even if that is killed.
 */
async function train(training: Training, confinement: Confinement, searchPath: string): Promise<void> {
  const { folder, signal } = training;
  await createFolder(folder, confinement.user);
  const command = await trainingCommand(training, confinement, searchPath);
  signal.throwIfAborted();
  const child = spawn(command.file, command.args, {
    cwd: folder,
    env: { PATH: searchPath, LANG: 'C.UTF-8', HOME: folder },
    detached: true,
    ...command.user,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const abort = () => void killFamily(child);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const stop = () => {
      if (child.pid !== undefined) void signalGame(child.pid, 'SIGTERM');
    };
    const output = stopOnceReady(stop);
    child.stdout?.on('data', output.add);
    child.stderr?.on('data', output.add);
    const [code] = (await once(child, 'close')) as [number | null];
    signal.throwIfAborted();
    output.check(code);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Creates the folder of a run, empty except for the consent and the settings of a small world. */
export async function createFolder(folder: string, user: FileOwner | undefined): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files = { 'eula.txt': 'eula=true\n', 'server.properties': `${PROPERTIES.join('\n')}\n` };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text, { mode: 0o600 });
    if (user) await chown(join(folder, name), user.uid, user.gid);
  }
  await chmod(folder, 0o700);
  if (user) await chown(folder, user.uid, user.gid);
}

async function trainingCommand(
  { folder, java, args, coresDir }: Training,
  confinement: Confinement,
  searchPath: string,
): Promise<Command> {
  const { user, bubblewrap } = confinement;
  const ifThere = async (name: string, ...options: string[]) =>
    (await findProgram(name, searchPath)) === undefined ? [] : [name, ...options];
  const idle = ['nice', '-n', '19', ...(await ifThere('ionice', '-c', '3'))];
  // Java cannot find the home of a user without a name.
  const run = [...TRAINING_LIMIT, ...idle, java, `-Duser.home=${folder}`, ...args];
  if (!bubblewrap) {
    const [file = '', ...rest] = run;
    return await boundRun({ file, args: rest, user }, confinement, searchPath);
  }
  const view = { home: folder, readable: [...(await pathsOf(java)), coresDir], writable: [] };
  const wrapped = await bubblewrap.wrap({ file: '/usr/bin/env', args: run }, view);
  return await boundRun(wrapped, confinement, searchPath);
}

/** Reads a run's output, and calls `stop` once it is ready. */
export function stopOnceReady(stop: () => void): {
  add: (chunk: Buffer) => void;
  /** Throws with the end of the output if a run with this exit code has failed. */
  check: (code: number | null) => void;
} {
  let output = '';
  let isReady = false;
  return {
    add(chunk) {
      output = (output + chunk.toString('utf8')).slice(-KEPT_CHARS);
      if (isReady || !READY.test(output)) return;
      isReady = true;
      stop();
    },
    check(code) {
      // 143: ended by the signal that asked it to stop.
      if (code !== 0 && code !== 143) throw new Error(`the training run ended with code ${code}: ${output}`);
    },
  };
}

async function killFamily({ pid }: ChildProcess): Promise<void> {
  if (pid === undefined) return;
  for (const each of await familyOf(pid)) send(each, 'SIGKILL');
}

/** The largest file that a training run may leave as its cache. */
export const MAX_CACHE_BYTES = 512 * MIB;
