import { rm } from 'node:fs/promises';
import { removeTree } from '../jail/remove-tree.ts';
import type { Uploads } from './offsite/uploads.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Archives, Ref } from './archives.ts';
import { type Orphan, archivePath, discard, siblingsOf, sweepArchives } from './files.ts';
import { getMaintenance } from '../servers/machine-rows.ts';
import { DEFAULT_RETENTION, expired } from './retention.ts';
import * as rows from './rows.ts';

export interface BackupRemovalOptions {
  store: Store;
  archives: Archives;
  uploads: Uploads;
  clock: Clock;
  log: Log;
  dataDir: string;
}

/** Removes backups. */
export interface BackupRemoval {
  /**
   * Removes a backup: from the list in one write (with `also`), then from the disk, then from the database. Off-site
   * archives are removed in the background.
   */
  drop: (row: rows.BackupRow, also?: (tx: Tx) => Promise<void>) => Promise<void>;
  /** Removes the backups that the server's retention rules no longer keep. */
  prune: (serverId: string) => Promise<void>;
  /** Finishes removals begun by the previous process, and finds archives without a backup. */
  recover: () => Promise<void>;
  orphans: () => readonly Orphan[];
}

export function createBackupRemoval({
  store,
  archives,
  uploads,
  clock,
  log,
  dataDir,
}: BackupRemovalOptions): BackupRemoval {
  const leftOver: Orphan[] = [];

  async function findOrphans(): Promise<Orphan[]> {
    const known = await store.query<Ref & Pick<rows.BackupRow, 'location' | 'state'>>(
      'SELECT "serverId", "id", "location", "state" FROM "backups"',
    );
    const inFolder = new Map(known.map((row) => [keyOf(row), row.location === '' && row.state !== 'failed']));
    const found = await sweepArchives(dataDir, (serverId, id) => inFolder.get(keyOf({ serverId, id })));
    if (found.length > 0) log.warn({ orphans: found.slice(0, 20) }, 'archives without a backup were found');
    return found;
  }

  async function prune(serverId: string): Promise<void> {
    const retention = (await rows.getRetention(store, serverId)) ?? DEFAULT_RETENTION;
    const busy = (await getMaintenance(store, serverId))?.target;
    const all = await rows.listBackups(store, serverId);
    for (const row of expired(all, retention, clock.now())) if (row.id !== busy) await drop(row);
  }

  async function drop(row: rows.BackupRow, also: (tx: Tx) => Promise<void> = async () => {}): Promise<void> {
    await store.write(async (tx) => {
      if (!(await rows.patchBackup(tx, row, { state: 'dropping' }, ['queued', 'running', 'ready', 'failed']))) return;
      await uploads.forget(tx, row);
      await also(tx);
    });
    await finishDrop(row);
  }

  async function finishDrop(row: rows.BackupRow): Promise<void> {
    const { serverId, id } = row;
    await uploads.cancel({ serverId, id });
    try {
      if (id === rows.PREVIOUS) await archives.withFilesLock(serverId, () => dropPrevious(serverId));
      else await rm(archivePath(dataDir, serverId, id), { force: true });
    } catch (error) {
      // The backup leaves the list even if its files cannot be removed. An operator is notified of those.
      log.error({ server: serverId, backup: id, err: error }, 'the files of a removed backup could not be removed');
      leftOver.push({ serverId, backupId: id, sizeBytes: row.sizeBytes });
    }
    await store.write((tx) => rows.deleteBackup(tx, row));
    uploads.kick();
  }

  async function dropPrevious(serverId: string): Promise<void> {
    const { previous, trash } = siblingsOf(dataDir, serverId);
    await discard(previous, trash);
    await removeTree(trash);
  }

  return {
    drop,
    prune,
    async recover() {
      leftOver.push(...(await findOrphans()));
      for (const row of await rows.listBackupsIn(store, 'dropping')) await finishDrop(row);
    },
    orphans: () => leftOver,
  };
}

/** Returns a key that is unique among the backups of all servers. */
export function keyOf({ serverId, id }: Ref): string {
  return `${serverId}/${id}`;
}
