import { type FileHandle, rename, unlink } from 'node:fs/promises';
import { type Cell, type Entry, entryOf, inDirectory, makeParents, requirePlainFile, requireWritable } from './cell.ts';
import { at, statEntry } from './descriptors.ts';
import { changedMeanwhile, refused } from './errors.ts';
import { type Names, joinNames, splitLast } from './path.ts';
import { makeFile, moveToFree, openTemps, tempName } from './temps.ts';

export interface ReplaceOptions {
  /** The path must not exist: ALREADY_EXISTS PATH_EXISTS. */
  exclusive?: boolean;
  /** The entry must have this `Entry.version`: ABORTED FILE_CHANGED if it differs or is gone. */
  version?: string | undefined;
  /** The mode of a new file. A replaced file's mode is retained. */
  mode?: number;
}

/** A file being written: invisible until `commit`, removed if that is never called. */
export interface Replacement extends AsyncDisposable {
  write(chunk: Uint8Array): Promise<void>;
  /**
   * Moves the file to its place, on disk and in one step. Returns the size of the replaced file; undefined without one.
   */
  commit(): Promise<{ entry: Entry; replacedBytes: number | undefined }>;
}

/**
 * Starts writing the file at a path, and creates its missing directories. Checks the existing entry now and again at
 * the end. In between, and after a crash, the old file stays unchanged.
 */
export async function replaceFile(cell: Cell, names: Names, options: ReplaceOptions = {}): Promise<Replacement> {
  requireWritable(cell, names);
  const { parent, name } = splitLast(names);
  await makeParents(cell, parent);
  await inDirectory(cell, parent, (dir) => replaceable(dir));
  // Stays open, so that the game may move the directory meanwhile.
  const temps = await openTemps(cell.root, cell.owner);
  const temp = tempName();
  const file = await makeFile(temps, temp, cell.owner, options.mode).catch(async (error: unknown) => {
    await temps.close();
    throw error;
  });
  let inPlace = false;

  /** Returns the entry to replace; throws if it must not be replaced. */
  async function replaceable(dir: FileHandle) {
    const there = await statEntry(dir, name);
    if (there && options.exclusive) throw refused('EEXIST', joinNames(names));
    if (there) requirePlainFile(there, names);
    if (options.version !== undefined && (!there || entryOf(name, there).version !== options.version)) {
      throw changedMeanwhile(names);
    }
    return there;
  }

  return {
    async write(chunk) {
      for (let done = 0; done < chunk.byteLength;) done += (await file.write(chunk, done)).bytesWritten;
    },
    async commit() {
      return await inDirectory(cell, parent, async (dir) => {
        const there = await replaceable(dir);
        if (there) await file.chmod(there.mode & 0o777);
        await file.sync();
        const entry = entryOf(name, await file.stat());
        if (options.exclusive) await moveToFree(temps, temp, dir, name);
        else await rename(at(temps, temp), at(dir, name));
        inPlace = true;
        await dir.sync();
        return { entry, replacedBytes: there?.size };
      });
    },
    async [Symbol.asyncDispose]() {
      await file.close();
      if (!inPlace) await unlink(at(temps, temp)).catch(() => undefined);
      await temps.close();
    },
  };
}
