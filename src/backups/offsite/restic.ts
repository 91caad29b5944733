import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { readIfThere, writeAtomic } from '../../kernel/atomic-file.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { createMutex } from '../../kernel/mutex.ts';
import { sleep } from '../../kernel/sleep.ts';
import { StatusError } from '../../kernel/status.ts';
import type { Secret } from '../../store/secret.ts';
import { filesMissing, refused, storeAway } from '../errors.ts';
import type { BackupRow, Ref } from '../rows.ts';
import type { ArchiveStore } from './archive-store.ts';
import { installationOf } from './offsite.ts';

/** The settings of restic repositories. */
export interface ResticAccess {
  /** `restic:<repository>` as given, with credentials; or another place, or null. */
  backupStore: string | null;
  /** '': the one in DATA_DIR, which is created if it is missing. */
  resticPassword: string;
  /** Variables for restic alone: credentials of its backends. */
  resticEnvironment: Readonly<Record<string, string>>;
  s3Region: string;
  s3AccessKeyId: string;
  s3SecretAccessKey: string;
  dataDir: string;
}

const PREFIX = 'restic:';
/** The file in DATA_DIR with a password that we created. */
export const PASSWORD_FILE = 'restic-password';
const OLDEST: readonly [number, number] = [0, 14];
const INSTALL = 'install restic 0.14 or later, for example with: apt install restic';
/** How often, and how long in between, a read tries again while another program has locked the repository. */
const [LOCK_TRIES, LOCK_PAUSE_MS] = [5, 1_000];
/** How long an interrupted process may take to remove its lock. */
const END_MS = 10_000;
/** One run frees at most about this much, so that it ends. */
const PRUNE = ['prune', '--max-unused', '10%', '--max-repack-size', '2G'];
const MOST_ERROR_CHARS = 2_000;

const IS_LOCKED = /repository is already locked|unable to create lock/;
const IS_WRONG_PASSWORD = /wrong password or no key found/;
const HAS_NO_REPOSITORY = /Is there a repository at the following location|unable to open config file/;
const HAS_NO_SNAPSHOT = /no snapshot found|no snapshot matched|not found in snapshot/;

/** Reports whether a location is a restic repository. */
export function isRestic(location: string): boolean {
  return location.startsWith(PREFIX);
}

/** Removes `user:password@` from the address in a location. */
export function withoutCredentials(location: string): string {
  return location.replace(/(:\/\/)[^/@\s]*@/, '$1');
}

/** restic ended with an error; the message is what it wrote. */
class ResticFailed extends Error {
  override name = 'ResticFailed';
}

/** A snapshot as restic lists it. */
interface Snapshot {
  id: string;
  time: string;
  tags?: string[];
}

interface Running {
  /** Default: none. */
  stdin?: number;
  /** Interrupts restic, which then removes its lock. */
  signal?: AbortSignal;
  /** Called with each line of the output. */
  onLine?: (line: string) => void;
  /** Whether players come first. Default: true. */
  isQuiet?: boolean;
}

/**
 * Opens restic repositories. Each backup is a snapshot with one file, a plain tar, so that restic stores only pieces
 * that it does not have yet. Snapshots carry the installation as their host, so that several may share a repository.
 */
export function createRestics(settings: ResticAccess, secret: Secret, clock: Clock, log: Log) {
  const { backupStore, resticPassword, dataDir } = settings;
  const passwordFile = resolve(join(dataDir, PASSWORD_FILE));
  let quiet = ['nice', '-n', '10'];

  function environmentFor(location: string): NodeJS.ProcessEnv {
    // Only the current setting has its credentials.
    const given = backupStore !== null && withoutCredentials(backupStore) === location ? backupStore : location;
    const repository = given.slice(PREFIX.length);
    const { s3Region, s3AccessKeyId, s3SecretAccessKey } = settings;
    const s3 = { AWS_ACCESS_KEY_ID: s3AccessKeyId, AWS_SECRET_ACCESS_KEY: s3SecretAccessKey };
    return {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      ...settings.resticEnvironment,
      ...(repository.startsWith('s3:') && s3AccessKeyId !== '' && { ...s3, AWS_DEFAULT_REGION: s3Region }),
      ...(resticPassword === '' ? { RESTIC_PASSWORD_FILE: passwordFile } : { RESTIC_PASSWORD: resticPassword }),
      RESTIC_REPOSITORY: repository,
      RESTIC_CACHE_DIR: resolve(join(dataDir, 'restic-cache')),
      // If this process is killed, restic ends with the next line of progress, which nobody reads.
      RESTIC_PROGRESS_FPS: '2',
    };
  }

  /** Starts restic for a repository. */
  function starter(location: string) {
    const env = environmentFor(location);
    const hidden = backupStore === null ? '' : (/:\/\/([^/@\s]*@)/.exec(backupStore)?.[1] ?? '');
    return (args: readonly string[], { stdin, signal, isQuiet = true }: Running = {}) => {
      const [program = '', ...rest] = [...(isQuiet ? quiet : []), 'restic', ...args];
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
      signal?.addEventListener('abort', end, { once: true });
      if (signal?.aborted) end();
      const ended = once(child, 'close').then(([code]) => {
        signal?.removeEventListener('abort', end);
        signal?.throwIfAborted();
        if (code === 0) return;
        const message = (hidden === '' ? said : said.replaceAll(hidden, '')).slice(0, MOST_ERROR_CHARS).trim();
        throw new ResticFailed(message || `restic ended with ${code}`);
      });
      ended.catch(() => {});
      return { output, ended, end };
    };
  }

  /** Resolves with the output. */
  async function run(location: string, args: readonly string[], options: Running = {}): Promise<string> {
    const { output, ended } = starter(location)(args, options);
    if (options.onLine) {
      const lines = createInterface({ input: output });
      for await (const line of lines) options.onLine(line);
      await ended;
      return '';
    }
    const [all] = await Promise.all([text(output), ended]);
    return all;
  }

  return {
    /**
     * Checks the program, and opens the repository or creates it. Rejects like `StoreCheck.passed`. Without
     * RESTIC_PASSWORD, creates a password in DATA_DIR first.
     */
    async check(location: string): Promise<void> {
      const version = await run(location, ['version'], { isQuiet: false }).catch((error: unknown) => {
        throw refused(`BACKUP_STORE is ${location}, but restic does not run here: ${INSTALL}.`, error);
      });
      const [, major = '0', minor = '0'] = /^restic (\d+)\.(\d+)/.exec(version) ?? [];
      if (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1])
        throw refused(`BACKUP_STORE needs a newer restic than ${major}.${minor}: ${INSTALL}.`);
      const idle = ['ionice', '-c', '3'];
      quiet = (await runs([...idle, 'true'])) ? ['nice', '-n', '10', ...idle] : ['nice', '-n', '10'];
      if (resticPassword === '' && (await readIfThere(passwordFile)) === undefined) {
        await writeAtomic(passwordFile, `${randomBytes(24).toString('base64url')}\n`, { durable: true });
        log.warn(
          { file: passwordFile },
          'a password for the backups’ repository was created. Copy it elsewhere: without it, the backups cannot be read',
        );
      }
      try {
        await run(location, ['cat', 'config', '--no-lock'], { isQuiet: false });
      } catch (error) {
        if (isSaid(error, IS_WRONG_PASSWORD))
          throw refused(
            `The password does not open the repository ${location}. Set RESTIC_PASSWORD to the one that it was created with.`,
            error,
          );
        if (!isSaid(error, HAS_NO_REPOSITORY)) throw storeAway(error);
        await run(location, ['init'], { isQuiet: false }).catch((cause: unknown) => {
          throw storeAway(cause);
        });
        log.info({ store: location }, 'the repository of backups was created');
      }
    },

    /** Opens a repository without checking it. */
    open: (location: string): ArchiveStore =>
      createStore({
        start: starter(location),
        run: (args, options) => run(location, args, options),
        host: `dormouse-${createHash('sha256').update(installationOf(secret, PREFIX)).digest('hex').slice(0, 12)}`,
        clock,
      }),
  };
}

function createStore({
  start,
  run,
  host,
  clock,
}: {
  start: (args: readonly string[], options?: Running) => { output: Readable; ended: Promise<void>; end: () => void };
  run: (args: readonly string[], options?: Running) => Promise<string>;
  /** The installation, as the host of its snapshots. */
  host: string;
  clock: Clock;
}): ArchiveStore {
  // Removing and pruning lock the repository exclusively, so they do not overlap with uploads.
  const withTurn = createMutex();
  let pruning: AbortController | undefined;

  const away = (error: unknown): never => {
    throw error instanceof StatusError ? error : storeAway(error);
  };
  const filter = ({ serverId, id }: Ref) => ['--host', host, '--tag', `server=${serverId},backup=${id}`];

  async function snapshotsOf(which: readonly string[]): Promise<Snapshot[]> {
    return JSON.parse(await run(['snapshots', '--json', '--no-lock', ...which], { isQuiet: false })) as Snapshot[];
  }

  /** Removes locks of ended processes. Never those of running ones, here or on other machines. */
  const unlock = () => run(['unlock'], { isQuiet: false });

  /** Runs a command once more if the lock of an ended process was in its way. */
  async function unlocked<T>(command: () => Promise<T>): Promise<T> {
    return await command().catch(async (error: unknown) => {
      if (!isSaid(error, IS_LOCKED)) throw error;
      await unlock();
      return await command();
    });
  }

  async function* dump({ serverId, id, format }: BackupRow, start_: number): AsyncGenerator<Buffer> {
    const args = ['dump', ...filter({ serverId, id }), 'latest', fileName(id, format)];
    for (let tries = 1; ; tries++) {
      const { output, ended, end } = start(args, { isQuiet: false });
      let skipped = 0;
      try {
        // Not destroyed when the reader stops: a closed pipe would kill restic before it has removed its lock.
        for await (const chunk of output.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
          const skip = Math.min(chunk.length, start_ - skipped);
          skipped += skip;
          if (skip < chunk.length) yield chunk.subarray(skip);
        }
        return await ended;
      } catch (error) {
        if (isSaid(error, HAS_NO_SNAPSHOT)) throw filesMissing(id);
        if (!isSaid(error, IS_LOCKED) || tries === LOCK_TRIES) return away(error);
        await unlock().catch(away);
        await sleep(clock, LOCK_PAUSE_MS);
      } finally {
        end();
        output.resume();
      }
    }
  }

  return {
    send: ({ at, store }, { row, backup, file, sizeBytes }, signal) =>
      withTurn(async () => {
        const { serverId, id, format } = backup;
        await at('upload-begun');
        // The process was killed between the end of the upload and its record.
        if ((await snapshotsOf(filter(backup)).catch(away)).length > 0) return sizeBytes;
        const accounts = await store.query<{ accountId: string }>('SELECT "accountId" FROM "servers" WHERE "id" = $1', [
          row.serverId,
        ]);
        const tags = [`server=${serverId}`, `backup=${id}`, ...accounts.map((each) => `account=${each.accountId}`)];
        let summary: Summary | undefined;
        const onLine = (line: string) => {
          const message = JSON.parse(line) as { message_type: string } & Summary;
          if (message.message_type === 'summary') summary = message;
          else void at('part-sent');
        };
        const args = ['backup', '--json', '--host', host, '--stdin', '--stdin-filename', fileName(id, format)];
        for (const tag of tags) args.push('--tag', tag);
        await unlocked(() => run(args, { stdin: file.fd, signal, onLine })).catch((error: unknown) => {
          signal.throwIfAborted();
          return away(error);
        });
        if (summary?.total_bytes_processed !== sizeBytes) {
          await forget(backup).catch(away);
          throw new Error('restic has read another number of bytes than the archive has');
        }
        await at('upload-completed');
        return Math.min(sizeBytes, summary.data_added_packed ?? summary.data_added);
      }, signal),

    async sizeOf(backup) {
      const args = ['ls', '--json', '--no-lock', ...filter(backup), 'latest'];
      const listed = await run(args, { isQuiet: false }).catch((error: unknown) =>
        isSaid(error, HAS_NO_SNAPSHOT) ? '' : away(error),
      );
      const nodes = listed.split('\n').filter(Boolean);
      return nodes.map((line) => (JSON.parse(line) as { size?: number }).size).find((size) => size !== undefined);
    },

    async *read(backup, { start: from, end }) {
      // A restore keeps a server down, so it does not wait for a prune.
      pruning?.abort();
      let left = end - from + 1;
      for await (const chunk of dump(backup, from)) {
        yield chunk.length > left ? chunk.subarray(0, left) : chunk;
        left -= chunk.length;
        if (left <= 0) return;
      }
      if (left > 0) throw filesMissing(backup.id);
    },

    remove: (ref) => withTurn(() => unlocked(() => forget(ref))).catch(away),

    async list() {
      const all = await snapshotsOf(['--host', host]).catch(away);
      return all.slice(0, MOST_LISTED).map(({ time, tags = [] }) => {
        const [server = '', backup = ''] = ['server=', 'backup='].map((key) => valueOf(tags, key));
        return { id: `${server}/${backup}`, at: Date.parse(time) };
      });
    },

    /** An unfinished backup has no snapshot: the next prune removes its pieces. */
    sweep: () => unlock().then(() => undefined, away),

    compact: (signal) =>
      withTurn(async () => {
        pruning = new AbortController();
        try {
          await unlocked(() => run(PRUNE, { signal: AbortSignal.any([signal, pruning!.signal]) }));
        } catch (error) {
          // A read was more important.
          if (!pruning.signal.aborted) away(error);
        } finally {
          pruning = undefined;
        }
      }, signal),

    isGone: (error) => isSaid((error as Error).cause, HAS_NO_REPOSITORY),
  };

  async function forget(ref: Ref): Promise<void> {
    const ids = (await snapshotsOf(filter(ref))).map(({ id }) => id);
    if (ids.length > 0) await run(['forget', ...ids]);
  }
}

const MOST_LISTED = 10_000;

/** The last line of a backup's output. */
interface Summary {
  total_bytes_processed: number;
  /** Before compression. */
  data_added: number;
  /** Newer releases only: after compression. */
  data_added_packed?: number;
}

function fileName(id: string, format: string): string {
  return `${id}.${format}`;
}

function valueOf(tags: readonly string[], key: string): string {
  return tags.find((tag) => tag.startsWith(key))?.slice(key.length) ?? '';
}

function isSaid(error: unknown, what: RegExp): boolean {
  return error instanceof ResticFailed && what.test(error.message);
}

async function runs([program = '', ...args]: readonly string[]): Promise<boolean> {
  const child = spawn(program, args, { stdio: 'ignore' });
  return await once(child, 'close').then(
    ([code]) => code === 0,
    () => false,
  );
}
