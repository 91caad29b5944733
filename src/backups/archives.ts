import { chown, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AccountDisk } from '../disk/account-disk.ts';
import type { FreeDisk, Hold } from '../disk/free.ts';
import type { DiskUsage } from '../disk/usage.ts';
import { type OpenDirectory, openJail } from '../jail/jail.ts';
import { removeTree } from '../jail/remove-tree.ts';
import { type Disk, withReserved } from '../jail/space.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { WithKeyLock } from '../kernel/mutex.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';
import { createWorkerPool } from '../kernel/workers/pool.ts';
import type { Base } from './base.ts';
import { extractArchive, writeArchive } from './archive.ts';
import type { ArchiveFiles } from './archive-files.ts';
import { folderMissing } from './errors.ts';
import { archivePath, exists, siblingsOf } from './files.ts';
import { type Hold as Place, createLendableMutex } from './lendable-mutex.ts';
import type { Archive } from './pack.ts';
import { type BackupFormat, type BackupRow, type Ref, listBackups } from './rows.ts';

/** More concurrent restores than ever occur. */
const RESTORES_AT_ONCE = 64;
/** How long a game may take to start saving before the turn is lent to other archives. Most games save faster. */
const MOMENT_MS = 3_000;

/** `signal` also ends the wait for the mutexes. `progress` gets percentages of the files' bytes. */
interface Making {
  signal: AbortSignal;
  progress: (percent: number) => void;
}

/** The disk space of archives and restored files, as `Disks` measures and limits it. */
export interface BackupDisks {
  quota: Disk;
  /** The disk's free space, in which all concurrent writers reserve their bytes. */
  free: FreeDisk;
  /** The account's disk limit. Default: unlimited. */
  accounts?: Pick<AccountDisk, 'hold'>;
  /** The size of servers' files, used for an archive's percentage. Default: unknown. */
  usage?: Pick<DiskUsage, 'of' | 'measure'>;
}

/** Tools for the backup whose turn it is. */
interface Maker {
  /**
   * Throws FAILED_PRECONDITION SERVER_FOLDER_MISSING if the server has run and has no folder. Before its first run, it
   * needs none.
   */
  archive: (signal: AbortSignal, hasRun: boolean) => Promise<Made>;
  /** Waits for a preparation. If that takes longer than a moment, the turn is lent to other servers' archives. */
  prepare: Place['lend'];
}

/** A finished archive with the space that it takes in the folder. */
export interface Made extends Archive {
  addedBytes: number;
}

export type Archives = ReturnType<typeof createArchives>;

/**
 * Archives servers' files and unpacks them again. Creates archives one at a time on this machine, so that its disks
 * have time for players. A restore keeps a server down, so it waits only for other work on the same server.
 */
export function createArchives(
  { store, clock, dataDir }: Base,
  files: ArchiveFiles,
  { quota, free, accounts, usage }: BackupDisks,
  {
    owner,
    quotaBytes,
    format,
    withFilesLock,
  }: {
    owner: FileOwner | undefined;
    /** Limit for all backups of a server together; 0: unlimited. */
    quotaBytes: number;
    /** The format of new archives. */
    format: BackupFormat;
    withFilesLock: WithKeyLock;
  },
) {
  const withMachineLock = createLendableMutex(clock, MOMENT_MS);
  // Separate workers for backups, because other tenants' work must not delay a game that is down or has paused saving.
  const workers = createWorkerPool({ streams: RESTORES_AT_ONCE, trusted: true });

  async function archive({ serverId, id }: Ref, hasRun: boolean, { progress, signal }: Making): Promise<Made> {
    const root = siblingsOf(dataDir, serverId).root;
    const hasFolder = await exists(root);
    if (hasRun && !hasFolder) throw folderMissing();
    const target = archivePath(dataDir, { serverId, id, format });
    const quotaLeft = await quotaLeftOf(serverId);
    const account = await accounts?.hold(serverId, 0);
    const hold = await free.hold(dirname(target), 0);
    let [size, last] = [0, 0];
    const grow = async (bytes: number): Promise<void> => {
      size += bytes;
      if (size > quotaLeft) throw quotaExceeded(quotaBytes);
      await account?.grow(bytes);
      // The previous piece has been written, or is about to be.
      hold.landed(last);
      await hold.grow((last = bytes));
    };
    // A new count takes long with many small files, so this uses the size known so far.
    if (usage?.of(serverId) === undefined) usage?.measure(serverId).catch(() => {});
    const report = percents(progress);
    const read = (bytes: number) => report(bytes, usage?.of(serverId)?.logicalBytes ?? Infinity);
    const write = async (tree?: OpenDirectory): Promise<Made> => {
      const made = await writeArchive(workers, tree, target, { signal, grow, progress: read, format });
      return { ...made, addedBytes: made.sizeBytes };
    };
    try {
      if (!hasFolder) return await write();
      await using jail = await openJail(root, { owner });
      await using tree = await jail.directory('');
      return await write(tree);
    } finally {
      hold.release();
      account?.release();
    }
  }

  /** Returns the maximum size of another archive of the server. */
  async function quotaLeftOf(serverId: string): Promise<number> {
    if (quotaBytes === 0) return Infinity;
    const backups = await listBackups(store, serverId);
    const used = backups.reduce((sum, { kind, addedBytes }) => sum + (kind === 'previous' ? 0 : addedBytes), 0);
    return Math.max(0, quotaBytes - used);
  }

  async function extract(backup: BackupRow, staged: string, making: Making): Promise<void> {
    await mkdir(staged, { mode: 0o750 });
    if (owner) await chown(staged, owner.uid, owner.gid);
    await using file = await files.open(backup);
    await extractArchive(workers, file?.fd ?? files.read(backup), backup, staged, { ...making, owner });
  }

  return {
    format,

    /** Holds the mutex of a server's files. Required for all work that replaces or archives them as a whole. */
    withFilesLock,

    /**
     * Archives a server's files when `work` requests it. `work` runs when its turn comes on this machine, under
     * `withFilesLock`; accounts take turns. Rejects with RESOURCE_EXHAUSTED BACKUP_QUOTA_EXCEEDED or DISK_FULL, and
     * leaves no file behind.
     */
    make: <T>(
      backup: Ref,
      { accountId, signal, progress }: Making & { accountId: string },
      work: (maker: Maker) => Promise<T>,
    ): Promise<T> =>
      withMachineLock(
        accountId,
        async ({ lend: prepare }) => {
          // Lends the turn to other servers while a job, such as a long restore, holds these files.
          const [ours, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
          const holding = withFilesLock(backup.serverId, () => (ours.resolve(), over.promise), signal);
          try {
            await prepare(() => Promise.race([ours.promise, holding]), signal);
            return await work({
              prepare,
              archive: (moved, hasRun) =>
                archive(backup, hasRun, { progress, signal: AbortSignal.any([signal, moved]) }),
            });
          } finally {
            over.resolve();
            await holding.catch(() => {});
          }
        },
        signal,
      ),

    /**
     * Unpacks a backup beside the server's files, which stay. Must run under `withFilesLock`. Rejects with
     * RESOURCE_EXHAUSTED DISK_FULL if the disk has no room for both, with ArchiveCorrupt, or with a reservation's error.
     */
    async stage(backup: BackupRow, { signal, progress }: Making): Promise<void> {
      const { serverId, treeBytes: bytes } = backup;
      const { root, staged } = siblingsOf(dataDir, serverId);
      await removeTree(staged);
      const before = (await exists(root)) ? await treeBytesOf(root, signal) : 0;
      // For the server's quota, the new files replace the old ones.
      const grown = Math.max(0, bytes - before);
      await withReserved(quota, serverId, grown, async ({ landed }) => {
        // The disk needs room for both.
        landed(grown);
        const hold = await free.hold(staged, bytes);
        const report = percents(progress);
        const ofAll = (done: number) => report(done, bytes);
        try {
          await extract(backup, staged, { signal, progress: tracked(hold, ofAll) });
        } finally {
          hold.release();
        }
        return { result: undefined, addedBytes: bytes - before };
      });
    },
  };
}

/** Returns the total size of a folder's files. */
export async function treeBytesOf(root: string, signal: AbortSignal): Promise<number> {
  await using jail = await openJail(root);
  let bytes = 0;
  for await (const { sizeBytes } of jail.tree('')) {
    signal.throwIfAborted();
    bytes += sizeBytes;
  }
  return bytes;
}

/**
 * Marks the previous bytes as written when the next ones are about to be. This is exact except for a few small files.
 */
function tracked(hold: Hold, report: (bytes: number) => void): (bytes: number) => void {
  let [landed, last] = [0, 0];
  return (bytes) => {
    hold.landed(last - landed);
    landed = last;
    last = bytes;
    report(bytes);
  };
}

/** Reports bytes as whole percentages, each once. */
function percents(report: (percent: number) => void): (bytes: number, total: number) => void {
  let reported = 0;
  return (bytes, total) => {
    const percent = total === 0 ? 100 : Math.min(99, Math.floor((bytes / total) * 100));
    if (percent <= reported) return;
    reported = percent;
    report(percent);
  };
}

function quotaExceeded(quotaBytes: number): StatusError {
  const limitMb = String(Math.floor(quotaBytes / MIB));
  const sentence = `The server's backups may use ${limitMb} MB, and this one does not fit. Delete an older backup.`;
  return new StatusError('RESOURCE_EXHAUSTED', 'BACKUP_QUOTA_EXCEEDED', sentence, { metadata: { limitMb } });
}
