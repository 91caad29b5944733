import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

/** The settings of restic repositories. */
export interface ResticAccess {
  /** `restic:<repository>` as given, with credentials; or another place, or null. */
  backupStore: string | null;
  /** '': the one in DATA_DIR, which is created if it is missing. */
  resticPassword: string;
  /** Variables for restic alone: credentials of its backends. */
  resticEnvironment: Readonly<Record<string, string>>;
  dataDir: string;
}

const PREFIX = 'restic:';
/** How long an interrupted process may take to remove its lock. */
const END_MS = 10_000;
const MOST_ERROR_CHARS = 2_000;

/** The file with a password that we created. */
export function passwordFileOf({ dataDir }: ResticAccess): string {
  return resolve(join(dataDir, 'restic-password'));
}

/** Removes `user:password@` from the address in a location. */
export function withoutCredentials(location: string): string {
  return location.replace(/(:\/\/)[^/@\s]*@/, '$1');
}

/** restic ended with an error; the message is what it wrote. */
class ResticFailed extends Error {
  override name = 'ResticFailed';
}

/** Reports whether restic ended with an error like this. */
export function isSaid(error: unknown, what: RegExp): boolean {
  return error instanceof ResticFailed && what.test(error.message);
}

interface Running {
  /** restic ends after this time without progress. */
  limitMs: number;
  /** Default: none. */
  stdin?: number;
  /** Interrupts restic, which then removes its lock. */
  signal?: AbortSignal;
  /** Called with each line of the output. Returns whether it shows progress. */
  onLine?: (line: string) => boolean;
  /** Whether players come first. Default: false. */
  isQuiet?: boolean;
}

/** The program for one repository. */
export interface Restic {
  /** Starts it. `goesOn` reports progress, and `end` interrupts it. */
  start: (
    args: readonly string[],
    options: Running,
  ) => { output: Readable; ended: Promise<void>; end: () => void; goesOn: () => void };
  /** Runs it and resolves with its output. */
  run: (args: readonly string[], options: Running) => Promise<string>;
}

/**
 * Runs restic for repositories by their locations. Passwords and credentials are in its environment, never in its
 * arguments, and credentials in an address are removed from errors.
 */
export function createRestic(settings: ResticAccess): (location: string) => Restic {
  const { backupStore, resticPassword } = settings;
  const hidden = backupStore === null ? '' : (/:\/\/([^/@\s]*@)/.exec(backupStore)?.[1] ?? '');
  let quiet: readonly string[] | undefined;

  function environmentFor(location: string): NodeJS.ProcessEnv {
    // Only the current setting has its credentials.
    const given = backupStore !== null && withoutCredentials(backupStore) === location ? backupStore : location;
    const repository = given.slice(PREFIX.length);
    return {
      PATH: '/usr/bin:/bin',
      ...settings.resticEnvironment,
      ...(resticPassword === ''
        ? { RESTIC_PASSWORD_FILE: passwordFileOf(settings) }
        : { RESTIC_PASSWORD: resticPassword }),
      RESTIC_REPOSITORY: repository,
      RESTIC_CACHE_DIR: resolve(join(settings.dataDir, 'restic-cache')),
      // If this process is killed, restic ends when it next reports progress.
      RESTIC_PROGRESS_FPS: '2',
    };
  }

  return (location) => {
    const env = environmentFor(location);
    const start: Restic['start'] = (args, { limitMs, stdin, signal, isQuiet = false }) => {
      const [program = '', ...rest] = [...(isQuiet ? (quiet ??= quietly()) : []), 'restic', ...args];
      const child = spawn(program, rest, { env, stdio: [stdin ?? 'ignore', 'pipe', 'pipe'] });
      const { stdout: output, stderr } = child as typeof child & { stdout: Readable; stderr: Readable };
      let said = '';
      stderr.setEncoding('utf8').on('data', (chunk: string) => {
        if (said.length < MOST_ERROR_CHARS) said += chunk;
      });
      const end = (): void => {
        child.kill('SIGINT');
        setTimeout(() => child.kill('SIGKILL'), END_MS).unref();
      };
      const limit = setTimeout(() => {
        said = `restic ${args[0]} made no progress for ${limitMs / 1_000} s. ${said}`;
        end();
      }, limitMs);
      signal?.addEventListener('abort', end, { once: true });
      if (signal?.aborted) end();
      const ended = once(child, 'close')
        .finally(() => {
          clearTimeout(limit);
          signal?.removeEventListener('abort', end);
        })
        .then(([code]) => {
          signal?.throwIfAborted();
          if (code === 0) return;
          const message = (hidden === '' ? said : said.replaceAll(hidden, '')).slice(0, MOST_ERROR_CHARS).trim();
          throw new ResticFailed(message || `restic ended with ${code}`);
        });
      ended.catch(() => {});
      return { output, ended, end, goesOn: () => void limit.refresh() };
    };
    return {
      start,
      async run(args, options) {
        const { output, ended, goesOn } = start(args, options);
        if (options.onLine) {
          for await (const line of createInterface({ input: output })) if (options.onLine(line)) goesOn();
          await ended;
          return '';
        }
        const [all] = await Promise.all([text(output), ended]);
        return all;
      },
    };
  };
}

/** Returns a prefix that lets everything else on this machine go first. */
function quietly(): readonly string[] {
  const [nice, idle] = [
    ['nice', '-n', '10'],
    ['ionice', '-c', '3'],
  ] as const;
  return spawnSync(idle[0], [...idle.slice(1), 'true']).status === 0 ? [...nice, ...idle] : nice;
}
