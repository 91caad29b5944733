import { type Stats, constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { KIB } from '../kernel/units.ts';
import {
  type Cell,
  type Entry,
  enter,
  entryOf,
  guardIn,
  inDirectory,
  requirePlainFile,
  requireVisible,
  requireWritable,
} from './cell.ts';
import { type Name, SAFELY, at, statEntry } from './descriptors.ts';
import { refused } from './errors.ts';
import { type Names, joinNames, splitLast } from './path.ts';
import { MAX_MASKED_BYTES, maskProperties, protectedPath, tooLongToShow } from './secrets.ts';
import { makeFile } from './temps.ts';

/** Bytes that a stream reads from the disk at once. */
const CHUNK_BYTES = 256 * KIB;
const TRIES = 5;
/** The unit of blocks in `stat`. */
const BLOCK_BYTES = 512;

/** Options for opening a file. Default: for reading. */
export interface OpenOptions {
  write?: boolean;
  /** Creates the file if it is missing, even for reading. */
  create?: boolean;
  /** The file must not exist. Has an effect only together with `create`. */
  exclusive?: boolean;
  truncate?: boolean;
  /** The mode of a new file. */
  mode?: number;
}

/** The changeable attributes of a file or directory. Instants are epoch ms. */
export interface Attributes {
  mode?: number;
  accessedAt?: number;
  modifiedAt?: number;
}

/** An open file. Its opener must close it, with `close` or by the end of a stream. */
export interface JailFile extends AsyncDisposable {
  /** The descriptor for a worker to read; undefined if the shown content differs from the disk. */
  readonly descriptor: number | undefined;
  stat(): Promise<Entry>;
  /**
   * Returns the current size, the bytes allocated on the disk, and whether the last name was removed while the file is
   * open.
   */
  extent(): Promise<{ sizeBytes: number; allocatedBytes: number; removed: boolean }>;
  /** Returns at most `length` bytes from `position`; an empty buffer at the end of the file. */
  read(position: number, length: number): Promise<Buffer>;
  /** Reads bytes from `position` into a buffer and returns their number. */
  readInto(buffer: Buffer, position: number): Promise<number>;
  /** Streams the bytes from `start` to `end`, both inclusive. Closes the file at the end unless `keepOpen` is set. */
  stream(options?: { start?: number; end?: number; keepOpen?: boolean }): Readable;
  write(position: number, data: Uint8Array): Promise<void>;
  truncate(sizeBytes: number): Promise<void>;
  setAttributes(attributes: Attributes): Promise<void>;
  /** Resolves once all written data is on disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a file for positional reading and writing, as SFTP needs it. To replace a whole file, use `replaceFile`. */
export async function openFile(cell: Cell, names: Names, options: OpenOptions = {}): Promise<JailFile> {
  if (names.length === 0 && !options.write) throw refused('EISDIR', '');
  const guard = guardIn(cell, names);
  if (options.write) requireWritable(cell, names);
  else requireVisible(cell, names);
  // A write in place could change a secret's name, after which the secret would be readable.
  const startsEmpty = options.truncate || (options.create && options.exclusive);
  if (guard === 'masked' && options.write && !startsEmpty) throw protectedPath(names);
  const { parent, name } = splitLast(names);
  return await inDirectory(cell, parent, async (dir) => {
    const file = await openIn(cell, dir, name, names, options);
    return guard === 'masked' && !options.write ? await maskedFile(file, name, names) : plainFile(cell, file, name);
  });
}

/** Opens a file found by a walk for reading. `names` is its path, which decides how it is guarded. */
export async function openMet(cell: Cell, dir: FileHandle, name: Name, names: Names): Promise<JailFile> {
  const file = await openReadable(dir, name, names);
  const shownName = names.at(-1) ?? '';
  return guardIn(cell, names) === 'masked'
    ? await maskedFile(file, shownName, names)
    : plainFile(cell, file, shownName);
}

/**
 * Changes the attributes of a file or directory through its descriptor, and so never those of a link's target. Keeps
 * the permissions that the service needs.
 */
export async function setAttributes(cell: Cell, names: Names, attributes: Attributes): Promise<void> {
  requireVisible(cell, names);
  requireWritable(cell, names);
  const { parent, name } = splitLast(names);
  await inDirectory(cell, parent, async (dir) => {
    await using file = await open(at(dir, name), constants.O_RDONLY | SAFELY);
    const stats = await file.stat();
    if (!stats.isDirectory()) requirePlainFile(stats, names);
    await change(file, stats, attributes);
  });
}

async function openIn(cell: Cell, dir: FileHandle, name: string, names: Names, options: OpenOptions) {
  const openThere = () =>
    options.write ? openWritable(dir, name, names, options.truncate ?? false) : openReadable(dir, name, names);
  for (let tries = 0; ; tries++) {
    try {
      if (!options.create || (await mayOnlyBeRead(cell, dir, name, names, options))) return await openThere();
      return await makeFileIn(cell, dir, name, options.mode).catch((error) => {
        if (options.exclusive || (error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        return openThere();
      });
    } catch (error) {
      // The file was removed in between, so try to create it after all.
      if (!options.create || tries >= TRIES || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

/**
 * Reports whether a file opened with `create` exists already and is opened only for reading. Throws if the file would
 * be created in a protected place.
 */
async function mayOnlyBeRead(cell: Cell, dir: FileHandle, name: string, names: Names, options: OpenOptions) {
  if (options.write) return false;
  if (!options.exclusive && (await statEntry(dir, name))) return true;
  requireWritable(cell, names);
  return false;
}

async function makeFileIn(cell: Cell, dir: FileHandle, name: string, mode = 0o640): Promise<FileHandle> {
  const file = await makeFile(dir, name, cell.owner, modeOf(mode, 0o600));
  await enter(cell, async () => {
    await file.close();
    await unlink(at(dir, name));
  });
  return file;
}

async function openReadable(dir: FileHandle, name: Name, names: Names): Promise<FileHandle> {
  return await checked(await open(at(dir, name), constants.O_RDONLY | SAFELY), (stats) => {
    if (stats.isDirectory()) throw refused('EISDIR', joinNames(names));
    if (!stats.isFile()) throw refused('ENXIO', joinNames(names));
  });
}

async function openWritable(dir: FileHandle, name: string, names: Names, truncate: boolean): Promise<FileHandle> {
  // Truncate only after the check that it is a plain file with one name.
  const file = await checked(await open(at(dir, name), constants.O_RDWR | SAFELY), (stats) =>
    requirePlainFile(stats, names),
  );
  if (truncate) await file.truncate(0);
  return file;
}

async function checked(file: FileHandle, check: (stats: Stats) => void): Promise<FileHandle> {
  try {
    check(await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function plainFile(cell: Cell, file: FileHandle, name: string): JailFile {
  cell.opened?.(file);
  const close = () => file.close();
  return {
    descriptor: file.fd,
    stat: async () => entryOf(name, await file.stat()),
    async extent() {
      const { size, blocks, nlink } = await file.stat();
      return { sizeBytes: size, allocatedBytes: blocks * BLOCK_BYTES, removed: nlink === 0 };
    },
    async read(position, length) {
      const buffer = Buffer.allocUnsafe(length);
      const { bytesRead } = await file.read(buffer, 0, length, position);
      return buffer.subarray(0, bytesRead);
    },
    readInto: async (buffer, position) => (await file.read(buffer, 0, buffer.length, position)).bytesRead,
    stream: (options) => streamOf(file, options),
    write: (position, data) => cell.change(() => writeAll(file, position, data)),
    truncate: (sizeBytes) => cell.change(() => file.truncate(sizeBytes)),
    setAttributes: (attributes) => cell.change(async () => change(file, await file.stat(), attributes)),
    sync: () => file.sync(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function writeAll(file: FileHandle, position: number, data: Uint8Array): Promise<void> {
  for (let done = 0; done < data.byteLength;) {
    const { bytesWritten } = await file.write(data, done, data.byteLength - done, position + done);
    done += bytesWritten;
  }
}

/**
 * Creates a stream that can leave the file open. Node's own file streams close the file when they are destroyed,
 * whatever their options.
 */
function streamOf(file: FileHandle, { start = 0, end = Infinity, keepOpen = false } = {}): Readable {
  let position = start;
  async function next(): Promise<Buffer | null> {
    const length = Math.min(CHUNK_BYTES, end + 1 - position);
    if (length <= 0) return null;
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    position += bytesRead;
    return bytesRead > 0 ? buffer.subarray(0, bytesRead) : null;
  }
  const stream = new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      next().then(
        (chunk) => this.push(chunk),
        (error: Error) => this.destroy(error),
      );
    },
  });
  if (!keepOpen) stream.once('close', () => void file.close());
  return stream;
}

/** Returns a read-only copy of a file in memory, with its secrets masked, and closes the file. */
async function maskedFile(file: FileHandle, name: string, names: Names): Promise<JailFile> {
  await using source = file;
  const stats = await source.stat();
  if (stats.size > MAX_MASKED_BYTES) throw tooLongToShow(names);
  const { buffer, bytesRead } = await source.read(Buffer.alloc(stats.size), 0, stats.size, 0);
  const bytes = maskProperties(buffer.subarray(0, bytesRead));
  return bytesFile({ ...entryOf(name, stats), sizeBytes: bytes.length }, bytes);
}

/** Returns a read-only file of bytes in memory. */
export function bytesFile(entry: Entry, bytes: Buffer): JailFile {
  const refuse = async () => Promise.reject(protectedPath([entry.name]));
  const close = async () => {};
  return {
    descriptor: undefined,
    stat: async () => entry,
    extent: async () => ({ sizeBytes: bytes.length, allocatedBytes: bytes.length, removed: false }),
    read: async (position, length) => bytes.subarray(position, position + length),
    readInto: async (buffer, position) => bytes.subarray(position).copy(buffer),
    stream: ({ start = 0, end = bytes.length } = {}) => Readable.from([bytes.subarray(start, end + 1)]),
    write: refuse,
    truncate: refuse,
    setAttributes: refuse,
    sync: close,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function change(file: FileHandle, stats: Stats, { mode, accessedAt, modifiedAt }: Attributes): Promise<void> {
  if (mode !== undefined) await file.chmod(modeOf(mode, stats.isDirectory() ? 0o700 : 0o600));
  if (accessedAt === undefined && modifiedAt === undefined) return;
  await file.utimes((accessedAt ?? stats.atimeMs) / 1_000, (modifiedAt ?? stats.mtimeMs) / 1_000);
}

/** Returns the permission bits without set-uid and the like, and with at least those that the service needs. */
function modeOf(mode: number, least: number): number {
  return (mode & 0o777) | least;
}
