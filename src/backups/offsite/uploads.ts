import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import type { Log } from '../../kernel/log.ts';
import { sleep } from '../../kernel/sleep.ts';
import { abortable, withTimeout } from '../../kernel/timeout.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/units.ts';
import type { Tx } from '../../store/store.ts';
import type { Sql } from '../../store/writer.ts';
import type { Base } from '../base.ts';
import { isRefused } from '../errors.ts';
import type { Ref } from '../rows.ts';
import type { OffSite } from './offsite.ts';
import * as rows from './rows.ts';
import { uploadArchive } from './upload.ts';

const CLOSE_MS = 5_000;
/** Removed by one call of the store. */
const MOST_REMOVED = 500;
/** Removals from one location. */
type Removals = [rows.OffsiteRemovalRow, ...rows.OffsiteRemovalRow[]];
/** The hour of the day, by the machine's time zone, in which the store's space is freed. */
const QUIET_HOUR = 4;

/**
 * Uploads finished backups from the folder, and removes off-site archives that are no longer needed.
 *
 * A backup stays in the folder, and can be restored, until its upload is complete and recorded in its row. After any
 * failure or a killed process, an upload begins anew; the store already has most of its pieces then. Pending work is
 * stored as rows and retried until it is done.
 */
export class Uploads {
  readonly #base: Base;
  readonly #offSite: OffSite;
  readonly #closing = new AbortController();
  readonly #uploads: Queue;
  readonly #removals: Queue;
  #current: { ref: Ref; call: AbortController; ended: Promise<void> } | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopHourly = (): void => {};
  #stopWatch = (): void => {};

  constructor(base: Base, offSite: OffSite) {
    this.#base = base;
    this.#offSite = offSite;
    const { clock, log } = base;
    const { signal } = this.#closing;
    const onFailed = (error: unknown, count: number) => {
      const level = isRefused(error) ? 'error' : 'warn';
      log[level]({ err: error, count }, 'backups could not be uploaded off site or removed there; trying again');
    };
    this.#uploads = createQueue({
      clock,
      signal,
      list: () => this.#uploadsOwed(),
      keyOf: ({ serverId, backupId }) => `${serverId}/${backupId}`,
      work: (row) => this.#uploadUnlessCancelled(row),
      onFailed,
    });
    this.#removals = createQueue({
      clock,
      signal,
      list: () => this.#removalsOwed(),
      keyOf: ([{ location }]) => location,
      work: (batch) => this.#removeUnlessGone(batch),
      onFailed,
    });
  }

  /** Records a new backup's upload if an off-site place is set. Called in the write that makes the backup `ready`. */
  async owe(tx: Tx, { serverId, id: backupId }: Ref): Promise<void> {
    const { location } = this.#offSite;
    if (location !== '') await rows.insertUpload(tx, { serverId, backupId, location, at: this.#base.clock.now() });
  }

  /**
   * Records the removal of a backup's archive, or of all of a server. Called in the write that removes them from the
   * list.
   */
  forget(tx: Tx, of: rows.OneOrAll): Promise<void> {
    return rows.noteRemovals(tx, of, this.#base.clock.now());
  }

  /** Cancels a running upload of a backup, or of a server. It is not restarted once its row is gone. */
  async cancel({ serverId, id }: rows.OneOrAll): Promise<void> {
    const current = this.#current;
    if (current?.ref.serverId !== serverId || (id !== undefined && current.ref.id !== id)) return;
    current.call.abort();
    await current.ended;
  }

  /** Resumes the work of the previous process. */
  start(): void {
    const { store, clock, log } = this.#base;
    this.#stopWatch = watchLateness(store, clock, log);
    this.#stopHourly = every(clock, HOUR_MS, () => {
      if (this.#offSite.location !== '' && new Date(clock.now()).getHours() === QUIET_HOUR) void this.#compact();
    });
    this.#running = Promise.all([this.#uploads.run(), this.#removals.run()]);
  }

  /** Checks for new work at once. */
  kick(): void {
    this.#uploads.kick();
    this.#removals.kick();
  }

  async close(): Promise<void> {
    this.#stopHourly();
    this.#stopWatch();
    this.#closing.abort();
    // Unanswered requests are left to the next process.
    await withTimeout(this.#running, CLOSE_MS, { late: () => undefined });
  }

  /** Frees space in the store. If that fails, the next night tries again. */
  async #compact(): Promise<void> {
    try {
      await this.#offSite.passed();
      await this.#offSite.store(this.#offSite.location).compact(this.#closing.signal);
    } catch (error) {
      if (!this.#closing.signal.aborted)
        this.#base.log.warn({ err: error }, 'the space of removed backups off site could not be freed yet');
    }
  }

  async #uploadsOwed(): Promise<rows.BackupUploadRow[]> {
    const owed = await rows.listUploads(this.#base.store);
    if (owed.length > 0) await abortable(this.#offSite.passed(), this.#closing.signal);
    return owed;
  }

  /** Returns the pending removals of each location, up to MOST_REMOVED. */
  async #removalsOwed(): Promise<Removals[]> {
    const owed = await rows.listRemovals(this.#base.store);
    if (owed.length > 0) await abortable(this.#offSite.passed(), this.#closing.signal);
    const batches = Object.values(Object.groupBy(owed, ({ location }) => location)) as Removals[];
    return batches.map((batch) => batch.slice(0, MOST_REMOVED) as Removals);
  }

  /**
   * Removes archives off site. If a store of earlier settings is missing, its content is gone, so the removal is done. A
   * missing store for new backups must be created again.
   */
  async #removeUnlessGone(batch: Removals): Promise<void> {
    const { store, log, at } = this.#base;
    const [{ location }] = batch;
    const archives = this.#offSite.store(location);
    try {
      await archives.remove(batch.map(({ serverId, backupId: id }) => ({ serverId, id })));
      await at('object-removed');
    } catch (error) {
      if (location === this.#offSite.location || !archives.isGone(error)) throw error;
      log.warn({ location }, 'a store of earlier settings no longer exists; removals of backups from it are dropped');
    }
    await store.write(async (tx) => {
      for (const row of batch) await rows.deleteRemoval(tx, row);
    });
    if (batch.length === MOST_REMOVED) this.#removals.kick();
  }

  async #uploadUnlessCancelled(listed: rows.BackupUploadRow): Promise<void> {
    const row = await rows.getUpload(this.#base.store, listed);
    if (row === undefined) return;
    const call = new AbortController();
    const ref = { serverId: row.serverId, id: row.backupId };
    const signal = AbortSignal.any([call.signal, this.#closing.signal]);
    const work = uploadArchive(this.#base, this.#offSite, row, signal);
    this.#current = { ref, call, ended: work.catch(() => {}) };
    try {
      await work;
    } catch (error) {
      if (!call.signal.aborted) throw error;
    } finally {
      this.#current = undefined;
    }
  }
}

/** How long a backup may wait for its upload. A large world on a slow connection takes a while. */
const LATE_MS = 6 * HOUR_MS;
const LOOK_MS = 10 * MINUTE_MS;

/**
 * Logs an error for operators once backups have waited six hours for their upload, repeats it daily, and logs when it
 * is over.
 */
export function watchLateness(db: Sql, clock: Clock, log: Log): () => void {
  let reportedAt: number | undefined;
  async function checkLate(): Promise<void> {
    const { count, since } = await rows.countUploads(db);
    const now = clock.now();
    if (since === null || now - since < LATE_MS) {
      if (reportedAt !== undefined) log.info({ waiting: count }, 'backups are uploaded off site again');
      reportedAt = undefined;
      return;
    }
    if (reportedAt !== undefined && now - reportedAt < DAY_MS) return;
    reportedAt = now;
    const hours = Math.floor((now - since) / HOUR_MS);
    log.error({ waiting: count, hours }, 'backups are waiting for their off-site upload and accumulate in the folder');
  }
  return every(clock, LOOK_MS, () => {
    checkLate().catch((error: unknown) =>
      log.warn({ err: error }, 'the waiting time of off-site uploads could not be checked'),
    );
  });
}

/** Pauses after failures grow from this to MOST_RETRY_MS. */
const RETRY_MS = 5_000;
const MOST_RETRY_MS = 600_000;
/** The key for failures of `list`. */
const ALL = '';

interface Pause {
  ms: number;
  /** End of the pause, by the clock. */
  until: number;
}

type Queue = ReturnType<typeof createQueue>;

/**
 * Processes pending rows, one after the other. Each failed row is retried after its own pause and does not delay other
 * rows.
 */
function createQueue<Row>({
  clock,
  signal,
  list,
  keyOf,
  work,
  onFailed,
}: {
  clock: Clock;
  /** Ends the queue once the current work has ended. */
  signal: AbortSignal;
  /** Returns the work to do, in order. If it rejects, it is called again later. */
  list: () => Promise<readonly Row[]>;
  /** Identifies a row; never ''. */
  keyOf: (row: Row) => string;
  work: (row: Row) => Promise<void>;
  /** Called with the first error of a round and the number of errors. */
  onFailed: (error: unknown, count: number) => void;
}) {
  const pauses = new Map<string, Pause>();
  let kicked = new AbortController();

  async function round(): Promise<void> {
    const errors: unknown[] = [];
    const trying = async (key: string, attempt: () => Promise<void>) => {
      try {
        await attempt();
        pauses.delete(key);
      } catch (error) {
        errors.push(error);
        const ms = Math.min(2 * (pauses.get(key)?.ms ?? RETRY_MS / 2), MOST_RETRY_MS);
        pauses.set(key, { ms, until: clock.now() + ms });
      }
    };
    await trying(ALL, async () => {
      const rows = await list();
      const keys = new Set([ALL, ...rows.map(keyOf)]);
      for (const key of pauses.keys()) if (!keys.has(key)) pauses.delete(key);
      for (const row of rows) {
        if (signal.aborted) return;
        const key = keyOf(row);
        if ((pauses.get(key)?.until ?? 0) <= clock.now()) await trying(key, () => work(row));
      }
    });
    if (errors.length > 0 && !signal.aborted) onFailed(errors[0], errors.length);
  }

  return {
    /** Checks for new work at once. */
    kick: () => kicked.abort(),

    /** Resolves once the signal has fired and the last work has ended. */
    async run(): Promise<void> {
      while (!signal.aborted) {
        kicked = new AbortController();
        const woken = AbortSignal.any([kicked.signal, signal]);
        await round();
        const next = Math.min(...[...pauses.values()].map(({ until }) => until));
        // Waits indefinitely if there is nothing to retry.
        await (next === Infinity ? fired(woken) : sleep(clock, next - clock.now(), woken).catch(() => {}));
      }
    },
  };
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Time limit for listing leftovers in an unresponsive store. */
const LIST_MS = 10_000;

/** Archives off site that the database does not know, because it was lost or restored to an earlier state. */
export class LeftOver {
  readonly #base: Base;
  readonly #offSite: OffSite;
  readonly #uploads: Uploads;

  constructor(base: Base, offSite: OffSite, uploads: Uploads) {
    this.#base = base;
    this.#offSite = offSite;
    this.#uploads = uploads;
  }

  /**
   * Returns the first 10 000 archives at the place of new backups, as `<server>/<backup>`; `at`: epoch ms. Empty if
   * backups stay in the folder. Rejects with UNAVAILABLE BACKUP_STORE_AWAY, after ten seconds at most.
   */
  async list(): Promise<{ id: string; at: number }[]> {
    const { location } = this.#offSite;
    if (location === '') return [];
    const archives = await withTimeout(this.#offSite.store(location).list(), LIST_MS);
    // Queried after the archives, because a backup's row exists before its archive.
    const known = await rows.listKnown(this.#base.store, location);
    return archives.filter(({ id }) => !known.has(id));
  }

  /**
   * Records, in one write with `also`, that an archive must be removed; that is retried until it succeeds. Returns
   * false if a backup uses the archive after all.
   */
  async remove(id: string, also: (tx: Tx) => Promise<void>): Promise<boolean> {
    const { location } = this.#offSite;
    const { store, clock } = this.#base;
    const [serverId = '', backupId = ''] = id.split('/');
    const isNoted = await store.write(async (tx) => {
      if ((await rows.listKnown(tx, location)).has(id)) return false;
      await rows.insertRemoval(tx, { location, serverId, backupId, at: clock.now() });
      await also(tx);
      return true;
    });
    this.#uploads.kick();
    return isNoted;
  }
}
