import type { Stats } from 'node:fs';
import { type FileHandle, rmdir } from 'node:fs/promises';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Change } from './change-lock.ts';
import { type Kind, at, kindOf, openPath, statEntry } from './descriptors.ts';
import { hardLinked, refused } from './errors.ts';
import { type Names, joinNames } from './path.ts';
import { type Guard, guardOf, protectedPath } from './secrets.ts';
import { modifiedAtOf, sizeOf } from './stated.ts';
import { makeDirectory } from './temps.ts';

/** Dependencies shared by all parts of a jail. */
export interface Cell {
  /** The data root, open. */
  root: FileHandle;
  /** The owner of new files; undefined: this process's user. */
  owner: FileOwner | undefined;
  /** Whether secrets are hidden from callers. */
  guarded: boolean;
  /** Whether new directories are on disk at once. A stage is synced when it is placed. */
  durable: boolean;
  /** Runs each change that is visible outside, or refuses it. */
  change: Change;
  /** Called with each opened file. */
  opened: ((file: FileHandle) => void) | undefined;
  /** Reserves space for a file or directory that was just created. If it rejects, the creation is undone. */
  enter: (() => Promise<void>) | undefined;
}

/**
 * An entry of a data root. `modifiedAt` is epoch ms, `mode` has the nine permission bits, and `version` differs after
 * each change.
 */
export interface Entry {
  name: string;
  kind: Kind;
  sizeBytes: number;
  modifiedAt: number;
  mode: number;
  version: string;
}

export function entryOf(name: string, stats: Stats): Entry {
  const kind = kindOf(stats);
  const sizeBytes = sizeOf(stats);
  const version = [stats.ino, stats.mtimeMs, stats.ctimeMs, sizeBytes].map((part) => part.toString(36)).join('-');
  return { name, kind, sizeBytes, modifiedAt: modifiedAtOf(stats), mode: stats.mode & 0o777, version };
}

/** Returns how a path is guarded in this jail. */
export function guardIn({ guarded }: Cell, names: Names): Guard {
  return guarded ? guardOf(names) : 'plain';
}

/** Throws NOT_FOUND PATH_NOT_FOUND for a path that is hidden from callers. */
export function requireVisible(cell: Cell, names: Names): void {
  if (guardIn(cell, names) === 'hidden') throw refused('ENOENT', joinNames(names));
}

/** Throws PERMISSION_DENIED PATH_PROTECTED for a path that must not be written. */
export function requireWritable(cell: Cell, names: Names): void {
  const guard = guardIn(cell, names);
  if (guard === 'hidden' || guard === 'readOnly') throw protectedPath(names);
}

/** Runs `work` with the directory at a path, and closes it afterwards. */
export async function inDirectory<T>(cell: Cell, names: Names, work: (dir: FileHandle) => Promise<T>): Promise<T> {
  await using dir = await openPath(cell.root, names);
  return await work(dir);
}

/** Creates the missing directories of a path. If the cell is durable, each is on disk before the next is created. */
export async function makeParents(cell: Cell, names: Names): Promise<void> {
  if (await isDirectory(cell, names)) return;
  for (let depth = 0; depth < names.length; depth++) {
    await inDirectory(cell, names.slice(0, depth), async (dir) => {
      const name = names[depth]!;
      if (await statEntry(dir, name)) return;
      requireWritable(cell, names.slice(0, depth + 1));
      await makeDirectoryIn(cell, dir, name).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
    });
  }
}

/** Creates a directory in an open one. Rejects with EEXIST if the name is taken. */
export async function makeDirectoryIn(cell: Cell, dir: FileHandle, name: string): Promise<void> {
  await makeDirectory(dir, name, cell.owner);
  await enter(cell, () => rmdir(at(dir, name)));
  if (cell.durable) await dir.sync();
}

/** Reserves space for an entry that was just created, or undoes its creation. */
export async function enter(cell: Cell, undo: () => Promise<void>): Promise<void> {
  try {
    await cell.enter?.();
  } catch (error) {
    // A directory that is no longer empty stays.
    await undo().catch(() => undefined);
    throw error;
  }
}

async function isDirectory(cell: Cell, names: Names): Promise<boolean> {
  try {
    return await inDirectory(cell, names, async () => true);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Throws FAILED_PRECONDITION NOT_A_FILE or PATH_IS_LINK unless the entry is a plain file with only one name. */
export function requirePlainFile(stats: Stats, names: Names): void {
  const path = joinNames(names);
  if (stats.isSymbolicLink()) throw refused('ELOOP', path);
  if (stats.isDirectory()) throw refused('EISDIR', path);
  if (!stats.isFile()) throw refused('ENXIO', path);
  if (stats.nlink > 1) throw hardLinked(path);
}
