import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import type { Log } from '../../kernel/log.ts';
import { abortable, withTimeout } from '../../kernel/timeout.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/units.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { BackupRow } from '../rows.ts';
import { type ArchiveUploadOptions, uploadArchive } from './archive-upload.ts';
import { isRefused } from './check.ts';
import { type UploadQueue, createUploadQueue } from './upload-queue.ts';
import { isArchiveKey, keyIn, placeOf } from './offsite.ts';
import * as rows from './rows.ts';
import { countUploads } from './rows.ts';
import { isBucketGone } from './s3-failure.ts';

const CLOSE_MS = 5_000;

type Ref = Pick<BackupRow, 'serverId' | 'id'>;

export interface UploadsOptions extends ArchiveUploadOptions {
  clock: Clock;
}

/**
 * Uploads finished backups from the folder, and removes off-site archives that are no longer needed.
 *
 * A backup stays in the folder, and can be restored, until its upload is complete and recorded in its row. After any
 * failure or a killed process, an upload resumes with the parts that the bucket has. Pending work is stored as rows and
 * retried until it is done. Removals do not wait for uploads.
 */
export class Uploads {
  readonly #options: UploadsOptions;
  readonly #closing = new AbortController();
  readonly #uploads: UploadQueue;
  readonly #removals: UploadQueue;
  #current: { ref: Ref; call: AbortController; ended: Promise<void> } | undefined;
  #isSwept = false;
  #running: Promise<unknown> = Promise.resolve();
  #stopDaily = (): void => {};
  #stopWatch = (): void => {};

  constructor(options: UploadsOptions) {
    this.#options = options;
    const { clock, log } = options;
    const { signal } = this.#closing;
    const onFailed = (error: unknown, count: number) => {
      const level = isRefused(error) ? 'error' : 'warn';
      log[level]({ err: error, count }, 'backups could not be uploaded off site or removed there; trying again');
    };
    this.#uploads = createUploadQueue({
      clock,
      signal,
      list: () => this.#uploadsOwed(),
      keyOf: ({ serverId, backupId }) => `${serverId}/${backupId}`,
      work: (row) => this.#uploadUnlessCancelled(row),
      onFailed,
    });
    this.#removals = createUploadQueue({
      clock,
      signal,
      list: () => this.#removalsOwed(),
      keyOf: ({ location, serverId, backupId }) => `${location} ${serverId}/${backupId}`,
      work: (row) => this.#removeUnlessGone(row),
      onFailed,
    });
  }

  /** Records a new backup's upload if an off-site place is set. Called in the write that makes the backup `ready`. */
  async owe(tx: Tx, { serverId, id: backupId }: Ref): Promise<void> {
    const { clock, offSite } = this.#options;
    const { location } = offSite;
    if (location !== '') await rows.insertUpload(tx, { serverId, backupId, location, at: clock.now() });
  }

  /**
   * Records the removal of a backup's archive, or of all of a server. Called in the write that removes them from the
   * list.
   */
  forget(tx: Tx, of: rows.OneOrAll): Promise<void> {
    return rows.noteRemovals(tx, of, this.#options.clock.now());
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
    this.#stopWatch = watchLateness(this.#options);
    this.#stopDaily = every(this.#options.clock, DAY_MS, () => {
      this.#isSwept = false;
      this.kick();
    });
    this.#running = Promise.all([this.#uploads.run(), this.#removals.run()]);
  }

  /** Checks for new work at once. */
  kick(): void {
    this.#uploads.kick();
    this.#removals.kick();
  }

  async close(): Promise<void> {
    this.#stopDaily();
    this.#stopWatch();
    this.#closing.abort();
    // Unanswered requests are left to the next process.
    await withTimeout(this.#running, CLOSE_MS, { late: () => undefined });
  }

  async #uploadsOwed(): Promise<rows.BackupUploadRow[]> {
    const { store, offSite } = this.#options;
    await abortable(offSite.passed(), this.#closing.signal);
    // Runs first, so that no upload of this process counts as an orphan.
    if (!this.#isSwept && offSite.location !== '') await this.#sweep();
    this.#isSwept = true;
    return await rows.listUploads(store);
  }

  async #removalsOwed(): Promise<rows.OffsiteRemovalRow[]> {
    const { store, offSite } = this.#options;
    const owed = await rows.listRemovals(store);
    if (owed.length > 0) await abortable(offSite.passed(), this.#closing.signal);
    return owed;
  }

  /** Ends our uploads without a row, because their parts use space invisibly. */
  async #sweep(): Promise<void> {
    const { store, offSite, log } = this.#options;
    const bucket = offSite.bucket(offSite.location);
    const owned = new Set((await rows.listUploads(store)).map(({ uploadId }) => uploadId));
    for (const upload of await bucket.uploads('')) {
      if (owned.has(upload.uploadId) || !isArchiveKey(upload.key)) continue;
      log.info({ key: upload.key }, 'an unfinished off-site upload of an earlier process is removed');
      await bucket.abort(upload);
    }
  }

  /**
   * Removes an archive off site. If a bucket of earlier settings is missing, its content is gone, so the removal is
   * done. A missing bucket for new backups must be created again.
   */
  async #removeUnlessGone(row: rows.OffsiteRemovalRow): Promise<void> {
    const { store, offSite, log } = this.#options;
    try {
      await this.#removeOffSite(row);
    } catch (error) {
      const { location, serverId: server, backupId: backup } = row;
      if (placeOf(location).bucket === placeOf(offSite.location).bucket || !isBucketGone(error)) throw error;
      log.warn(
        { server, backup, location },
        'a bucket of earlier settings no longer exists; the removal of a backup from it is dropped',
      );
      await store.write((tx) => rows.deleteRemoval(tx, row));
    }
  }

  async #removeOffSite(row: rows.OffsiteRemovalRow): Promise<void> {
    const { store, offSite, at } = this.#options;
    const ref = { serverId: row.serverId, id: row.backupId };
    const current = this.#current;
    // An upload that began before its removal was recorded could still create the object.
    if (current?.ref.serverId === ref.serverId && current.ref.id === ref.id) await current.ended;
    const bucket = offSite.bucket(row.location);
    const key = keyIn(ref);
    for (const upload of await bucket.uploads(key)) if (upload.key === key) await bucket.abort(upload);
    await bucket.remove(key);
    await at('object-removed');
    await store.write((tx) => rows.deleteRemoval(tx, row));
  }

  async #uploadUnlessCancelled(listed: rows.BackupUploadRow): Promise<void> {
    const row = await rows.getUpload(this.#options.store, listed);
    if (row === undefined) return;
    const call = new AbortController();
    const ref = { serverId: row.serverId, id: row.backupId };
    const work = uploadArchive(this.#options, row, AbortSignal.any([call.signal, this.#closing.signal]));
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

interface LatenessOptions {
  store: Pick<Store, 'query'>;
  clock: Clock;
  log: Log;
}

/**
 * Logs an error for operators once backups have waited six hours for their upload, repeats it daily, and logs when it
 * is over.
 */
export function watchLateness({ store, clock, log }: LatenessOptions): () => void {
  let reportedAt: number | undefined;
  async function checkLate(): Promise<void> {
    const { count, since } = await countUploads(store);
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
