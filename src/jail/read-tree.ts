import { isUtf8 } from 'node:buffer';
import {
  type Dir,
  type Stats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  opendirSync,
  readSync,
} from 'node:fs';
import { type Name, SAFELY, at } from './descriptors.ts';
import { fileError } from './errors.ts';
import { MAX_MASKED_BYTES, guardOfName, isList, maskProperties } from './secrets.ts';
import { modifiedAtOf } from './stated.ts';
import { MAX_LEVELS, tooDeep } from './tree.ts';

const { O_RDONLY, O_DIRECTORY } = constants;
/** Names read from a directory at once. */
const BATCH = 1_024;
/** Matches most names. As text they take less time than as bytes. */
const ASCII = /^\p{ASCII}*$/u;
/** Errors of names that disappeared since they were read, or are now a link, socket or device. */
const PASSED_OVER = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'ENODEV']);

/** A file or directory of a tree that is being read. */
export interface ReadEntry {
  kind: 'file' | 'directory';
  /** Relative to the root, '/'-separated. */
  path: string;
  /** The path as bytes, if it is not valid UTF-8. */
  bytes?: Buffer | undefined;
  /** The size of the file when it was opened; 0 for a directory. */
  sizeBytes: number;
  /** The nine permission bits. */
  mode: number;
  /** Epoch ms. */
  modifiedAt: number;
  /**
   * Reads from `position` into a part of the buffer. Returns the number of bytes, 0 at the end. Valid until the next
   * entry is requested.
   */
  read: (buffer: Buffer, offset: number, length: number, position: number) => number;
}

/**
 * Yields the entries of a data root as a backup contains them: without hidden files except this service's lists, and
 * with the secrets of `server.properties` masked (`secrets.ts`). For a worker that has the root as an open descriptor:
 * each call blocks, which takes a tenth of the CPU time of `walk` (`tree.ts`). Like `walk`, yields each directory
 * before its contents, does not follow links, and skips entries that vanish meanwhile. Calls `onLink` with the path of
 * each symbolic link. Throws FAILED_PRECONDITION TREE_TOO_DEEP.
 */
export function* readTree(root: number, onLink: (path: string) => void = () => {}): Generator<ReadEntry> {
  for (const met of walkNow(root, { onLink, isHidden: (name) => guardOfName(name) === 'hidden' && !isList(name) })) {
    if (met.stats) yield { ...attributesOf(met, met.stats), kind: 'directory', sizeBytes: 0, read: () => 0 };
    else {
      const fd = openIfThere(met, O_RDONLY);
      if (fd === undefined) continue;
      try {
        const entry = readable(met, fd);
        if (entry) yield entry;
      } finally {
        closeSync(fd);
      }
    }
  }
}

/** How to walk through a tree. */
interface Walk {
  onLink?: (path: string) => void;
  /** Reports whether to skip an entry of the root. */
  isHidden: (name: string) => boolean;
  /** Called before each name; the walk ends once it returns false. */
  onward?: () => boolean;
  /** Reports whether to skip a directory that cannot be opened. By default, the walk throws the error. */
  skips?: (error: unknown) => boolean;
}

/** An entry of an open directory. */
export interface Met {
  path: string;
  bytes: Buffer | undefined;
  dir: number;
  name: Name;
  isAtTop: boolean;
  /** The stats of a directory, which is open; undefined for a file. */
  stats: Stats | undefined;
}

interface Level {
  fd: number;
  names: Dir;
  /** With a trailing slash; '' for the root. */
  path: string;
  bytes: Buffer | undefined;
}

/** Yields each directory before its contents, without opening files. Blocks. */
export function* walkNow(root: number, { onLink, isHidden, onward, skips }: Walk): Generator<Met> {
  const levels: Level[] = [{ fd: root, names: namesOf(root), path: '', bytes: undefined }];
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const found = level.names.readSync();
      if (found === null) {
        levels.pop();
        leave(level, root);
        continue;
      }
      if (onward?.() === false) return;
      const isDirectory = found.isDirectory();
      const isLink = found.isSymbolicLink();
      if (!isDirectory && !isLink && !found.isFile()) continue;
      const met = meet(level, found.name, levels.length === 1);
      if (met.isAtTop && isHidden(met.path)) continue;
      if (isLink) {
        onLink?.(met.path);
        continue;
      }
      let inside: number | undefined;
      try {
        if (levels.length > MAX_LEVELS) throw tooDeep(met.path, MAX_LEVELS);
        inside = isDirectory ? openIfThere(met, O_RDONLY | O_DIRECTORY) : undefined;
      } catch (error) {
        if (skips?.(error)) continue;
        throw error;
      }
      if (inside === undefined) {
        if (!isDirectory) yield met;
        continue;
      }
      const bytes = met.bytes && Buffer.concat([met.bytes, Buffer.from('/')]);
      levels.push({ fd: inside, names: namesOf(inside), path: `${met.path}/`, bytes });
      yield { ...met, stats: fstatSync(inside) };
    }
  } finally {
    for (const level of levels) leave(level, root);
  }
}

/** Opens a directory to read its names. Names can be any bytes, which Latin-1 preserves. */
function namesOf(dir: number): Dir {
  return opendirSync(at({ fd: dir }, ''), { encoding: 'latin1' as BufferEncoding, bufferSize: BATCH });
}

function leave({ fd, names }: Level, root: number): void {
  names.closeSync();
  if (fd !== root) closeSync(fd);
}

function meet(level: Level, latin1: string, isAtTop: boolean): Met {
  const name = ASCII.test(latin1) ? latin1 : Buffer.from(latin1, 'latin1');
  const text = name.toString();
  const isText = level.bytes === undefined && (typeof name === 'string' || isUtf8(name));
  const bytes = isText ? undefined : Buffer.concat([level.bytes ?? Buffer.from(level.path), Buffer.from(name)]);
  return { path: level.path + text, bytes, dir: level.fd, name, isAtTop, stats: undefined };
}

/** Returns the stats of a file of a walk; undefined if it is gone. Valid until the next entry is requested. */
export function statMet({ dir, name, stats }: Met): Stats | undefined {
  return stats ?? lstatSync(at({ fd: dir }, name), { throwIfNoEntry: false });
}

function openIfThere(
  { dir, name, path }: { dir: number; name: Name; path: string },
  flags: number,
): number | undefined {
  try {
    return openSync(at({ fd: dir }, name), flags | SAFELY);
  } catch (error) {
    if (PASSED_OVER.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw fileError(error, path);
  }
}

/**
 * Returns an open file as an entry; undefined if it is not a plain file, or a `server.properties` that is too large.
 */
function readable(met: Met, fd: number): ReadEntry | undefined {
  const stats = fstatSync(fd);
  if (!stats.isFile()) return undefined;
  const attributes = { ...attributesOf(met, stats), kind: 'file' } as const;
  if (met.isAtTop && guardOfName(met.path) === 'masked') {
    if (stats.size > MAX_MASKED_BYTES) return undefined;
    const file = Buffer.alloc(stats.size);
    const masked = maskProperties(file.subarray(0, readSync(fd, file, 0, file.length, 0)));
    const copy = (buffer: Buffer, offset: number, length: number, position: number) =>
      masked.subarray(position, position + length).copy(buffer, offset);
    return { ...attributes, sizeBytes: masked.length, read: copy };
  }
  const read = (buffer: Buffer, offset: number, length: number, position: number) =>
    readSync(fd, buffer, offset, length, position);
  return { ...attributes, sizeBytes: stats.size, read };
}

function attributesOf({ path, bytes }: Met, stats: Stats): Pick<ReadEntry, 'path' | 'bytes' | 'mode' | 'modifiedAt'> {
  return { path, bytes, mode: stats.mode & 0o777, modifiedAt: modifiedAtOf(stats) };
}
