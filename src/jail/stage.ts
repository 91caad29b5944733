import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { ignore } from '../kernel/ignore.ts';
import { type Cell, inDirectory, makeParents, requirePlainFile, requireWritable } from './cell.ts';
import { SAFELY, at, eachOf, namesIn, openDirectory, statEntry } from './descriptors.ts';
import { refused } from './errors.ts';
import { type Names, joinNames, splitLast } from './path.ts';
import { erase, makeDirectory, moveToFree, openTemps, tempName } from './temps.ts';
import { walk } from './tree.ts';

const SYNCS_AT_ONCE = 8;

/** A hidden directory for a tree that is not in its place yet. `cell` works in it as in a data root. */
export interface Stage extends AsyncDisposable {
  cell: Cell;
  /** Moves the one entry staged as `name` to a path. Rejects with ALREADY_EXISTS PATH_EXISTS if the path exists. */
  placeAt(name: string, names: Names): Promise<void>;
  /**
   * Moves all staged entries into the directory at a path, which is created if missing. Files replace files, and
   * directories are merged. Rejects before any move if a name is protected or taken by another kind of entry. Returns
   * the bytes of the replaced files. `exclusive`: rejects with ALREADY_EXISTS PATH_EXISTS instead of replacing a file.
   */
  mergeInto(names: Names, exclusive?: boolean): Promise<number>;
}

/**
 * Opens a stage. Disposing of it removes entries that were not placed; after a crash, the next opening of the jail
 * does.
 */
export async function openStage(cell: Cell): Promise<Stage> {
  const temps = await openTemps(cell.root, cell.owner);
  const name = tempName();
  try {
    await makeDirectory(temps, name, cell.owner);
    const root = await openDirectory(temps, name);
    return { ...stageIn(cell, temps, root), [Symbol.asyncDispose]: () => dispose(temps, name, root) };
  } catch (error) {
    await temps.close();
    throw error;
  }
}

function stageIn(cell: Cell, temps: FileHandle, root: FileHandle): Omit<Stage, typeof Symbol.asyncDispose> {
  return {
    // Names are checked when they are placed, not here.
    cell: { ...cell, root, guarded: false, durable: false },
    async placeAt(staged, names) {
      requireWritable(cell, names);
      const { parent, name } = splitLast(names);
      await syncTree(root);
      await inDirectory(cell, parent, async (dir) => {
        await moveToFree(root, staged, dir, name);
        await dir.sync();
      });
    },
    async mergeInto(names, exclusive = false) {
      const replacedBytes = await check(names, exclusive);
      await syncTree(root);
      await makeParents(cell, names);
      await merge(root, names);
      return replacedBytes;
    },
  };

  async function check(into: Names, exclusive: boolean): Promise<number> {
    let replacedBytes = 0;
    for await (const { kind, path } of walk(root)) {
      const names = [...into, ...path.split('/')];
      const { parent, name } = splitLast(names);
      requireWritable(cell, names);
      const there = await inDirectory(cell, parent, (dir) => statEntry(dir, name)).catch(ignore('ENOENT'));
      if (!there) continue;
      if (kind === 'file' && exclusive) throw refused('EEXIST', joinNames(names));
      if (kind === 'file') requirePlainFile(there, names);
      else if (!there.isDirectory()) throw refused('ENOTDIR', joinNames(names));
      if (kind === 'file') replacedBytes += there.size;
    }
    return replacedBytes;
  }

  /** Moves whole directories that do not exist yet, else their entries. */
  async function merge(from: FileHandle, into: Names): Promise<void> {
    await inDirectory(cell, into, async (dir) => {
      for await (const names of namesIn(from)) {
        for (const name of names) await mergeOne(from, dir, name, into);
      }
      await dir.sync();
    });
  }

  async function mergeOne(from: FileHandle, dir: FileHandle, name: Buffer, into: Names): Promise<void> {
    const isDirectory = (await statEntry(from, name))?.isDirectory() ?? false;
    if (!isDirectory || !(await statEntry(dir, name))) return await rename(at(from, name), at(dir, name));
    await using inside = await openDirectory(from, name);
    await merge(inside, [...into, name.toString()]);
  }
}

async function dispose(temps: FileHandle, name: string, root: FileHandle): Promise<void> {
  try {
    await root.close();
    await erase(temps, name, temps);
  } finally {
    await temps.close();
  }
}

/** Syncs a tree to the disk, several files at once, because file systems commit these together. */
async function syncTree(dir: FileHandle): Promise<void> {
  for await (const names of namesIn(dir)) {
    await eachOf(names, SYNCS_AT_ONCE, async (name) => {
      const stats = await statEntry(dir, name);
      if (stats?.isFile()) {
        await using file = await open(at(dir, name), constants.O_RDONLY | SAFELY);
        await file.sync();
      }
    });
    for (const name of names) {
      if (!(await statEntry(dir, name))?.isDirectory()) continue;
      await using inside = await openDirectory(dir, name);
      await syncTree(inside);
    }
  }
  await dir.sync();
}
