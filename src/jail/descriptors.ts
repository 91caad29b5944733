/**
 * Access to files relative to an open directory, like `openat`, which Node does not offer. Linux resolves
 * `/proc/self/fd/<n>/<name>` from the directory of descriptor n, even if the directory has been moved or replaced
 * since. With one name at a time and O_NOFOLLOW, no link is ever followed.
 */
import { type Stats, existsSync, lstat as lstatThen } from 'node:fs';
import { type FileHandle, chmod, constants, lstat, open, opendir } from 'node:fs/promises';
import { StatusError } from '../kernel/status.ts';
import type { Names } from './path.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

/** Linux's flag, which Node does not export. */
const O_PATH = 0o10000000;

/** Flags that neither follow a link nor wait for the other end of a pipe. */
export const SAFELY = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/** A name in a directory. Names that are not valid UTF-8 can only be bytes. */
export type Name = string | Buffer;

/** The type of an entry. */
export type Kind = 'file' | 'directory' | 'link' | 'other';

const BATCH = 256;

/** Throws UNIMPLEMENTED NOT_SUPPORTED if the kernel is not Linux or hides /proc. */
export function requireProc(platform: string = process.platform, descriptors = '/proc/self/fd'): void {
  if (platform === 'linux' && existsSync(descriptors)) return;
  throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', "Servers' files need Linux with /proc mounted.");
}

/** Returns the path of a name in an open directory. Valid while the directory is open. */
export function at(dir: Pick<FileHandle, 'fd'>, name: Name): Name {
  const prefix = `/proc/self/fd/${dir.fd}/`;
  return typeof name === 'string' ? prefix + name : Buffer.concat([Buffer.from(prefix), name]);
}

/** Opens a directory in a directory. Rejects with ENOTDIR or ELOOP for any other entry, including links. */
export function openDirectory(parent: FileHandle, name: Name): Promise<FileHandle> {
  return open(at(parent, name), O_RDONLY | O_DIRECTORY | SAFELY);
}

/**
 * Opens a directory after restoring this user's access to it, which a plugin of the same user may have removed. Changes
 * the mode through an O_PATH descriptor, so that no other entry is changed even if the directory is swapped.
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

/** Returns the stats of an entry in a directory; undefined if missing. For a link, returns those of the link itself. */
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

/**
 * Yields the names in a directory, unsorted, as bytes and in batches, so that a huge directory needs little memory and
 * does not block.
 */
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

/** A name in a directory, with its type from the directory itself. The entry was not read. */
export interface Named {
  bytes: Buffer;
  name: string;
  isDir: boolean;
}

/** Returns all names in a directory; undefined if there are more than `most`. */
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

/** An entry of a directory, a link itself rather than its target. */
export interface Found {
  name: Buffer;
  stats: Stats;
}

/**
 * Yields the entries of a directory, in the order of its names. Reads them in batches, because single reads would each
 * wait for a thread.
 */
export async function* foundIn(dir: FileHandle): AsyncGenerator<Found[]> {
  for await (const names of namesIn(dir)) yield await statAll(dir, names);
}

/**
 * Returns the stats of the names that exist, in order. Callbacks halve the work for a large directory. Rejects with the
 * first error, or reports each error to `overlook`.
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
      // Wait for all calls, because the directory must stay open until then.
      if (left > 0) return;
      if (failed) reject(failed);
      else resolve(found.filter((each) => each !== undefined));
    });
  }
  if (left === 0) resolve([]);
  return promise;
}

/**
 * Calls `work` for each item, at most `atOnce` at a time. Rejects with the first error, after all started work has
 * ended.
 */
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
