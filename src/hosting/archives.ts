import { chown, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FileOwner } from './properties.ts';
import { archivePath, exists, siblingsOf } from './backup-files.ts';
import { removeTree } from './remove-tree.ts';
import { type Archive, writeArchive } from './backup-archive.ts';
import { extractArchive } from './backup-extract.ts';
import { type Disk, withReserved } from './disk.ts';
import { diskFull, freeBytes } from './free-disk.ts';
import { type Jail, openJail, type TreeEntry } from './jail.ts';
import { createTurns, type Turns } from '../turns.ts';
import { StatusError } from '../status.ts';
import { listBackups } from '../store/backups.ts';
import type { BackupRow } from '../store/backups-table.ts';
import type { Store } from '../store/store.ts';

const MIB = 2 ** 20;

export interface ArchivesOptions {
  store: Pick<Store, 'query'>;
  dataDir: string;
  owner: FileOwner | undefined;
  disk: Disk;
  /** All of a server's backups together may be so large; 0: no limit. */
  quotaBytes: number;
  /** Default: turns of its own. */
  alone?: Turns;
  /** What a restore leaves free of the disk; default: as everything else here. */
  leastFreeBytes?: number;
}

/** Whoever waits for its turn may be called off meanwhile. Percent is of the files' bytes. */
export interface Making {
  signal: AbortSignal;
  progress: (percent: number) => void;
}

/**
 * Trees into archives and back. Archives are made one at a time on this machine, so that its disks have time for players
 * too; a restore, which keeps a server down, waits only for what else is done with that server.
 */
export interface Archives {
  /** Runs alone on the files of a server, as everything does that replaces or archives them whole. */
  alone: Turns;
  /**
   * Archives a server's files as they are when `work` calls for it; `work` runs alone on them.
   * RESOURCE_EXHAUSTED BACKUP_QUOTA_EXCEEDED or DISK_FULL, then nothing of it is left.
   */
  make<T>(
    backup: Ref,
    making: Making,
    work: (archive: (signal: AbortSignal) => Promise<Archive>) => Promise<T>,
  ): Promise<T>;
  /**
   * Unpacks a backup beside the server's files, which stay: RESOURCE_EXHAUSTED DISK_FULL where the disk has no room for both,
   * ArchiveCorrupt, or as a reservation rejects. Runs in `alone`.
   */
  stage(backup: BackupRow, making: Making): Promise<void>;
}

export type Ref = Pick<BackupRow, 'serverId' | 'id'>;

export function createArchives({ store, dataDir, owner, disk, quotaBytes, ...options }: ArchivesOptions): Archives {
  const alone = options.alone ?? createTurns();
  const onThisMachine = createTurns();

  async function archive({ serverId, id }: Ref, progress: Making['progress'], signal: AbortSignal): Promise<Archive> {
    const root = siblingsOf(dataDir, serverId).root;
    const target = archivePath(dataDir, serverId, id);
    if (!(await exists(root)))
      return await writeArchive(nothing(), target, { signal, ...(await room(serverId)), progress() {} });
    await using jail = await openJail(root, { owner });
    const total = await treeBytes(jail, signal);
    const percent = percents(total, progress);
    return await writeArchive(jail.tree('', { withLists: true }), target, {
      signal,
      ...(await room(serverId)),
      progress: percent,
    });
  }

  /** How large an archive may become, and what to say of one that becomes larger. */
  async function room(serverId: string): Promise<{ maxBytes: number; beyond: () => StatusError }> {
    const backups = await listBackups(store, serverId);
    const used = backups.reduce((sum, { kind, sizeBytes }) => sum + (kind === 'previous' ? 0 : sizeBytes), 0);
    const quotaLeft = quotaBytes === 0 ? Infinity : Math.max(0, quotaBytes - used);
    await mkdir(join(dataDir, 'backups'), { recursive: true, mode: 0o750 });
    const diskLeft = await freeBytes(join(dataDir, 'backups'));
    return quotaLeft <= diskLeft
      ? { maxBytes: quotaLeft, beyond: () => quotaExceeded(quotaBytes) }
      : { maxBytes: diskLeft, beyond: diskFull };
  }

  return {
    alone,
    make: (backup, { signal, progress }, work) =>
      onThisMachine('', () => {
        signal.throwIfAborted();
        return alone(backup.serverId, () => {
          signal.throwIfAborted();
          return work((moved) => archive(backup, progress, AbortSignal.any([signal, moved])));
        });
      }),
    async stage(backup, { signal, progress }) {
      const { serverId, id, treeBytes: bytes } = backup;
      const { root, staged } = siblingsOf(dataDir, serverId);
      await removeTree(staged);
      const before = (await exists(root)) ? await treeBytesOf(root, signal) : 0;
      if (bytes > (await freeBytes(dirname(staged), options.leastFreeBytes))) throw diskFull();
      // The new files take the place of the old ones, as far as the server's quota goes.
      await withReserved(disk, serverId, Math.max(0, bytes - before), async () => {
        await mkdir(staged, { mode: 0o750 });
        if (owner) await chown(staged, owner.uid, owner.gid);
        const percent = percents(bytes, progress);
        await extractArchive(
          archivePath(dataDir, serverId, id),
          backup,
          { path: staged, owner },
          { signal, progress: percent },
        );
        return { result: undefined, addedBytes: bytes - before };
      });
    },
  };
}

/** What the files of a folder take together. */
export async function treeBytesOf(root: string, signal: AbortSignal): Promise<number> {
  await using jail = await openJail(root);
  return await treeBytes(jail, signal);
}

async function treeBytes(jail: Jail, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  for await (const { sizeBytes } of jail.tree('')) {
    signal.throwIfAborted();
    bytes += sizeBytes;
  }
  return bytes;
}

async function* nothing(): AsyncGenerator<TreeEntry> {}

/** Bytes as whole percents, each told once. */
function percents(total: number, tell: (percent: number) => void): (bytes: number) => void {
  let told = 0;
  return (bytes) => {
    const percent = total === 0 ? 100 : Math.min(99, Math.floor((bytes / total) * 100));
    if (percent <= told) return;
    told = percent;
    tell(percent);
  };
}

function quotaExceeded(quotaBytes: number): StatusError {
  const limitMb = String(Math.floor(quotaBytes / MIB));
  const sentence = `The server's backups may take ${limitMb} MB together, and this one would take more than is left. Delete one.`;
  return new StatusError('RESOURCE_EXHAUSTED', 'BACKUP_QUOTA_EXCEEDED', sentence, { metadata: { limitMb } });
}
