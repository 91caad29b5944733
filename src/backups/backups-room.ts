import { rm } from 'node:fs/promises';
import type { AccountDisk } from '../disk/account-disk.ts';
import { type FreeDisk, createFreeDisk } from '../disk/free.ts';
import type { DiskUsage } from '../disk/usage.ts';
import type { GameConsoles } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import { removeTree } from '../jail/remove-tree.ts';
import { type Disk, unlimitedDisk } from '../jail/space.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { WithKeyLock } from '../kernel/mutex.ts';
import { listServersWithJob } from '../servers/machine-rows.ts';
import { listServerIds } from '../servers/rows.ts';
import type { EffectHost, Maintain } from '../servers/effect-host.ts';
import type { Servers } from '../servers/servers.ts';
import type { Store } from '../store/store.ts';
import { type Archives, createArchives } from './archives.ts';
import { Backups } from './backups.ts';
import { createArchiveFiles } from './archive-files.ts';
import { archiveFolder, archivePath, siblingsOf, sweepRoots, sweepSiblings } from './files.ts';
import type { MaintenanceOptions } from './job.ts';
import { createMaintenance } from './maintenance.ts';
import { createLeftOver } from './offsite/left-over.ts';
import { type OffSite, createOffSite } from './offsite/offsite.ts';
import { Uploads } from './offsite/uploads.ts';
import { type BackupEvent, createProgress } from './progress.ts';
import { listBackupsIn, listPrevious, patchBackup } from './rows.ts';
import { createSaving } from './saving.ts';
import type { SealKey } from './seal.ts';

export interface BackupRoomOptions {
  store: Store;
  engine: Engine;
  consoles: GameConsoles;
  clock: Clock;
  log: Log;
  dataDir: string;
  owner: FileOwner | undefined;
  /** Limit for all backups of a server together; 0: unlimited. */
  quotaBytes: number;
  /** Default: no quota. */
  disk?: Disk;
  /** Keeps changes and restores apart. */
  lock: ChangeLock;
  /** See `Archives`. Default: its own locks. */
  withFilesLock?: WithKeyLock;
  /** See `ArchivesOptions`. Default: its own. */
  free?: FreeDisk;
  /** See `ArchivesOptions`. */
  accounts?: Pick<AccountDisk, 'hold'>;
  /** See `ArchivesOptions`. */
  usage?: Pick<DiskUsage, 'of' | 'measure'>;
  /** Default: all backups stay in the folder. */
  offSite?: OffSite;
  /** The encryption keys of archives: new ones use the first, old ones any. Default: unencrypted. */
  keys?: readonly SealKey[];
  /** See MaintenanceOptions. */
  at?: MaintenanceOptions['at'];
  release?: MaintenanceOptions['release'];
  jobs?: MaintenanceOptions['jobs'];
}

const FOLDER_ONLY = createOffSite('', () => {
  throw new Error('no off-site store is configured');
});

/** Notifies a server's viewers of its backups. */
export interface BackupEvents {
  publish(serverId: string, type: 'backup', data: object): void;
}

/** The backups of a service, opened in several parts. */
export interface BackupRoom {
  archives: Archives;
  /** Used by the servers' effects. */
  maintain: (host: EffectHost) => Maintain;
  /** Used when a server is deleted: removes everything but the server's own folder. */
  erase: (serverId: string) => Promise<void>;
  /** Marks as failed the work of the previous process that no job resumes. Called before the servers are restored. */
  recover(): Promise<void>;
  /** Called once the servers are live. */
  open(servers: Servers, events: BackupEvents): Promise<Backups>;
}

export function createBackupRoom(options: BackupRoomOptions): BackupRoom {
  const { store, clock, log, dataDir } = options;
  const disk = options.disk ?? unlimitedDisk;
  const { offSite = FOLDER_ONLY, keys = [], free = createFreeDisk({ clock }) } = options;
  const files = createArchiveFiles({ store, dataDir, offSite, keys });
  const archives = createArchives({ ...options, disk, free, files, key: keys[0] });
  const saving = createSaving(options);
  const withPrevious = new Set<string>();
  let backups: Backups | undefined;
  let events: BackupEvents | undefined;
  const progress = createProgress();
  const publish = (serverId: string, event: BackupEvent) => {
    progress.note(serverId, event);
    events?.publish(serverId, 'backup', event);
  };
  const uploads = new Uploads({
    ...options,
    offSite,
    onStored: ({ serverId, id }) => publish(serverId, { id, state: 'ready', percent: 100 }),
    at: options.at ?? (() => {}),
  });
  const maintain = createMaintenance({
    ...options,
    disk,
    archives,
    uploads,
    files,
    publish,
    onPrevious: (serverId) => withPrevious.add(serverId),
  });

  return {
    archives,
    maintain,
    async erase(serverId) {
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
    async recover() {
      const error = 'The service restarted during this backup. Create another one.';
      for (const row of await listBackupsIn(store, 'running')) {
        const fields = { state: 'failed', error, finishedAt: clock.now() } as const;
        await rm(archivePath(dataDir, row.serverId, row.id), { force: true });
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
    async open(servers, serverEvents) {
      events = serverEvents;
      const leftOver = createLeftOver({ store, clock, offSite, kick: () => uploads.kick() });
      const parts = { archives, files, uploads, saving, publish, progress, withPrevious, leftOver };
      backups = await Backups.open({ ...options, ...parts, servers });
      return backups;
    },
  };
}
