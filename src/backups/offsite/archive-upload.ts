import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import type { Log } from '../../kernel/log.ts';
import type { Store } from '../../store/store.ts';
import { archivePath, exists } from '../files.ts';
import { type BackupRow, getBackup, patchBackup } from '../rows.ts';
import { sealedBytes } from '../seal.ts';
import type { Bucket, OpenUpload } from './bucket.ts';
import { type OffSite, keyIn } from './offsite.ts';
import * as rows from './rows.ts';
import { partBytesFor, sendParts } from './upload.ts';

export interface ArchiveUploadOptions {
  store: Store;
  log: Log;
  dataDir: string;
  offSite: OffSite;
  /** Called when a backup has been uploaded. */
  onStored: (backup: Pick<BackupRow, 'serverId' | 'id'>) => void;
  /** See MaintenanceOptions. */
  at: (step: string) => Promise<void> | void;
}

/** The bucket and key of an archive. */
interface Target {
  bucket: Bucket;
  key: string;
  sizeBytes: number;
  sha256: string;
}

/** Uploads one archive from the folder and records its new location in the backup's row. */
export async function uploadArchive(
  options: ArchiveUploadOptions,
  row: rows.BackupUploadRow,
  signal: AbortSignal,
): Promise<void> {
  const { store, dataDir, offSite, onStored, at } = options;
  const ref = { serverId: row.serverId, id: row.backupId };
  const backup = await getBackup(store, ref.serverId, ref.id);
  const path = archivePath(dataDir, ref.serverId, ref.id);
  if (backup?.state !== 'ready' || !(await exists(path))) return await giveUp(options, row, 'it is not in the folder');
  const { sealedBy, sha256 } = backup;
  const bucket = offSite.bucket(row.location);
  const sizeBytes = sealedBy === '' ? backup.sizeBytes : sealedBytes(backup.sizeBytes);
  const target = { bucket, key: keyIn(backup), sizeBytes, sha256 };
  if (!(await isThere(target))) {
    const { upload, partBytes, sent } = await resumed(options, row, target);
    await using file = await open(path, 'r');
    const hash = createHash('sha256');
    const onPart = () => at('part-sent');
    const check = (bytes: Buffer) => void hash.update(bytes);
    const parts = await sendParts(file, { bucket, upload, sizeBytes, partBytes, sent, signal, check, onPart });
    // Encrypted archives are verified piece by piece on reading: the checksum is of the plain bytes.
    if (sealedBy === '' && hash.digest('hex') !== sha256) {
      await bucket.abort(upload);
      return await giveUp(options, row, 'it is damaged');
    }
    signal.throwIfAborted();
    await at('parts-sent');
    // If only the answer was lost, the object exists nevertheless.
    await bucket.complete(upload, parts).catch(async (error: unknown) => {
      if (!(await isThere(target))) throw error;
    });
    await at('upload-completed');
    if (!(await isThere(target))) throw new Error('the store does not have the uploaded archive');
  }
  const isMoved = await store.write(async (tx) => {
    if ((await rows.getUpload(tx, row)) === undefined) return false;
    await rows.deleteUpload(tx, row);
    return await patchBackup(tx, ref, { location: row.location }, ['ready']);
  });
  await at('upload-stored');
  // If the backup is being removed, its recorded removal covers the uploaded copy, too.
  if (isMoved) await rm(path, { force: true });
  onStored(ref);
}

async function isThere({ bucket, key, sizeBytes, sha256 }: Target): Promise<boolean> {
  const found = await bucket.head(key);
  return found?.sizeBytes === sizeBytes && found.sha256 === sha256;
}

/** Returns the upload begun by an earlier attempt with its received parts, or a new one. */
async function resumed({ store, at }: ArchiveUploadOptions, row: rows.BackupUploadRow, target: Target) {
  const { bucket, key, sizeBytes, sha256 } = target;
  if (row.uploadId !== '') {
    const upload: OpenUpload = { key, uploadId: row.uploadId };
    const sent = await bucket.parts(upload);
    if (sent) return { upload, partBytes: row.partBytes, sent };
  }
  const partBytes = partBytesFor(sizeBytes);
  const upload: OpenUpload = { key, uploadId: await bucket.begin(key, sha256) };
  await at('upload-begun');
  // If the backup is gone, its recorded removal ends the upload.
  await store.write((tx) => rows.noteUpload(tx, row, upload.uploadId, partBytes));
  await at('upload-noted');
  return { upload, partBytes, sent: [] };
}

async function giveUp({ store, log }: ArchiveUploadOptions, row: rows.BackupUploadRow, reason: string): Promise<void> {
  const { serverId: server, backupId: backup } = row;
  log.error({ server, backup, reason }, 'a backup cannot be uploaded off site');
  await store.write((tx) => rows.deleteUpload(tx, row));
}
