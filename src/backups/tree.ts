import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { SAFELY, at, openDirectory } from '../jail/descriptors.ts';
import { makeDirectory, makeFile } from '../jail/temps.ts';
import { walk } from '../jail/tree.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { syncFileSystem } from '../kernel/sync-file-system.ts';

/** Where a tree is written: an empty folder that nobody else uses. */
export interface TargetDirectory {
  path: string;
  /** The owner of everything in it; undefined: this process's user. */
  owner: FileOwner | undefined;
}

/**
 * A tree in the making. `names` is the path from its top, each character a byte. Rejects with the file system's error:
 * EEXIST where something is there already, ENOENT or ENOTDIR where the folder above is missing.
 */
export interface TreeMaker extends AsyncDisposable {
  folder(names: readonly string[]): Promise<void>;
  /** Open for writing; the caller closes it. */
  file(names: readonly string[], mode: number): Promise<FileHandle>;
  /** Once it resolves, all that was made is on disk, with what is in it. All files are closed by then. */
  finish(): Promise<void>;
}

interface Level {
  name: string;
  dir: FileHandle;
}

/**
 * Makes a tree in the order of a walk, each folder before its content. Only the folders above the last entry are open,
 * so each entry is reached by one name, however long its path is.
 */
export async function openTree({ path, owner }: TargetDirectory, syncAll = syncFileSystem): Promise<TreeMaker> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const levels: Level[] = [{ name: '', dir: await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW) }];

  /** The folder that holds the entry. */
  async function above(names: readonly string[]): Promise<FileHandle> {
    const folders = names.slice(0, -1);
    const apart = folders.findIndex((name, depth) => levels[depth + 1]?.name !== name);
    await leave(1 + (apart === -1 ? folders.length : apart));
    for (const name of folders.slice(levels.length - 1)) {
      levels.push({ name, dir: await openDirectory(levels.at(-1)!.dir, bytesOf(name)) });
    }
    return levels.at(-1)!.dir;
  }

  async function leave(kept: number): Promise<void> {
    for (const { dir } of levels.splice(kept).toReversed()) await dir.close();
  }

  return {
    folder: async (names) => await makeDirectory(await above(names), bytesOf(names.at(-1)!), owner),
    file: async (names, mode) =>
      await makeFile(await above(names), bytesOf(names.at(-1)!), owner, (mode & 0o777) | 0o600),
    async finish() {
      await leave(1);
      if (!(await syncAll(path))) await syncEach(levels[0]!.dir);
    },
    async [Symbol.asyncDispose]() {
      for (const { dir } of levels.splice(0)) await dir.close();
    },
  };
}

async function syncEach(root: FileHandle): Promise<void> {
  for await (const { dir, name } of walk(root)) {
    await using file = await open(at(dir, name), constants.O_RDONLY | SAFELY);
    await file.sync();
  }
  await root.sync();
}

function bytesOf(name: string): Buffer {
  return Buffer.from(name, 'latin1');
}
