import { isUtf8 } from 'node:buffer';
import { fileError } from './jail-errors.ts';
import { kindOf, look, namesIn, openDirectory } from './descriptors.ts';
import type { FileHandle } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { guardOfName, isList } from './jail-secrets.ts';
import { MAX_DEPTH, MAX_PATH_BYTES, shown } from './jail-path.ts';
import type { Names } from './jail-path.ts';
import { StatusError } from '../status.ts';

/** A file or directory met on a walk through a tree. */
export interface Met {
  kind: 'file' | 'directory';
  /** Below the place where the walk began, '/'-separated. */
  path: string;
  /** The path as it is, where it is no text. */
  bytes?: Buffer;
  stats: Stats;
  /** The open directory it lies in, until the next is met, and its name there. */
  dir: FileHandle;
  name: Buffer;
}

export interface WalkOptions {
  /** The directory is a data root, whose hidden files are passed over; */
  guarded?: boolean;
  /** but for the lists that lie with the files they speak of. */
  withLists?: boolean;
}

/** A game can make directories deeper than anybody can name over the API. Each level takes two descriptors. */
const MAX_LEVELS = 512;

interface Level {
  dir: FileHandle;
  names: AsyncGenerator<Buffer>;
  /** With a slash at the end; '' for where the walk began. */
  path: string;
  bytes: Buffer | undefined;
}

/**
 * Everything below an open directory, each directory before what is in it. Links, pipes, sockets and devices are passed
 * over, and so is what vanishes meanwhile. FAILED_PRECONDITION TREE_TOO_DEEP beyond 512 levels.
 */
export async function* walk(root: FileHandle, { guarded = false, withLists = false }: WalkOptions = {}) {
  const levels: Level[] = [{ dir: root, names: eachName(root), path: '', bytes: undefined }];
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const { done, value: name } = await level.names.next();
      if (done) {
        levels.pop();
        if (level.dir !== root) await level.dir.close();
        continue;
      }
      if (guarded && level.dir === root && isHidden(name.toString(), withLists)) continue;
      const met = await meet(level, name);
      if (met === undefined) continue;
      if (levels.length > MAX_LEVELS) throw tooDeep(met.path, MAX_LEVELS);
      yield met;
      const inside = met.kind === 'directory' ? await enter(met) : undefined;
      if (inside) levels.push(inside);
    }
  } finally {
    for (const { dir, names } of levels) {
      await names.return(undefined);
      if (dir !== root) await dir.close();
    }
  }
}

/**
 * Refuses a place for a directory at which something in it, at `path`, would have a name that nobody can say: it could be
 * neither read nor removed by itself. FAILED_PRECONDITION TREE_TOO_DEEP.
 */
export function requireNameable(at: Names, path: string): void {
  if (at.length + path.split('/').length > MAX_DEPTH) throw tooDeep(path, MAX_DEPTH);
  if (Buffer.byteLength(at.join('/')) + 1 + Buffer.byteLength(path) > MAX_PATH_BYTES) throw tooLong(path);
}

async function* eachName(dir: FileHandle): AsyncGenerator<Buffer> {
  for await (const batch of namesIn(dir)) yield* batch;
}

function isHidden(name: string, withLists: boolean): boolean {
  return guardOfName(name) === 'hidden' && !(withLists && isList(name));
}

async function meet(level: Level, name: Buffer): Promise<Met | undefined> {
  const { dir } = level;
  const stats = await look(dir, name);
  const kind = stats && kindOf(stats);
  if (!stats || (kind !== 'file' && kind !== 'directory')) return undefined;
  const met = { kind, path: level.path + name.toString(), stats, dir, name };
  if (level.bytes === undefined && isUtf8(name)) return met;
  return { ...met, bytes: Buffer.concat([level.bytes ?? Buffer.from(level.path), name]) };
}

async function enter({ dir, name, path, bytes }: Met): Promise<Level | undefined> {
  try {
    const inside = await openDirectory(dir, name);
    const within = bytes && Buffer.concat([bytes, Buffer.from('/')]);
    return { dir: inside, names: eachName(inside), path: `${path}/`, bytes: within };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Gone, or swapped for something else since it was looked at.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined;
    throw fileError(error, path);
  }
}

function tooDeep(path: string, levels: number): StatusError {
  return unfit(path, `It would lie more than ${levels} levels deep.`);
}

function tooLong(path: string): StatusError {
  return unfit(path, `Its path would have more than ${MAX_PATH_BYTES} bytes.`);
}

function unfit(path: string, sentence: string): StatusError {
  const metadata = { path: shown(path) };
  return new StatusError('FAILED_PRECONDITION', 'TREE_TOO_DEEP', `${metadata.path}: ${sentence}`, { metadata });
}
