import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { levelNameOf } from '../game/worlds.ts';
import { dataRoot } from '../jail/data-root.ts';
import { openJail, sweepJail } from '../jail/jail.ts';
import { removeTree } from '../jail/remove-tree.ts';
import { sweepDrafts, syncDirectory } from '../kernel/atomic-file.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { BackupFormat, Ref, ServerSoftware } from './rows.ts';

const WRITTEN_BY_US = new Set(['server.properties', '.dormouse-properties', 'eula.txt', 'bukkit.yml']);

/** Returns the path of a backup's archive. Both ids are ours, so the path never leaves the folder. */
export function archivePath(dataDir: string, { serverId, id, format }: Ref & { format: BackupFormat }): string {
  return join(archiveFolder(dataDir, serverId), `${id}.${format}`);
}

export function archiveFolder(dataDir: string, serverId: string): string {
  return join(dataDir, 'backups', serverId);
}

/** Folders beside a data root, on the same file system. Server ids have no dot, so the names do not clash. */
export interface Siblings {
  root: string;
  /** The files being staged. */
  staged: string;
  /** The files replaced by a restore, kept until a start has succeeded. */
  previous: string;
  /** Files being removed. */
  trash: string;
}

export function siblingsOf(dataDir: string, serverId: string): Siblings {
  const root = dataRoot(dataDir, serverId);
  return { root, staged: `${root}.staged`, previous: `${root}.previous`, trash: `${root}.trash` };
}

export async function exists(path: string): Promise<boolean> {
  return (await sizeOf(path)) !== undefined;
}

/** Returns a file's size in bytes; undefined if it does not exist. */
export async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Moves a folder to the trash in one step. Does nothing if it is missing. */
export async function discard(path: string, trash: string): Promise<void> {
  await mkdir(trash, { recursive: true, mode: 0o700 });
  for (let n = 0; ; n++) {
    try {
      await rename(path, join(trash, String(n)));
      return await syncDirectory(join(trash, '..'));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return;
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    }
  }
}

/** The known servers by id, for finding leftovers. */
export interface KnownServers {
  all: ReadonlySet<string>;
  /** Servers with a job, which removes its own leftovers. */
  busy: ReadonlySet<string>;
  /** Servers whose replaced folder is listed as a backup. */
  withPrevious: ReadonlySet<string>;
}

/**
 * Removes what a killed process left beside the data roots: staged trees and trash of servers without a job, and
 * replaced folders that are no longer listed. Keeps replaced folders of unknown servers: an operator decides about
 * them.
 */
export async function sweepSiblings(dataDir: string, { all, busy, withPrevious }: KnownServers): Promise<void> {
  for (const name of await namesIn(join(dataDir, 'servers'))) {
    const [, serverId = '', kind] = /^([a-z0-9-]+)\.(staged|trash|previous)$/.exec(name) ?? [];
    if (kind === undefined || busy.has(serverId)) continue;
    if (kind === 'previous' && (withPrevious.has(serverId) || !all.has(serverId))) continue;
    await removeTree(join(dataDir, 'servers', name));
  }
}

/**
 * Removes unfinished files of a killed process from the data roots. Calls `failed` for servers whose files it could not
 * remove.
 */
export async function sweepRoots(dataDir: string, failed: (serverId: string, error: unknown) => void): Promise<void> {
  for (const serverId of await namesIn(join(dataDir, 'servers'))) {
    // Also in replaced folders, because they may be restored.
    const root = join(dataDir, 'servers', serverId);
    await sweepJail(root).catch((error: unknown) => failed(serverId, error));
    await sweepDrafts(root, isWrittenByUs).catch((error: unknown) => failed(serverId, error));
  }
}

/** Reports whether this is one of the files that the service itself writes at the top of a data root. */
function isWrittenByUs(name: string): boolean {
  return WRITTEN_BY_US.has(name) || name.endsWith('.json');
}

/** An archive without a backup. */
export interface Orphan {
  serverId: string;
  backupId: string;
  sizeBytes: number;
}

/**
 * Removes unfinished archives, and those that do not belong in the folder (`isInFolder` returns false). Returns
 * finished archives without a backup (`isInFolder` returns undefined): their removal failed, or the database is an
 * older copy. An operator decides about these.
 */
export async function sweepArchives(
  dataDir: string,
  isInFolder: (serverId: string, backupId: string) => boolean | undefined,
): Promise<Orphan[]> {
  const orphans: Orphan[] = [];
  for (const serverId of await namesIn(join(dataDir, 'backups'))) {
    const folder = archiveFolder(dataDir, serverId);
    for (const name of await namesIn(folder)) {
      if (name.endsWith('.tmp')) await rm(join(folder, name), { force: true });
      const [, backupId] = /^(\w+)\.tar(?:\.zst)?$/.exec(name) ?? [];
      if (backupId === undefined) continue;
      const known = isInFolder(serverId, backupId);
      if (known === false) await rm(join(folder, name), { force: true });
      if (known !== undefined) continue;
      orphans.push({ serverId, backupId, sizeBytes: (await sizeOf(join(folder, name))) ?? 0 });
    }
  }
  return orphans;
}

async function namesIn(path: string): Promise<string[]> {
  return await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}

/**
 * Returns the software and active world that belong to the files in a folder. A restore writes them back into the
 * server's row.
 */
export async function softwareOf(row: ServerRow, root: string): Promise<ServerSoftware> {
  const { type, version, modpackPlatform, modpackRef, modpackVersion } = row;
  if (!(await exists(root))) {
    return { type, version, modpackPlatform, modpackRef, modpackVersion, levelName: await levelNameOf(row, undefined) };
  }
  await using jail = await openJail(root);
  return { type, version, modpackPlatform, modpackRef, modpackVersion, levelName: await levelNameOf(row, jail) };
}
