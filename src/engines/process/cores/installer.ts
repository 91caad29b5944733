import { once } from 'node:events';
import { chmod, chown, lstat, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { handOver } from '../../../jail/hand-over.ts';
import { type FileOwner, syncDirectory } from '../../../kernel/atomic-file.ts';
import { ignore } from '../../../kernel/ignore.ts';
import { GIB, MINUTE_MS } from '../../../kernel/units.ts';
import { EngineError, type GameSpec } from '../../engine.ts';
import { boundRun, limitedRun } from '../bound-run.ts';
import { type Confinement, confine } from '../confinement.ts';
import { findProgram } from '../find-program.ts';
import type { Java } from '../java-homes.ts';
import { send } from '../signals.ts';
import { type Command, spawnGame } from '../spawn-game.ts';
import { makeReadable } from './fetch-file.ts';

/** Runs the installers of cores. They are foreign code and run confined, as games do. */
export interface InstallerHost {
  /** The Java program. */
  java: string;
  /** Confines a command that may write to `folder` and read `jar`. It ends with this process. */
  confine(command: Command, folder: string, jar: string): Promise<Command>;
  /** The user of games; undefined: this process's own. */
  user: FileOwner | undefined;
  /** Opens the log that gets the installer's output. */
  openLog(): Promise<FileHandle>;
  /** Its whole environment, except HOME. */
  env: Record<string, string>;
}

/** Returns a host that confines installers like the games of a server, and ends them with this process. */
export function installerHost(
  spec: GameSpec,
  java: Java,
  given: Pick<InstallerHost, 'env' | 'openLog'> & { confinement: Confinement },
): InstallerHost {
  const { env, openLog, confinement } = given;
  return {
    java: java.file,
    user: confinement.user,
    env,
    openLog,
    confine: async (command, folder, jar) => {
      const searchPath = env['PATH'] ?? '';
      const needs = { searchPath, sandboxPaths: [], coreFiles: jar, cacheDir: undefined };
      const confined = await confine(command, { ...spec, dataDir: folder }, confinement, needs);
      // Bubblewrap itself ends all processes of a run.
      const isLimited = !confinement.bubblewrap && (await findProgram('timeout', searchPath)) !== undefined;
      return await boundRun(isLimited ? limited(confined) : confined, confinement, searchPath);
    },
  };
}

/** Limits a run in case this process is killed. Otherwise this process ends it earlier. */
function limited(command: Command): Command {
  const [file = '', ...args] = limitedRun({ limitMs: INSTALL_MS + STOP_MS, stopMs: STOP_MS });
  return { ...command, file, args: [...args, command.file, ...command.args] };
}

/** One installation. */
export interface Installation {
  jar: string;
  /** Returns the installer's arguments for the folder it installs to. */
  args: (folder: string) => readonly string[];
  /** The folder to create. It appears complete. */
  target: string;
  /** Whether the folder contains a server. */
  isComplete: (folder: string) => Promise<boolean>;
}

const INSTALL_MS = 15 * MINUTE_MS;
/** From the request to stop, which an installer gets if this process is killed. */
const STOP_MS = 10_000;
const HEAP_MB = 1_024;
const MOST_BYTES = 2 * GIB;
const MOST_FILES = 20_000;
const MEASURE_MS = 2_000;
const STAGING = '.install-';

/**
 * Runs an installer in an empty folder and moves the result to `target`, owned by this process and read-only for games.
 * Limited in time, memory and disk space. Rejects with EngineError `install_failed`, or with the reason of `signal`.
 */
export async function runInstaller(
  { jar, args, target, isComplete }: Installation,
  host: InstallerHost,
  signal: AbortSignal,
): Promise<void> {
  const parent = dirname(target);
  await makeReadable(parent);
  await sweep(parent);
  const folder = await mkdtemp(join(parent, STAGING));
  try {
    if (host.user) await chown(folder, host.user.uid, host.user.gid);
    const java = [`-Xmx${HEAP_MB}M`, '-Djava.awt.headless=true'];
    const plain = { file: host.java, args: [...java, '-jar', jar, ...args(folder)] };
    await untilDone(await host.confine(plain, folder, jar), folder, host, signal);
    if (!(await isComplete(folder))) throw failed('The installer ended without creating a server.');
    await seal(folder);
    // Another service may have finished the same installation.
    await rename(folder, target).catch(async (error: unknown) => {
      if (!(await isComplete(target))) throw error;
    });
    await syncDirectory(parent);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function untilDone(command: Command, folder: string, host: InstallerHost, signal: AbortSignal): Promise<void> {
  await using output = await host.openLog();
  signal.throwIfAborted();
  const child = await spawnGame(command, { cwd: folder, env: { ...host.env, HOME: folder }, input: undefined, output });
  const over = AbortSignal.any([signal, AbortSignal.timeout(INSTALL_MS)]);
  let isTooLarge = false;
  let isMeasuring = false;
  const kill = () => send(-child.pid, 'SIGKILL');
  const measuring = setInterval(() => {
    if (isMeasuring) return;
    isMeasuring = true;
    void fits(folder).then((isSmall) => {
      isMeasuring = false;
      isTooLarge ||= !isSmall;
      if (isTooLarge) kill();
    });
  }, MEASURE_MS);
  over.addEventListener('abort', kill, { once: true });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    signal.throwIfAborted();
    if (over.aborted) throw failed(`The installer did not end within ${INSTALL_MS / MINUTE_MS} minutes.`);
    if (isTooLarge || !(await fits(folder))) throw failed('The installer created too many or too large files.');
    if (code !== 0) throw failed(`The installer ended with code ${code ?? 'unknown'}.`);
  } finally {
    clearInterval(measuring);
    over.removeEventListener('abort', kill);
    // Its children, if any.
    kill();
  }
}

/** Returns whether a folder is within the limits. One that cannot be measured is not; what has gone is empty. */
async function fits(folder: string): Promise<boolean> {
  let [bytes, files] = [0, 0];
  try {
    for (const name of (await readdir(folder, { recursive: true }).catch(ignore('ENOENT'))) ?? []) {
      files += 1;
      if (files > MOST_FILES) return false;
      bytes += (await lstat(join(folder, name)).catch(ignore('ENOENT')))?.size ?? 0;
    }
  } catch {
    return false;
  }
  return bytes <= MOST_BYTES;
}

/** Makes this process the owner of all files, and removes everything that is neither a file nor a directory. */
async function seal(folder: string): Promise<void> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  if (uid === 0) await handOver(folder, { uid, gid });
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, 0o644);
    else await rm(path);
  }
  await chmod(folder, 0o755);
}

/** Removes what installers of an earlier process have left. */
async function sweep(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const path = join(parent, name);
    const isOld = async () => ((await lstat(path).catch(() => undefined))?.mtimeMs ?? 0) < Date.now() - 2 * INSTALL_MS;
    if (name.startsWith(STAGING) && (await isOld())) await rm(path, { recursive: true, force: true });
  }
}

function failed(message: string): EngineError {
  return new EngineError('install_failed', message, { suggestion: 'Read the log, then try again.' });
}
