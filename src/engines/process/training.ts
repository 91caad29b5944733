import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MIB, MINUTE_MS } from '../../kernel/units.ts';
import { boundRun, limitedRun } from './bound-run.ts';
import { pathsOf } from './bubblewrap.ts';
import type { Confinement } from './confinement.ts';
import { familyOf, gameProcessOf } from './family.ts';
import { findProgram } from './find-program.ts';
import { send } from './signals.ts';
import type { Command } from './spawn-game.ts';

/** A run of a core in a folder of its own, without any server's files. */
export interface Training {
  /** The empty folder. It is created for the run. */
  folder: string;
  java: string;
  args: readonly string[];
  /** Files of cores, which the run may read. */
  coresDir: string;
  confinement: Confinement;
  searchPath: string;
  signal: AbortSignal;
}

const LIMIT_MS = 10 * MINUTE_MS;
/** From the request to stop. Java writes the cache in this time, at a low priority. */
const STOP_MS = 5 * MINUTE_MS;
/** Minecraft, its forks, and proxies print this once players can join. */
const READY = /Done \(\d+[.,]\d+ ?s\)!/;
const KEPT_CHARS = 1_000;
/** A small flat world on a port that the system chooses. */
const PROPERTIES = ['server-ip=127.0.0.1', 'server-port=0', 'level-type=minecraft\\:flat', 'view-distance=4'];

/**
 * Runs Java at the lowest priority and confined like a game, until it ends by itself. A game that is ready is asked to
 * stop. The run ends with this process, even if that is killed. Rejects if the run fails, and when `signal` fires.
 */
export async function train(training: Training): Promise<void> {
  const { folder, confinement, searchPath, signal } = training;
  await createFolder(folder, confinement);
  const command = await trainingCommand(training);
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
    const output = stopOnceReady(child);
    const [code] = (await once(child, 'close')) as [number | null];
    signal.throwIfAborted();
    // 143: ended by the signal that asked it to stop.
    if (code !== 0 && code !== 143) throw new Error(`the training run ended with code ${code}: ${output()}`);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function createFolder(folder: string, { user }: Confinement): Promise<void> {
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

async function trainingCommand({ folder, java, args, coresDir, confinement, searchPath }: Training): Promise<Command> {
  const { user, bubblewrap } = confinement;
  const ifThere = async (name: string, ...options: string[]) =>
    (await findProgram(name, searchPath)) === undefined ? [] : [name, ...options];
  const limit = limitedRun({ limitMs: LIMIT_MS, stopMs: STOP_MS });
  const idle = ['nice', '-n', '19', ...(await ifThere('ionice', '-c', '3'))];
  // Java cannot find the home of a user without a name.
  const run = [...limit, ...idle, java, `-Duser.home=${folder}`, ...args];
  if (!bubblewrap) {
    const [file = '', ...rest] = run;
    return await boundRun({ file, args: rest, user }, confinement, searchPath);
  }
  const view = { home: folder, readable: [...(await pathsOf(java)), coresDir], writable: [] };
  const wrapped = await bubblewrap.wrap({ file: '/usr/bin/env', args: run }, view);
  return await boundRun(wrapped, confinement, searchPath);
}

/** Asks a run to stop once it is ready. Returns a function that returns the end of its output. */
function stopOnceReady(child: ChildProcess): () => string {
  let output = '';
  let isReady = false;
  const note = (chunk: Buffer) => {
    output = (output + chunk.toString('utf8')).slice(-KEPT_CHARS);
    if (isReady || !READY.test(output)) return;
    isReady = true;
    if (child.pid !== undefined) void gameProcessOf(child.pid).then((pid) => send(pid, 'SIGTERM'));
  };
  child.stdout?.on('data', note);
  child.stderr?.on('data', note);
  return () => output;
}

async function killFamily({ pid }: ChildProcess): Promise<void> {
  if (pid === undefined) return;
  for (const each of await familyOf(pid)) send(each, 'SIGKILL');
}

/** The largest file that a training run may leave as its cache. */
export const MAX_CACHE_BYTES = 512 * MIB;
