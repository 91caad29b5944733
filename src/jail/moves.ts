import { type FileHandle, rename, rmdir, unlink } from 'node:fs/promises';
import { StatusError } from '../kernel/status.ts';
import {
  type Cell,
  guardIn,
  inDirectory,
  makeDirectoryIn,
  makeParents,
  requireVisible,
  requireWritable,
} from './cell.ts';
import { at, openDirectory, statEntry } from './descriptors.ts';
import { refused } from './errors.ts';
import { type Names, isWithin, joinNames, shown, splitLast } from './path.ts';
import { protectedPath } from './secrets.ts';
import { erase, moveDirectory, moveToFree, openTemps, tempName } from './temps.ts';
import { requireNameable, walk } from './tree.ts';

/** Creates a directory and its parents. Rejects with ALREADY_EXISTS PATH_EXISTS. */
export async function makeDirectoryAt(cell: Cell, names: Names): Promise<void> {
  requireWritable(cell, names);
  const { parent, name } = splitLast(names);
  await makeParents(cell, parent);
  await inDirectory(cell, parent, async (dir) => {
    await makeDirectoryIn(cell, dir, name);
  });
}

/**
 * Renames or moves an entry, a link itself rather than its target. A masked file can be moved only to a path where it
 * is masked, too.
 */
export async function renamePath(cell: Cell, from: Names, to: Names, { replace = false } = {}) {
  const [source, target] = [splitLast(from), splitLast(to)];
  requireVisible(cell, from);
  requireWritable(cell, to);
  if (guardIn(cell, from) === 'masked' && guardIn(cell, to) !== 'masked') throw protectedPath(from);
  requireOutside(from, to);
  await inDirectory(cell, source.parent, async (fromDir) => {
    const moved = await statEntry(fromDir, source.name);
    if (!moved) throw refused('ENOENT', joinNames(from));
    await inDirectory(cell, target.parent, async (toDir) => {
      const there = await statEntry(toDir, target.name);
      const same = there?.ino === moved.ino && there.dev === moved.dev;
      if (there && !same && !(replace && there.isFile() && moved.isFile())) throw refused('EEXIST', joinNames(to));
      if (moved.isDirectory() && to.length > from.length) await requireNameableIn(fromDir, source.name, to);
      if (there) await rename(at(fromDir, source.name), at(toDir, target.name));
      else await moveToFree(fromDir, source.name, toDir, target.name);
      await toDir.sync();
      await fromDir.sync();
    });
  });
}

/**
 * Checks the new paths of all entries below a directory. Used only for moves to a greater depth, because it walks the
 * whole tree.
 */
async function requireNameableIn(dir: FileHandle, name: string, to: Names): Promise<void> {
  await using inside = await openDirectory(dir, name);
  for await (const { path } of walk(inside)) requireNameable(to, path);
}

/**
 * Removes a file, a link itself, or a directory with its contents. A directory disappears at once and is then erased.
 */
export async function removePath(cell: Cell, names: Names): Promise<void> {
  requireVisible(cell, names);
  const { parent, name } = splitLast(names);
  await inDirectory(cell, parent, async (dir) => {
    const there = await statEntry(dir, name);
    if (!there) throw refused('ENOENT', joinNames(names));
    if (there.isDirectory()) {
      await using temps = await openTemps(cell.root, cell.owner);
      const moved = tempName();
      await moveDirectory(dir, name, temps, moved);
      await dir.sync();
      await erase(temps, moved, temps);
    } else {
      await unlink(at(dir, name));
      await dir.sync();
    }
  });
}

/** Removes an empty directory. Rejects with FAILED_PRECONDITION DIRECTORY_NOT_EMPTY for any other. */
export async function removeEmptyDirectory(cell: Cell, names: Names): Promise<void> {
  requireVisible(cell, names);
  const { parent, name } = splitLast(names);
  await inDirectory(cell, parent, async (dir) => {
    await rmdir(at(dir, name)).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOTEMPTY' ? notEmpty(names) : error;
    });
    await dir.sync();
  });
}

/** Throws FAILED_PRECONDITION PATH_WITHIN_ITSELF if a directory would be moved or copied into itself. */
export function requireOutside(from: Names, to: Names): void {
  if (to.length <= from.length || !isWithin(to, from)) return;
  const sentence = 'A directory cannot be moved or copied into itself.';
  throw new StatusError('FAILED_PRECONDITION', 'PATH_WITHIN_ITSELF', sentence, {
    metadata: { from: joinNames(from), to: joinNames(to) },
  });
}

function notEmpty(names: Names): StatusError {
  const path = shown(joinNames(names));
  return new StatusError('FAILED_PRECONDITION', 'DIRECTORY_NOT_EMPTY', `${path}: The directory is not empty.`, {
    metadata: { path },
  });
}
