import { isUtf8 } from 'node:buffer';
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { StatusError } from '../kernel/status.ts';
import { type Found, foundIn, kindOf, openDirectory } from './descriptors.ts';
import { fileError } from './errors.ts';
import { MAX_DEPTH, MAX_PATH_BYTES, type Names, shown } from './path.ts';
import { guardOfName } from './secrets.ts';

/** A file or directory met on a walk through a tree. */
export interface Met {
  kind: 'file' | 'directory';
  /** Below the place where the walk began, '/'-separated. */
  path: string;
  /** The path as it is, where it is no text. */
  bytes?: Buffer;
  /** As they were when its directory was read, which may be some 250 names ago. */
  stats: Stats;
  /** The open directory it lies in, until the next is met and `leaving` has settled, and its name there. */
  dir: FileHandle;
  name: Buffer;
}

export interface WalkOptions {
  /** The directory is a data root: its hidden files are passed over. */
  guarded?: boolean;
  /** Awaited before any directory is closed: what still uses one is to have settled by then. Never rejects. */
  leaving?: () => Promise<unknown>;
}

/** A game can make directories deeper than anybody can name over the API. Each level takes two descriptors. */
export const MAX_LEVELS = 512;

interface Level {
  dir: FileHandle;
  found: AsyncGenerator<Found>;
  /** With a slash at the end; '' for where the walk began. */
  path: string;
  bytes: Buffer | undefined;
}

/**
 * Everything below an open directory, each directory before what is in it. Links, pipes, sockets and devices are passed
 * over, and so is what vanishes meanwhile. FAILED_PRECONDITION TREE_TOO_DEEP beyond 512 levels.
 */
export async function* walk(root: FileHandle, options: WalkOptions = {}): AsyncGenerator<Met> {
  const { guarded = false, leaving = async () => {} } = options;
  const levels: Level[] = [{ dir: root, found: eachIn(root), path: '', bytes: undefined }];
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const { done, value: found } = await level.found.next();
      if (done) {
        levels.pop();
        await leaving();
        if (level.dir !== root) await level.dir.close();
        continue;
      }
      if (guarded && level.dir === root && guardOfName(found.name.toString()) === 'hidden') continue;
      const met = meet(level, found);
      if (met === undefined) continue;
      if (levels.length > MAX_LEVELS) throw tooDeep(met.path, MAX_LEVELS);
      yield met;
      const inside = met.kind === 'directory' ? await enter(met) : undefined;
      if (inside) levels.push(inside);
    }
  } finally {
    await leaving();
    for (const { dir, found } of levels) {
      await found.return(undefined);
      if (dir !== root) await dir.close();
    }
  }
}

/**
 * Refuses a place for a directory if an entry in it, at `path`, would get a name too long to use: it could be neither
 * read nor removed by itself. FAILED_PRECONDITION TREE_TOO_DEEP.
 */
export function requireNameable(at: Names, path: string): void {
  if (at.length + path.split('/').length > MAX_DEPTH) throw tooDeep(path, MAX_DEPTH);
  if (Buffer.byteLength(at.join('/')) + 1 + Buffer.byteLength(path) > MAX_PATH_BYTES) throw tooLong(path);
}

async function* eachIn(dir: FileHandle): AsyncGenerator<Found> {
  for await (const batch of foundIn(dir)) yield* batch;
}

function meet(level: Level, { name, stats }: Found): Met | undefined {
  const kind = kindOf(stats);
  if (kind !== 'file' && kind !== 'directory') return undefined;
  const met = { kind, path: level.path + name.toString(), stats, dir: level.dir, name };
  if (level.bytes === undefined && isUtf8(name)) return met;
  return { ...met, bytes: Buffer.concat([level.bytes ?? Buffer.from(level.path), name]) };
}

async function enter({ dir, name, path, bytes }: Met): Promise<Level | undefined> {
  try {
    const inside = await openDirectory(dir, name);
    const within = bytes && Buffer.concat([bytes, Buffer.from('/')]);
    return { dir: inside, found: eachIn(inside), path: `${path}/`, bytes: within };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Gone, or swapped for something else since it was looked at.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined;
    throw fileError(error, path);
  }
}

/** A refusal of what lies below so many levels. */
export function tooDeep(path: string, levels: number): StatusError {
  return unfit(path, `It would lie more than ${levels} levels deep.`);
}

function tooLong(path: string): StatusError {
  return unfit(path, `Its path would have more than ${MAX_PATH_BYTES} bytes.`);
}

function unfit(path: string, sentence: string): StatusError {
  const metadata = { path: shown(path) };
  return new StatusError('FAILED_PRECONDITION', 'TREE_TOO_DEEP', `${metadata.path}: ${sentence}`, { metadata });
}
