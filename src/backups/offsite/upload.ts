import { open, rm } from 'node:fs/promises';
import { getServer } from '../../servers/rows.ts';
import type { Base } from '../base.ts';
import { archivePath, exists } from '../files.ts';
import { getBackup, patchBackup } from '../rows.ts';
import type { OffSite } from './offsite.ts';
import * as rows from './rows.ts';

/** Uploads one archive from the folder and records its new location in the backup's row. */
export async function uploadArchive(
  base: Base,
  offSite: OffSite,
  row: rows.BackupUploadRow,
  signal: AbortSignal,
): Promise<void> {
  const { store, dataDir, progress, log } = base;
  const ref = { serverId: row.serverId, id: row.backupId };
  const backup = await getBackup(store, ref.serverId, ref.id);
  const path = backup && archivePath(dataDir, backup);
  if (backup?.state !== 'ready' || path === undefined || !(await exists(path))) {
    log.error({ server: ref.serverId, backup: ref.id }, 'a backup cannot be uploaded: it is not in the folder');
    return await store.write((tx) => rows.deleteUpload(tx, row));
  }
  const accountId = (await getServer(store, ref.serverId))?.accountId ?? '';
  await using file = await open(path, 'r');
  const sending = { backup, accountId, at: row.at, file: file.fd };
  const takenBytes = await offSite.store(row.location).send(base, sending, signal);
  const isMoved = await store.write(async (tx) => {
    if ((await rows.getUpload(tx, row)) === undefined) return false;
    await rows.deleteUpload(tx, row);
    // The pieces of a backup removed meanwhile are still needed by this one.
    const extra = ((await getBackup(tx, ref.serverId, ref.id))?.addedBytes ?? 0) - backup.sizeBytes;
    const addedBytes = Math.min(backup.sizeBytes, takenBytes + Math.max(0, extra));
    return await patchBackup(tx, ref, { location: row.location, addedBytes }, ['ready']);
  });
  await base.at('upload-stored');
  // If the backup is being removed, its recorded removal covers the uploaded copy, too.
  if (isMoved) await rm(path, { force: true });
  progress.publish(ref.serverId, { id: ref.id, state: 'ready', percent: 100 });
}
