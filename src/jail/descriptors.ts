/**
 * Files relative to an open directory, which is what `openat` does and Node has no call for: Linux resolves
 * `/proc/self/fd/<n>/<name>` from the directory that descriptor n holds, wherever it has been moved since and whatever
 * has been put in its place. With one name at a time and O_NOFOLLOW, no link can ever be followed.
 */
import { type Stats, existsSync, lstat as lstatThen } from 'node:fs';
import { type FileHandle, chmod, constants, lstat, open, opendir } from 'node:fs/promises';
import { StatusError } from '../kernel/status.ts';
import type { Names } from './path.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

/** Linux's flag; Node does not name it. */
const O_PATH = 0o10000000;

/** Never follows a link, never waits for the other end of a pipe. */
export const SAFELY = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/** A name in a directory. Names that are not valid UTF-8 can only be bytes. */
export type Name = string | Buffer;

/** The type of an entry. */
export type Kind = 'file' | 'directory' | 'link' | 'other';

const BATCH = 256;

/** Refuses machines whose kernel is not Linux or hides /proc. UNIMPLEMENTED NOT_SUPPORTED. */
export function requireProc(platform: string = process.platform, descriptors = '/proc/self/fd'): void {
  if (platform === 'linux' && existsSync(descriptors)) return;
  throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', "Servers' files need Linux with /proc mounted.");
}

/** The path of a name in an open directory. Good for as long as the directory is open. */
export function at(dir: Pick<FileHandle, 'fd'>, name: Name): Name {
  const prefix = `/proc/self/fd/${dir.fd}/`;
  return typeof name === 'string' ? prefix + name : Buffer.concat([Buffer.from(prefix), name]);
}

/** Opens a directory in a directory. Rejects with ENOTDIR or ELOOP for anything else, links among it. */
export function openDirectory(parent: FileHandle, name: Name): Promise<FileHandle> {
  return open(at(parent, name), O_RDONLY | O_DIRECTORY | SAFELY);
}

/**
 * Opens a directory that this process's user may have locked itself out of, as a plugin of the same user does. Unlocks it
 * by a descriptor that stands for the place alone, so that nothing else is changed, whatever it is swapped for.
 */
export async function unlockDirectory(parent: FileHandle, name: Name): Promise<FileHandle> {
  const found = await statEntry(parent, name);
  if (found?.isDirectory() && (found.mode & 0o700) !== 0o700) {
    await using place = await open(at(parent, name), O_PATH | O_DIRECTORY | O_NOFOLLOW);
    await chmod(`/proc/self/fd/${place.fd}`, 0o700);
  }
  return await openDirectory(parent, name);
}

/** Opens the directory at the end of a path, component by component; the caller closes it. */
export async function openPath(root: FileHandle, names: Names): Promise<FileHandle> {
  let here = await openDirectory(root, '.');
  for (const name of names) {
    const above = here;
    try {
      here = await openDirectory(above, name);
    } finally {
      await above.close();
    }
  }
  return here;
}

/** Returns the entry of a directory by its name, a link itself rather than its target; undefined if missing. */
export async function statEntry(dir: FileHandle, name: Name): Promise<Stats | undefined> {
  try {
    return await lstat(at(dir, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export function kindOf(entry: Stats): Kind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

/** The names in a directory as they come, in bytes and in batches, so that a huge one costs neither memory nor a pause. */
export async function* namesIn(dir: FileHandle): AsyncGenerator<Buffer[]> {
  await using entries = await opendir(at(dir, '.'), { encoding: 'latin1', bufferSize: BATCH });
  let batch: Buffer[] = [];
  for await (const { name } of entries) {
    batch.push(Buffer.from(name, 'latin1'));
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** A name in a directory, and what the directory itself says of it; nothing behind it has been looked at. */
export interface Named {
  bytes: Buffer;
  name: string;
  isDir: boolean;
}

/** All names in a directory; undefined where there are more than `most`. */
export async function allNamesIn(dir: FileHandle, most: number): Promise<Named[] | undefined> {
  await using entries = await opendir(at(dir, '.'), { encoding: 'latin1', bufferSize: 4 * BATCH });
  const all: Named[] = [];
  for await (const entry of entries) {
    if (all.length === most) return undefined;
    const bytes = Buffer.from(entry.name, 'latin1');
    all.push({ bytes, name: bytes.toString(), isDir: entry.isDirectory() });
  }
  return all;
}

/** Something in a directory, a link itself rather than its target. */
export interface Found {
  name: Buffer;
  stats: Stats;
}

/**
 * The entries of a directory, in the order of its names. They are read in batches: one by one, each would wait for a
 * thread.
 */
export async function* foundIn(dir: FileHandle): AsyncGenerator<Found[]> {
  for await (const names of namesIn(dir)) yield await statAll(dir, names);
}

/**
 * Looks up the existing names, in order. Callbacks halve the work for a large directory. Rejects with the first error,
 * or reports each error to `overlook`.
 */
export function statAll(
  dir: FileHandle,
  names: readonly Buffer[],
  overlook?: (error: Error) => void,
): Promise<Found[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Found[]>();
  const found: (Found | undefined)[] = [];
  let failed: Error | undefined;
  let left = names.length;
  for (const [index, name] of names.entries()) {
    lstatThen(at(dir, name), (error, stats) => {
      if (error && overlook) overlook(error);
      else if (error && error.code !== 'ENOENT') failed ??= error;
      found[index] = error ? undefined : { name, stats };
      left -= 1;
      // Wait until all have ended: until then the directory must stay open.
      if (left > 0) return;
      if (failed) reject(failed);
      else resolve(found.filter((each) => each !== undefined));
    });
  }
  if (left === 0) resolve([]);
  return promise;
}

/** Does `work` for each, at most `atOnce` at the same time; rejects with the first error when all that began has ended. */
export async function eachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const item of rest) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}
