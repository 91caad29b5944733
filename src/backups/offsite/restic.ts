import { createHash, randomBytes } from 'node:crypto';
import { readIfThere, writeAtomic } from '../../kernel/atomic-file.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { createMutex } from '../../kernel/mutex.ts';
import { StatusError } from '../../kernel/status.ts';
import { HOUR_MS, MINUTE_MS } from '../../kernel/units.ts';
import type { Secret } from '../../store/secret.ts';
import { filesMissing, refused, storeAway } from '../errors.ts';
import type { Base } from '../base.ts';
import { type Ref, keyOf } from '../rows.ts';
import type { ArchiveStore, ByteRange, Sending } from './archive-store.ts';
import { type Restic, type ResticAccess, createRestic, isSaid, passwordFileOf } from './restic-process.ts';

const OLDEST: readonly [number, number] = [0, 14];
const INSTALL = 'install restic 0.14 or later, for example with: apt install restic';
/** The time limits of restic: for a question, a removal, a moment without progress of an archive, and for freeing space. */
const [ASK_MS, REMOVE_MS, STALL_MS, COMPACT_MS] = [MINUTE_MS, 10 * MINUTE_MS, 20 * MINUTE_MS, 2 * HOUR_MS];
/** One run frees at most about this much, so that it ends. */
const PRUNE = ['prune', '--max-unused', '10%', '--max-repack-size', '2G'];

const IS_LOCKED = /repository is already locked|unable to create lock/;
const IS_WRONG_PASSWORD = /wrong password or no key found/;
/** Not said of a store that is unreachable. */
const HAS_NO_REPOSITORY =
  /unable to open config file:.*(?:no such file|does not exist|doesn't exist|NoSuchKey|NoSuchBucket|not ?found)/i;
const IS_FORBIDDEN = /access denied|access key|signature|forbidden|unauthorized|permission denied|\b40[13]\b/i;
const HAS_NO_SNAPSHOT = /no snapshot found|no snapshot matched|not found in snapshot/;

/** A snapshot as restic lists it. */
interface Snapshot {
  id: string;
  time: string;
  tags?: string[];
}

/**
 * Opens restic repositories. Each backup is a snapshot with one file, a plain tar, so that restic stores only pieces
 * that it does not have yet. Snapshots carry the installation as their host, so that several may share a repository.
 */
export function createRestics(settings: ResticAccess, secret: Secret, clock: Clock, log: Log) {
  const at = createRestic(settings);
  return {
    /**
     * Checks the program, and opens the repository. Creates it if it is missing and `hasArchives` reports that no
     * backups were there. Rejects like `OffSite.passed`. Without RESTIC_PASSWORD, creates a password in DATA_DIR first.
     */
    async check(location: string, hasArchives: () => Promise<boolean>): Promise<void> {
      const { run } = at(location);
      const asking = { limitMs: ASK_MS };
      const version = await run(['version'], asking).catch((error: unknown) => {
        throw refused(`BACKUP_STORE is ${location}, but restic does not run here: ${INSTALL}.`, error);
      });
      const [, major = '0', minor = '0'] = /^restic (\d+)\.(\d+)/.exec(version) ?? [];
      if (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1])
        throw refused(`BACKUP_STORE needs a newer restic than ${major}.${minor}: ${INSTALL}.`);
      const passwordFile = passwordFileOf(settings);
      if (settings.resticPassword === '' && (await readIfThere(passwordFile)) === undefined) {
        await writeAtomic(passwordFile, `${randomBytes(24).toString('base64url')}\n`, { durable: true });
        log.warn(
          { file: passwordFile },
          'a password for the backups’ repository was created. Copy it elsewhere: without it, the backups cannot be read',
        );
      }
      try {
        await run(['cat', 'config', '--no-lock'], asking);
      } catch (error) {
        if (!isSaid(error, HAS_NO_REPOSITORY)) throw refusalOf(location, error);
        if (await hasArchives())
          throw storeAway(new Error(`the repository ${location} is missing, but backups were stored there`));
        await run(['init'], asking).catch((cause: unknown) => {
          throw refusalOf(location, cause);
        });
        log.info({ store: location }, 'the repository of backups was created');
      }
    },

    /** Opens a repository without checking it. */
    open: (location: string): ArchiveStore =>
      createStore({
        ...at(location),
        host: `dormouse-${createHash('sha256').update(secret.derive('backup-store', 'restic')).digest('hex').slice(0, 12)}`,
        clock,
      }),
  };
}

function refusalOf(location: string, error: unknown): StatusError {
  if (isSaid(error, IS_WRONG_PASSWORD))
    return refused(
      `The password does not open the repository ${location}. Set RESTIC_PASSWORD to the one that it was created with.`,
      error,
    );
  if (!isSaid(error, IS_FORBIDDEN)) return storeAway(error);
  return refused(
    `The repository ${location} does not accept the credentials. Correct those of its backend, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`,
    error,
  );
}

/**
 * Opens a repository. Each call of restic costs about a second of CPU for its key, so questions and removals are few.
 *
 * Reading takes no lock: a lock that a killed program has left never delays a restore, and every archive is verified
 * when it is unpacked. Space is freed only while this process reads nothing.
 */
function createStore({
  start,
  run,
  host,
  clock,
}: Restic & {
  /** The installation, as the host of its snapshots. */
  host: string;
  clock: Clock;
}): ArchiveStore {
  // Removing and freeing space lock the repository exclusively, so they do not overlap with uploads.
  const withTurn = createMutex();
  const openedAt = clock.now();
  /** Archives that may be in the repository although their upload failed. */
  const tried = new Set<string>();
  let readers = 0;
  let compacting: { stop: AbortController; ended: Promise<unknown> } | undefined;

  const away = (error: unknown): never => {
    throw error instanceof StatusError ? error : storeAway(error);
  };
  const filter = ({ serverId, id }: Ref) => ['--host', host, '--tag', `server=${serverId},backup=${id}`];

  async function snapshotsOf(which: readonly string[]): Promise<Snapshot[]> {
    return JSON.parse(await run(['snapshots', '--json', '--no-lock', ...which], { limitMs: ASK_MS })) as Snapshot[];
  }

  /**
   * Runs a command, and once more if a lock was in its way that `restic unlock` removes: one of an ended process of this
   * machine, or of one that has not renewed it for half an hour.
   */
  async function unlocked(command: () => Promise<unknown>): Promise<void> {
    try {
      await command();
    } catch (error) {
      if (!isSaid(error, IS_LOCKED)) throw error;
      await run(['unlock'], { limitMs: REMOVE_MS });
      await command();
    }
  }

  async function removeWhere(which: readonly string[], isDoomed: (id: string) => boolean): Promise<void> {
    const ids = (await snapshotsOf(which)).filter((each) => isDoomed(archiveOf(each))).map(({ id }) => id);
    if (ids.length > 0) await unlocked(() => run(['forget', ...ids], { limitMs: REMOVE_MS }));
  }

  /** Runs a read. A restore keeps a server down, so it does not wait until space has been freed. */
  async function* reading<T>(read: () => AsyncIterable<T>): AsyncGenerator<T> {
    readers += 1;
    try {
      compacting?.stop.abort();
      await compacting?.ended;
      yield* read();
    } catch (error) {
      away(error);
    } finally {
      readers -= 1;
    }
  }

  async function* dump(backup: Ref & { format: string }, { start: from, end: to }: ByteRange): AsyncGenerator<Buffer> {
    const args = ['dump', '--no-lock', ...filter(backup), 'latest', fileName(backup)];
    const { output, ended, end, goesOn } = start(args, { limitMs: STALL_MS });
    let [skip, left] = [from, to - from + 1];
    try {
      for await (const chunk of output as AsyncIterable<Buffer>) {
        goesOn();
        const bytes = chunk.subarray(skip, skip + left);
        skip = Math.max(0, skip - chunk.length);
        left -= bytes.length;
        if (bytes.length > 0) yield bytes;
        if (left === 0) return;
      }
      await ended;
    } catch (error) {
      throw isSaid(error, HAS_NO_SNAPSHOT) ? filesMissing(backup.id) : error;
    } finally {
      end();
    }
    throw filesMissing(backup.id);
  }

  async function* sizes(backup: Ref): AsyncGenerator<number> {
    const args = ['ls', '--json', '--no-lock', ...filter(backup), 'latest'];
    const listed = await run(args, { limitMs: ASK_MS }).catch((error: unknown) => {
      if (isSaid(error, HAS_NO_SNAPSHOT)) return '';
      throw error;
    });
    for (const line of listed.split('\n').filter(Boolean)) {
      const { size } = JSON.parse(line) as { size?: number };
      if (size !== undefined) yield size;
    }
  }

  async function send(base: Base, { backup, accountId, at: since, file }: Sending, signal: AbortSignal) {
    const { serverId, id, sizeBytes } = backup;
    await base.at('upload-begun');
    // A killed process, or a lost answer, may have left the snapshot without its record.
    const isRepeated = tried.has(id) || since < openedAt;
    if (isRepeated && (await snapshotsOf(filter(backup))).length > 0) return sizeBytes;
    tried.add(id);
    let [summary, done] = [undefined as Summary | undefined, 0];
    const onLine = (line: string): boolean => {
      const message = JSON.parse(line) as { message_type: string; bytes_done?: number } & Summary;
      if (message.message_type === 'summary') summary = message;
      else void base.at('part-sent');
      const isProgress = (message.bytes_done ?? 0) > done;
      done = Math.max(done, message.bytes_done ?? 0);
      return isProgress;
    };
    const args = ['backup', '--json', '--host', host, '--stdin', '--stdin-filename', fileName(backup)];
    for (const tag of [`server=${serverId}`, `backup=${id}`, `account=${accountId}`]) args.push('--tag', tag);
    await unlocked(() => run(args, { stdin: file, signal, onLine, limitMs: STALL_MS, isQuiet: true }));
    if (summary?.total_bytes_processed !== sizeBytes) {
      await removeWhere(filter(backup), () => true);
      throw new Error('restic has read another number of bytes than the archive has');
    }
    await base.at('upload-completed');
    tried.delete(id);
    return Math.min(sizeBytes, summary.data_added_packed ?? summary.data_added);
  }

  return {
    send: (base, sending, signal) =>
      withTurn(() => send(base, sending, signal), signal).catch((error: unknown) => {
        signal.throwIfAborted();
        return away(error);
      }),

    async sizeOf(backup) {
      for await (const size of reading(() => sizes(backup))) return size;
      return undefined;
    },

    read: (backup, range) => reading(() => dump(backup, range)),

    remove(refs) {
      const doomed = new Set(refs.map(keyOf));
      return withTurn(() => removeWhere(['--host', host], (id) => doomed.has(id))).catch(away);
    },

    async list() {
      const all = await snapshotsOf(['--host', host]).catch(away);
      return all.slice(0, MOST_LISTED).map((each) => ({ id: archiveOf(each), at: Date.parse(each.time) }));
    },

    compact: (signal) =>
      withTurn(async () => {
        if (readers > 0) return;
        const stop = new AbortController();
        const either = AbortSignal.any([signal, stop.signal]);
        const ended = unlocked(() => run(PRUNE, { limitMs: COMPACT_MS, signal: either, isQuiet: true }));
        compacting = { stop, ended: ended.catch(() => {}) };
        await ended
          .catch((error: unknown) => {
            if (!stop.signal.aborted) away(error);
          })
          .finally(() => (compacting = undefined));
      }, signal),

    isGone: (error) => isSaid((error as Error).cause, HAS_NO_REPOSITORY),
  };
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

function fileName({ id, format }: { id: string; format: string }): string {
  return `${id}.${format}`;
}

/** Returns `<server>/<backup>` of a snapshot. */
function archiveOf({ tags = [] }: Snapshot): string {
  return ['server=', 'backup=']
    .map((key) => tags.find((tag) => tag.startsWith(key))?.slice(key.length) ?? '')
    .join('/');
}
