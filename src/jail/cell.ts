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
  /** Whether directories are on disk as soon as they are made; what is staged is so when it is placed. */
  durable: boolean;
  /** Runs each change that is visible outside, or refuses it. */
  change: Change;
  /** Told of each file that is opened. */
  opened: ((file: FileHandle) => void) | undefined;
  /** Takes the room of a file or directory that has just been made; where it rejects, that is undone. */
  enter: (() => Promise<void>) | undefined;
}

/** One thing in a data root. `modifiedAt` is epoch ms, `mode` the nine permission bits, `version` another after each change. */
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

/** How a path is guarded in this jail. */
export function guardIn({ guarded }: Cell, names: Names): Guard {
  return guarded ? guardOf(names) : 'plain';
}

/** Refuses a path at which callers see nothing. NOT_FOUND PATH_NOT_FOUND. */
export function requireVisible(cell: Cell, names: Names): void {
  if (guardIn(cell, names) === 'hidden') throw refused('ENOENT', joinNames(names));
}

/** Refuses a path that must not be written. PERMISSION_DENIED PATH_PROTECTED. */
export function requireWritable(cell: Cell, names: Names): void {
  const guard = guardIn(cell, names);
  if (guard === 'hidden' || guard === 'readOnly') throw protectedPath(names);
}

/** Works in the directory at a path, which is closed behind it. */
export async function inDirectory<T>(cell: Cell, names: Names, work: (dir: FileHandle) => Promise<T>): Promise<T> {
  await using dir = await openPath(cell.root, names);
  return await work(dir);
}

/** Makes the directories of a path that are missing, each on disk before the next. */
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

/** Makes a directory in an open one. Rejects with EEXIST. */
export async function makeDirectoryIn(cell: Cell, dir: FileHandle, name: string): Promise<void> {
  await makeDirectory(dir, name, cell.owner);
  await enter(cell, () => rmdir(at(dir, name)));
  if (cell.durable) await dir.sync();
}

/** Takes the room of what has just been made, or undoes it. */
export async function enter(cell: Cell, undo: () => Promise<void>): Promise<void> {
  try {
    await cell.enter?.();
  } catch (error) {
    // A directory that somebody has filled meanwhile stays.
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

/** Refuses to write to what is no plain file, or has a second name. FAILED_PRECONDITION NOT_A_FILE, PATH_IS_LINK. */
export function requirePlainFile(stats: Stats, names: Names): void {
  const path = joinNames(names);
  if (stats.isSymbolicLink()) throw refused('ELOOP', path);
  if (stats.isDirectory()) throw refused('EISDIR', path);
  if (!stats.isFile()) throw refused('ENXIO', path);
  if (stats.nlink > 1) throw hardLinked(path);
}
