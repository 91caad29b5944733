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

/** As much as is read from the disk at once, for streams. */
const CHUNK_BYTES = 256 * KIB;
const TRIES = 5;
/** As `stat` counts them. */
const BLOCK_BYTES = 512;

/** How a file is opened; without any of these to be read. */
export interface OpenOptions {
  write?: boolean;
  /** Makes it where it is not there, also to be read. */
  create?: boolean;
  /** It must not be there; means something only together with `create`. */
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

export interface StreamOptions {
  start?: number;
  end?: number;
  keepOpen?: boolean;
}

/** An open file. Its opener closes it, by `close` or by the end of a stream. */
export interface JailFile extends AsyncDisposable {
  /** The descriptor for a worker to read; undefined if the shown content differs from the disk. */
  readonly descriptor: number | undefined;
  stat(): Promise<Entry>;
  /** How long it is now and how much of that is on the disk, and whether its last name has been removed while it is open. */
  extent(): Promise<{ sizeBytes: number; allocatedBytes: number; removed: boolean }>;
  /** The bytes from `position`, at most `length`; none at the end of the file. */
  read(position: number, length: number): Promise<Buffer>;
  /** Fills a buffer with the bytes from `position`, as far as there are any; gives how many. */
  readInto(buffer: Buffer, position: number): Promise<number>;
  /** From byte `start` to byte `end`, both with it. Closes the file at its end, unless told otherwise. */
  stream(options?: StreamOptions): Readable;
  write(position: number, data: Uint8Array): Promise<void>;
  truncate(sizeBytes: number): Promise<void>;
  setAttributes(attributes: Attributes): Promise<void>;
  /** Once it resolves, what was written is on disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a file for positional reading and writing, as SFTP needs it. What replaces a file whole uses `replaceFile`. */
export async function openFile(cell: Cell, names: Names, options: OpenOptions = {}): Promise<JailFile> {
  if (names.length === 0 && !options.write) throw refused('EISDIR', '');
  const guard = guardIn(cell, names);
  if (options.write) requireWritable(cell, names);
  else requireVisible(cell, names);
  // Written in place, a secret's name could be changed and the secret then be read.
  const startsEmpty = options.truncate || (options.create && options.exclusive);
  if (guard === 'masked' && options.write && !startsEmpty) throw protectedPath(names);
  const { parent, name } = splitLast(names);
  return await inDirectory(cell, parent, async (dir) => {
    const file = await openIn(cell, dir, name, names, options);
    return guard === 'masked' && !options.write ? await maskedFile(file, name, names) : plainFile(cell, file, name);
  });
}

/** Opens a file met on a walk, to read it; `names` is what a guard goes by. */
export async function openMet(cell: Cell, dir: FileHandle, name: Name, names: Names): Promise<JailFile> {
  const file = await openReadable(dir, name, names);
  const shownName = names.at(-1) ?? '';
  return guardIn(cell, names) === 'masked'
    ? await maskedFile(file, shownName, names)
    : plainFile(cell, file, shownName);
}

/** Changes a file or directory, by its descriptor and thus never what a link points to. The service's own access stays. */
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
      // Removed between the two: it is to be made after all.
      if (!options.create || tries >= TRIES || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

/** Whether a file that is to be made where it is missing is there, and opened only to be read. Refuses what may not be made. */
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
  // Truncated only once it is known to be a plain file with one name.
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

/** Node's own file streams close the file when they are destroyed, whatever their options. */
function streamOf(file: FileHandle, { start = 0, end = Infinity, keepOpen = false }: StreamOptions = {}): Readable {
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

/** A file whose secrets are starred out, from memory; to be read only. */
async function maskedFile(file: FileHandle, name: string, names: Names): Promise<JailFile> {
  await using source = file;
  const stats = await source.stat();
  if (stats.size > MAX_MASKED_BYTES) throw tooLongToShow(names);
  const { buffer, bytesRead } = await source.read(Buffer.alloc(stats.size), 0, stats.size, 0);
  const bytes = maskProperties(buffer.subarray(0, bytesRead));
  const entry = { ...entryOf(name, stats), sizeBytes: bytes.length };
  const refuse = async () => Promise.reject(protectedPath(names));
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

/** Permission bits without set-uid and its like, and never fewer than the service needs. */
function modeOf(mode: number, least: number): number {
  return (mode & 0o777) | least;
}
