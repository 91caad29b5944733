import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { dataRoot } from '../jail/data-root.ts';
import { sweepJail } from '../jail/jail.ts';
import { removeTree } from '../jail/remove-tree.ts';
import { syncDirectory } from '../kernel/atomic-file.ts';
import { sweepDrafts } from '../kernel/drafts.ts';

const WRITTEN_BY_US = new Set(['server.properties', '.dormouse-properties', 'eula.txt', 'bukkit.yml']);

/** The archive of a backup. Ids of both are ours, so this never leaves the folder. */
export function archivePath(dataDir: string, serverId: string, backupId: string): string {
  return join(archiveFolder(dataDir, serverId), `${backupId}.tar.zst`);
}

export function archiveFolder(dataDir: string, serverId: string): string {
  return join(dataDir, 'backups', serverId);
}

/** Folders beside a data root, on the same file system: no server's id has a dot in it. */
export interface Siblings {
  root: string;
  /** The files being staged. */
  staged: string;
  /** The files from before a restore, kept until a boot has succeeded. */
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

/** Moves a folder out of sight in one step, to be removed with the trash. Nothing there is fine. */
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
  /** With a job, which finds what it left. */
  busy: ReadonlySet<string>;
  /** With a replaced folder that is on the list of backups. */
  withPrevious: ReadonlySet<string>;
}

/**
 * Removes what a killed process left beside the data roots: staged trees and trash of servers without a job, and
 * replaced folders that are on no list any more. Replaced folders of unknown servers stay: an operator decides about
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
 * Removes files that a killed process left unfinished in the data roots. Reports servers for which that fails to
 * `failed`.
 */
export async function sweepRoots(dataDir: string, failed: (serverId: string, error: unknown) => void): Promise<void> {
  for (const serverId of await namesIn(join(dataDir, 'servers'))) {
    // In replaced folders too: they may come back.
    const root = join(dataDir, 'servers', serverId);
    await sweepJail(root).catch((error: unknown) => failed(serverId, error));
    await sweepDrafts(root, isWrittenByUs).catch((error: unknown) => failed(serverId, error));
  }
}

/** Whether it is one of the files at the top of a data root that the service writes itself. */
function isWrittenByUs(name: string): boolean {
  return WRITTEN_BY_US.has(name) || name.endsWith('.json');
}

/** An archive that no backup speaks of. */
export interface Orphan {
  serverId: string;
  backupId: string;
  sizeBytes: number;
}

/**
 * Removes archives that were never finished, or that do not belong in the folder (`isInFolder` returns false). Returns finished
 * archives that belong to no backup (`isInFolder` returns undefined): their removal failed, or the database is an older copy. An
 * operator decides about these.
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
      const [, backupId] = /^(\w+)\.tar\.zst$/.exec(name) ?? [];
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
