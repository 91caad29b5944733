import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { openDirectory } from '../jail/descriptors.ts';
import { makeDirectory, makeFile } from '../jail/temps.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';

/** Where a tree is made anew: an empty folder that nobody else has to do with. */
export interface Ground {
  path: string;
  /** Whom all in it belongs to; undefined: to this process's user. */
  owner: FileOwner | undefined;
}

/**
 * A tree in the making. Names are those on the way from its top, each character a byte. Rejects with what the file system
 * says: EEXIST for what is there already, ENOENT or ENOTDIR where the folder above it is not.
 */
export interface TreeMaker extends AsyncDisposable {
  folder(names: readonly string[]): Promise<void>;
  /** Open for writing; whoever asks for it closes it. */
  file(names: readonly string[], mode: number): Promise<FileHandle>;
  /** Once it resolves, all folders are on disk with the names in them. */
  finish(): Promise<void>;
}

interface Level {
  name: string;
  dir: FileHandle;
}

/**
 * Makes a tree as a walk meets it, each folder before what is in it: only the folders above the last one are open, and from
 * these everything is reached by one name, however long its path is.
 */
export async function openTree({ path, owner }: Ground): Promise<TreeMaker> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const levels: Level[] = [{ name: '', dir: await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW) }];

  /** The folder that something lies in. */
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
    for (const { dir } of levels.splice(kept).toReversed()) {
      await using left = dir;
      await left.sync();
    }
  }

  return {
    folder: async (names) => await makeDirectory(await above(names), bytesOf(names.at(-1)!), owner),
    file: async (names, mode) =>
      await makeFile(await above(names), bytesOf(names.at(-1)!), owner, (mode & 0o777) | 0o600),
    finish: () => leave(0),
    async [Symbol.asyncDispose]() {
      for (const { dir } of levels.splice(0)) await dir.close();
    },
  };
}

function bytesOf(name: string): Buffer {
  return Buffer.from(name, 'latin1');
}
