/**
 * Backups of a server's files. A backup is complete or failed; a restore can be undone until the next start has
 * succeeded. Never replaces files under a running game.
 */
import { rm } from 'node:fs/promises';
import type { GameConsoles } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import type { StreamSlots } from '../http/stream-slots.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import { removeTree } from '../jail/remove-tree.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { WithKeyLock } from '../kernel/mutex.ts';
import { listServersWithJob } from '../servers/machine-rows.ts';
import { listServerIds } from '../servers/rows.ts';
import type { Servers } from '../servers/servers.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { backupOperations } from './api.ts';
import { ArchiveFiles } from './archive-files.ts';
import { type BackupDisks, createArchives } from './archives.ts';
import { Backups } from './backups.ts';
import { type BackupEvents, type Base, Progress } from './base.ts';
import { archiveFolder, archivePath, siblingsOf, sweepRoots, sweepSiblings } from './files.ts';
import type { DoJob, Tools } from './job.ts';
import { createMaintenance } from './maintenance.ts';
import type { OffSite } from './offsite/offsite.ts';
import { LeftOver, Uploads } from './offsite/uploads.ts';
import { mountBackupPages } from './pages/backups-page.ts';
import { listBackupsIn, listPrevious, patchBackup } from './rows.ts';
import { createSaving } from './saving.ts';

/**
 * The backups of a service. They are opened in two steps, because interrupted jobs resume before the servers are live.
 */
export type BackupRoom = ReturnType<typeof createBackupRoom>;

export function createBackupRoom(
  { at = () => {}, ...given }: Omit<Base, 'progress' | 'at'> & { at?: Base['at'] },
  { engine, consoles }: { engine: Engine; consoles: GameConsoles },
  disks: BackupDisks,
  {
    offSite,
    ...archiving
  }: {
    owner: FileOwner | undefined;
    /** Limit for all backups of a server together; 0: unlimited. */
    quotaBytes: number;
    offSite: OffSite;
    withFilesLock: WithKeyLock;
  },
  {
    lock,
    release,
    jobs,
  }: {
    /** Keeps changes and restores apart. */
    lock: ChangeLock;
    /** Closes the server's folder for all clients that have it open, because their later writes would be lost. */
    release: (serverId: string) => Promise<void>;
    /** Creates the jobs of other rooms by kind. */
    jobs: (tools: Tools) => Readonly<Record<string, DoJob>>;
  },
) {
  const progress = new Progress();
  const base = { ...given, at, progress };
  const { store, clock, log, dataDir } = base;
  const files = new ArchiveFiles(store, dataDir, offSite);
  const archives = createArchives(base, files, disks, { ...archiving, format: offSite.format });
  const withPrevious = new Set<string>();
  const uploads = new Uploads(base, offSite);
  const { owner } = archiving;
  const tools: Tools = { ...base, engine, owner, disk: disks.quota, archives, files, uploads };
  const maintain = createMaintenance(tools, lock, { withPrevious, release, jobs: jobs(tools) });
  let backups: Backups | undefined;

  return {
    archives,
    /** Used by the servers' effects. */
    maintain,

    /** Removes everything of a deleted server, except its own folder. */
    erase: async (serverId: string): Promise<void> => {
      await backups?.end(serverId);
      progress.forget(serverId);
      await store.write((tx) => uploads.forget(tx, { serverId }));
      await uploads.cancel({ serverId });
      uploads.kick();
      await archives.withFilesLock(serverId, async () => {
        const { staged, previous, trash } = siblingsOf(dataDir, serverId);
        for (const path of [staged, previous, trash, archiveFolder(dataDir, serverId)]) await removeTree(path);
      });
    },

    /** Marks as failed the work of the previous process that no job resumes. Call it before the servers are restored. */
    async recover(): Promise<void> {
      const error = 'The service restarted during this backup. Create another one.';
      for (const row of await listBackupsIn(store, 'running')) {
        const fields = { state: 'failed', error, finishedAt: clock.now() } as const;
        await rm(archivePath(dataDir, row), { force: true });
        await store.write((tx) => patchBackup(tx, row, fields, ['running']));
      }
      const all = new Set(await listServerIds(store));
      const busy = new Set(await listServersWithJob(store));
      const withPrevious = new Set((await listPrevious(store)).map(({ serverId }) => serverId));
      await sweepSiblings(dataDir, { all, busy, withPrevious });
      // Runs in the background, because there may be much to remove. Does not affect this process's own work.
      const failed = (server: string, error: unknown) =>
        log.warn({ server, err: error }, 'files that an earlier run left in a server’s folder could not be removed');
      void sweepRoots(dataDir, failed).catch((error: unknown) => failed('', error));
    },

    /** Call it once the servers are live. */
    async open(servers: Servers, events: BackupEvents): Promise<Backups> {
      progress.showTo(events);
      const saving = createSaving(store, consoles, engine, clock);
      backups = await Backups.open(tools, servers, saving, withPrevious, new LeftOver(base, offSite, uploads));
      return backups;
    },
  };
}

/** Opens the backups of all servers, with their API and pages. Call it once the servers are live. */
export async function openBackups(
  { servers, serveServer, onClose }: Shared,
  room: BackupRoom,
  events: BackupEvents,
  transferSlots: StreamSlots,
): Promise<{ backups: Backups; feature: Feature }> {
  const backups = await room.open(servers, events);
  onClose(() => backups.close());
  const operations = backupOperations({ backups, serveServer, transferSlots });
  return { backups, feature: { operations, panel: mountBackupPages } };
}
