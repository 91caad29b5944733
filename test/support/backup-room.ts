import { type BackupRoom, createBackupRoom } from '../../src/backups/open.ts';
import { type OffSite, createOffSite } from '../../src/backups/offsite/offsite.ts';
import type { BackupDisks } from '../../src/backups/archives.ts';
import type { Base } from '../../src/backups/base.ts';
import { createFreeDisk } from '../../src/disk/free.ts';
import type { GameConsoles } from '../../src/engines/console/console.ts';
import type { Engine } from '../../src/engines/engine.ts';
import type { ChangeLock } from '../../src/jail/change-lock.ts';
import { unlimitedDisk } from '../../src/jail/space.ts';
import { createKeyedMutex } from '../../src/kernel/mutex.ts';
import { createWorldJobs } from '../../src/worlds/worlds.ts';

/** What a test changes of its backups. Default: they stay in the folder, without limits. */
export interface BackupDoubles extends Partial<Omit<Base, 'progress'>>, Partial<BackupDisks> {
  quotaBytes?: number;
  offSite?: OffSite;
  release?: (serverId: string) => Promise<void>;
}

const FOLDER_ONLY = createOffSite('', () => {
  throw new Error('no off-site store is configured');
});

/** Creates the backups and worlds of a test's servers. */
export function backupRoom(
  base: Omit<Base, 'at' | 'progress'>,
  games: { engine: Engine; consoles: GameConsoles },
  lock: ChangeLock,
  doubles: BackupDoubles,
): BackupRoom {
  const { quotaBytes = 0, offSite = FOLDER_ONLY, release = async () => {}, ...rest } = doubles;
  const { quota = unlimitedDisk, free = createFreeDisk(base.clock), accounts, usage, ...changed } = rest;
  return createBackupRoom(
    { ...base, ...changed },
    games,
    { quota, free, ...(accounts && { accounts }), ...(usage && { usage }) },
    { owner: undefined, quotaBytes, offSite, withFilesLock: createKeyedMutex() },
    { lock, release, jobs: createWorldJobs },
  );
}
