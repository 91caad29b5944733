import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { every } from '../../kernel/every.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { abortable, withTimeout } from '../../kernel/timeout.ts';
import { DAY_MS } from '../../kernel/units.ts';
import type { Store, Tx } from '../../store/store.ts';
import { archivePath, exists } from '../files.ts';
import { type BackupRow, getBackup, patchBackup } from '../rows.ts';
import { sealedBytes } from '../seal.ts';
import type { OpenUpload } from './bucket.ts';
import { isRefused } from './check.ts';
import { createLane } from './lane.ts';
import { watchLateness } from './lateness.ts';
import { type OffSite, isArchiveKey, keyIn, placeOf } from './offsite.ts';
import * as rows from './rows.ts';
import { isBucketGone } from './s3-failure.ts';
import { partBytesFor, sendParts } from './upload.ts';

const CLOSE_MS = 5_000;

type Ref = Pick<BackupRow, 'serverId' | 'id'>;

export interface UploadsOptions {
  store: Store;
  clock: Clock;
  log: Log;
  dataDir: string;
  offSite: OffSite;
  /** Called when a backup has been brought off site. */
  onStored: (ref: Ref) => void;
  /** See MaintenanceOptions. */
  at: (step: string) => Promise<void> | void;
}

/** Brings finished backups from the folder off site, and removes there what is no longer needed. */
export interface Uploads {
  /** Within the write that makes a backup `ready`: it is to be brought off site, where that is set. */
  owe(tx: Tx, ref: Ref): Promise<void>;
  /** Within the write that takes backups from the list: of one, or of a whole server. */
  forget(tx: Tx, of: rows.OneOrAll): Promise<void>;
  /** Ends the upload of a backup, or of any of a server, that goes on now; nothing begins it again once its row is gone. */
  cancel(of: rows.OneOrAll): Promise<void>;
  /** Takes up what the previous process left, and begins. */
  start(): void;
  /** Looks at once for what there is to do. */
  kick(): void;
  close(): Promise<void>;
}

/**
 * A backup lies in the folder, and can be restored, until all of it is off site and its row says so: whatever fails, or kills the
 * process, an upload goes on from the parts that the bucket has. What is owed is rows, and is tried until it is done. Removals wait for
 * no uploads.
 */
export function createUploads(options: UploadsOptions): Uploads {
  const { store, clock, log, dataDir, offSite, onStored, at } = options;
  const closing = new AbortController();
  let current: { ref: Ref; call: AbortController; ended: Promise<void> } | undefined;
  let isSwept = false;

  const uploads = createLane({
    clock,
    signal: closing.signal,
    list: uploadsOwed,
    keyOf: ({ serverId, backupId }) => `${serverId}/${backupId}`,
    work: uploadUnlessCancelled,
    onFailed: failed,
  });
  const removals = createLane({
    clock,
    signal: closing.signal,
    list: removalsOwed,
    keyOf: ({ location, serverId, backupId }) => `${location} ${serverId}/${backupId}`,
    work: removeUnlessGone,
    onFailed: failed,
  });
  const kick = (): void => [uploads, removals].forEach((lane) => lane.kick());
  let running: Promise<unknown> = Promise.resolve();
  let stopDaily = (): void => {};
  let stopWatch = (): void => {};

  async function uploadsOwed(): Promise<rows.BackupUploadRow[]> {
    await abortable(offSite.passed(), closing.signal);
    // First, so that no upload of this process is taken for one that nobody owns.
    if (!isSwept && offSite.location !== '') await sweep();
    isSwept = true;
    return await rows.listUploads(store);
  }

  async function removalsOwed(): Promise<rows.OffsiteRemovalRow[]> {
    const owed = await rows.listRemovals(store);
    if (owed.length > 0) await abortable(offSite.passed(), closing.signal);
    return owed;
  }

  function failed(error: unknown, count: number): void {
    const level = isRefused(error) ? 'error' : 'warn';
    log[level]({ err: error, count }, 'backups could not be brought off site, or removed there; trying again');
  }

  /** Ends uploads of ours that no row knows of: their parts take room that nothing shows. */
  async function sweep(): Promise<void> {
    const bucket = offSite.bucket(offSite.location);
    const owned = new Set((await rows.listUploads(store)).map(({ uploadId }) => uploadId));
    for (const upload of await bucket.uploads('')) {
      if (owned.has(upload.uploadId) || !isArchiveKey(upload.key)) continue;
      log.info({ key: upload.key }, 'an upload that a killed process left is removed off site');
      await bucket.abort(upload);
    }
  }

  /** What lay in a bucket of earlier settings is gone with it. Where new ones go, a bucket that is gone is to be made again. */
  async function removeUnlessGone(row: rows.OffsiteRemovalRow): Promise<void> {
    try {
      await removeOffSite(row);
    } catch (error) {
      const { location, serverId: server, backupId: backup } = row;
      if (placeOf(location).bucket === placeOf(offSite.location).bucket || !isBucketGone(error)) throw error;
      log.warn(
        { server, backup, location },
        'a bucket of earlier settings is gone: nothing is removed from it any more',
      );
      await store.write((tx) => rows.deleteRemoval(tx, row));
    }
  }

  async function removeOffSite(row: rows.OffsiteRemovalRow): Promise<void> {
    const ref = { serverId: row.serverId, id: row.backupId };
    // One that began before its removal was noted could make the object after all.
    if (current?.ref.serverId === ref.serverId && current.ref.id === ref.id) await current.ended;
    const bucket = offSite.bucket(row.location);
    const key = keyIn(ref);
    for (const upload of await bucket.uploads(key)) if (upload.key === key) await bucket.abort(upload);
    await bucket.remove(key);
    await at('object-removed');
    await store.write((tx) => rows.deleteRemoval(tx, row));
  }

  async function uploadUnlessCancelled(listed: rows.BackupUploadRow): Promise<void> {
    const row = await rows.getUpload(store, listed);
    if (row === undefined) return;
    const call = new AbortController();
    const ref = { serverId: row.serverId, id: row.backupId };
    const work = upload(row, ref, AbortSignal.any([call.signal, closing.signal]));
    current = { ref, call, ended: work.catch(() => {}) };
    try {
      await work;
    } catch (error) {
      if (!call.signal.aborted) throw error;
    } finally {
      current = undefined;
    }
  }

  async function upload(row: rows.BackupUploadRow, ref: Ref, signal: AbortSignal): Promise<void> {
    const backup = await getBackup(store, ref.serverId, ref.id);
    const path = archivePath(dataDir, ref.serverId, ref.id);
    if (backup?.state !== 'ready' || !(await exists(path))) return await giveUp(row, 'it is not in the folder');
    const { bucket, sizeBytes, key } = targetOf(row, backup);
    if (!(await isThere())) {
      const { upload: begun, partBytes, sent } = await resumed(row, backup);
      await using file = await open(path, 'r');
      const hash = createHash('sha256');
      const onPart = () => at('part-sent');
      const check = (bytes: Buffer) => void hash.update(bytes);
      const parts = await sendParts(file, { bucket, upload: begun, sizeBytes, partBytes, sent, signal, check, onPart });
      // An encrypted archive is checked piece by piece when it is read: its checksum is that of the plain bytes.
      if (backup.sealedBy === '' && hash.digest('hex') !== backup.sha256) {
        await bucket.abort(begun);
        return await giveUp(row, 'it is damaged');
      }
      signal.throwIfAborted();
      await at('parts-sent');
      // Where only the answer was lost, it is there all the same.
      await bucket.complete(begun, parts).catch(async (error: unknown) => {
        if (!(await isThere())) throw error;
      });
      await at('upload-completed');
      if (!(await isThere())) throw new Error('the store does not have the archive that it was sent');
    }
    const isMoved = await store.write(async (tx) => {
      if ((await rows.getUpload(tx, row)) === undefined) return false;
      await rows.deleteUpload(tx, row);
      return await patchBackup(tx, ref, { location: row.location }, ['ready']);
    });
    await at('upload-stored');
    // A backup that is being removed is removed off site too, as its removal has noted.
    if (isMoved) await rm(path, { force: true });
    onStored(ref);

    async function isThere(): Promise<boolean> {
      const found = await bucket.head(key);
      return found?.sizeBytes === sizeBytes && found.sha256 === backup?.sha256;
    }
  }

  function targetOf({ location }: rows.BackupUploadRow, backup: BackupRow) {
    const sizeBytes = backup.sealedBy === '' ? backup.sizeBytes : sealedBytes(backup.sizeBytes);
    return { bucket: offSite.bucket(location), key: keyIn(backup), sizeBytes };
  }

  /** The upload that an earlier try began, with the parts that have come through, or a new one. */
  async function resumed(row: rows.BackupUploadRow, backup: BackupRow) {
    const { bucket, key, sizeBytes } = targetOf(row, backup);
    if (row.uploadId !== '') {
      const upload: OpenUpload = { key, uploadId: row.uploadId };
      const sent = await bucket.parts(upload);
      if (sent) return { upload, partBytes: row.partBytes, sent };
    }
    const partBytes = partBytesFor(sizeBytes);
    const upload: OpenUpload = { key, uploadId: await bucket.begin(key, backup.sha256) };
    await at('upload-begun');
    // Where the backup is no more, its removal has been noted, and ends the upload.
    await store.write((tx) => rows.noteUpload(tx, row, upload.uploadId, partBytes));
    await at('upload-noted');
    return { upload, partBytes, sent: [] };
  }

  async function giveUp(row: rows.BackupUploadRow, reason: string): Promise<void> {
    const { serverId: server, backupId: backup } = row;
    log.error({ server, backup, reason }, 'a backup cannot be brought off site');
    await store.write((tx) => rows.deleteUpload(tx, row));
  }

  return {
    kick,
    start() {
      stopWatch = watchLateness(options);
      stopDaily = every(clock, DAY_MS, () => {
        isSwept = false;
        kick();
      });
      running = Promise.all([uploads.run(), removals.run()]);
    },
    async owe(tx, { serverId, id: backupId }) {
      const { location } = offSite;
      if (location !== '') await rows.insertUpload(tx, { serverId, backupId, location, at: clock.now() });
    },
    forget: (tx, of) => rows.noteRemovals(tx, of, clock.now()),
    async cancel({ serverId, id }) {
      if (current?.ref.serverId !== serverId || (id !== undefined && current.ref.id !== id)) return;
      current.call.abort();
      await current.ended;
    },
    async close() {
      stopDaily();
      stopWatch();
      closing.abort();
      // What a store does not answer to is taken up by the next process.
      await withTimeout(running, CLOSE_MS, { late: () => undefined });
    },
  };
}
