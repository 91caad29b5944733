import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, mkdir, open, rename, rmdir, unlink } from 'node:fs/promises';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { ignore } from '../kernel/ignore.ts';
import { type Name, SAFELY, at, eachOf, namesIn, openDirectory, statEntry, unlockDirectory } from './descriptors.ts';

/**
 * The folder of unfinished work: incomplete uploads, and trees that are being staged or removed. It is in the data root
 * itself, because a rename is atomic only within one file system.
 */
export const TEMPS = '.dormouse-tmp';

// Distinguishes this process's work from leftovers of an earlier one.
const RUN = randomBytes(6).toString('hex');

const ENTRIES_AT_ONCE = 8;
/** Most nested directories that are open at once. Deeper ones are moved up first. */
const LEVELS_OPEN = 16;
/** Errors of file systems without hard links, or with no more of them left. */
const NO_LINKS = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK']);
/** Most passes over a directory that the game keeps filling while it is removed. */
const MAX_PASSES = 50;

/** Opens the folder of unfinished work, and creates it if missing. The caller closes it. */
export async function openTemps(root: FileHandle, owner: FileOwner | undefined): Promise<FileHandle> {
  for (let tries = 0; ; tries++) {
    try {
      return await unlockDirectory(root, TEMPS);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (tries > 2 || !['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code ?? '')) throw error;
      // Remove a link or file in its place.
      if (code !== 'ENOENT') await unlink(at(root, TEMPS)).catch(ignore('ENOENT'));
    }
    await makeDirectory(root, TEMPS, owner, 0o700).catch(ignore('EEXIST'));
  }
}

/** Returns a unique name for a temporary entry of this process. */
export function tempName(): string {
  return `${RUN}-${randomBytes(6).toString('hex')}`;
}

/** Creates a directory that belongs to the game at once. Rejects with EEXIST if the name is taken. */
export async function makeDirectory(dir: FileHandle, name: Name, owner: FileOwner | undefined, mode = 0o750) {
  await mkdir(at(dir, name), mode);
  if (!owner) return;
  await using made = await openDirectory(dir, name);
  await made.chown(owner.uid, owner.gid);
}

/**
 * Moves an entry to a free name, safe against races: EEXIST or ENOTEMPTY if it is taken. A file briefly has both names,
 * and keeps both if this process is killed at that moment.
 */
export async function moveToFree(fromDir: FileHandle, from: Name, toDir: FileHandle, to: Name): Promise<void> {
  const [source, target] = [at(fromDir, from), at(toDir, to)];
  if (await isDirectory(fromDir, from)) {
    // A rename replaces an empty directory, so this one reserves the name until then.
    await mkdir(target, 0o700);
    return await rename(source, target).catch(async (error: unknown) => {
      await rmdir(target).catch(ignore('ENOENT', 'ENOTEMPTY', 'ENOTDIR'));
      throw error;
    });
  }
  try {
    await link(source, target);
  } catch (error) {
    // Without hard links, the game may take the name in between.
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? '') || (await statEntry(toDir, to))) throw error;
    return await rename(source, target);
  }
  await unlink(source);
}

/** Moves a directory after restoring its owner's access, which the move needs. */
export async function moveDirectory(fromDir: FileHandle, from: Name, toDir: FileHandle, to: Name): Promise<void> {
  await (await unlockDirectory(fromDir, from)).close();
  await rename(at(fromDir, from), at(toDir, to));
}

/**
 * Creates a file that belongs to the game at once, open for reading and writing. Rejects with EEXIST if the name is
 * taken.
 */
export async function makeFile(
  dir: FileHandle,
  name: Name,
  owner: FileOwner | undefined,
  mode = 0o640,
): Promise<FileHandle> {
  const { O_RDWR, O_CREAT, O_EXCL } = constants;
  const file = await open(at(dir, name), O_RDWR | O_CREAT | O_EXCL | SAFELY, mode);
  try {
    if (owner) await file.chown(owner.uid, owner.gid);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Removes unfinished work of an earlier process. Rejects with the first error, after trying all entries. */
export async function sweepTemps(root: FileHandle): Promise<void> {
  const temps = await unlockDirectory(root, TEMPS).catch(ignore('ENOENT', 'ENOTDIR', 'ELOOP'));
  if (!temps) return;
  const failures: unknown[] = [];
  try {
    for await (const names of namesIn(temps)) {
      for (const name of names) {
        if (name.toString('latin1').startsWith(RUN)) continue;
        await erase(temps, name, temps).catch((error: unknown) => failures.push(error));
      }
    }
  } finally {
    await temps.close();
  }
  if (failures.length > 0) throw failures[0];
}

/**
 * Removes an entry with its contents, if it exists. Removes a link without following it. However deep the tree, few of
 * its levels are open at once: deeper directories are first moved into `temps`.
 */
export async function erase(dir: FileHandle, name: Name, temps: FileHandle): Promise<void> {
  const deep: string[] = [];
  await eraseTree(dir, name, 0);
  for (let moved = deep.pop(); moved !== undefined; moved = deep.pop()) await eraseTree(temps, moved, 0);

  async function eraseTree(dir: FileHandle, name: Name, level: number): Promise<void> {
    if (!(await isDirectory(dir, name))) return unlink(at(dir, name)).catch(ignore('ENOENT'));
    if (level >= LEVELS_OPEN) {
      const moved = tempName();
      await moveDirectory(dir, name, temps, moved).catch(ignore('ENOENT', 'ENOTDIR', 'ELOOP'));
      return void deep.push(moved);
    }
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      const inside = await unlockDirectory(dir, name).catch(ignore('ENOENT', 'ENOTDIR', 'ELOOP'));
      if (inside) await eraseAllIn(inside, level + 1);
      const left = await rmdir(at(dir, name)).catch((error: NodeJS.ErrnoException) => error);
      if (left === undefined || left.code === 'ENOENT') return;
      if (left.code !== 'ENOTEMPTY') throw left;
    }
  }

  async function eraseAllIn(inside: FileHandle, level: number): Promise<void> {
    try {
      for await (const names of namesIn(inside)) {
        const directories: Buffer[] = [];
        await eachOf(names, ENTRIES_AT_ONCE, async (child) => {
          if (await isDirectory(inside, child)) directories.push(child);
          else await unlink(at(inside, child)).catch(ignore('ENOENT'));
        });
        // One at a time, so that descriptors do not multiply with the levels.
        for (const child of directories) await eraseTree(inside, child, level);
      }
    } finally {
      await inside.close();
    }
  }
}

async function isDirectory(dir: FileHandle, name: Name): Promise<boolean> {
  return (await statEntry(dir, name))?.isDirectory() ?? false;
}
