import { isUtf8 } from 'node:buffer';
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { StatusError } from '../kernel/status.ts';
import { type Found, foundIn, kindOf, openDirectory } from './descriptors.ts';
import { fileError } from './errors.ts';
import { MAX_DEPTH, MAX_PATH_BYTES, type Names, shown } from './path.ts';
import { guardOfName } from './secrets.ts';

/** A file or directory found by a walk through a tree. */
export interface Met {
  kind: 'file' | 'directory';
  /** Relative to the start of the walk, '/'-separated. */
  path: string;
  /** The path as bytes, if it is not valid UTF-8. */
  bytes?: Buffer;
  /** The stats from the read of its directory, up to 256 names ago. */
  stats: Stats;
  /**
   * Its open directory and its name there. The directory stays open until the next entry is requested and `leaving` has
   * settled.
   */
  dir: FileHandle;
  name: Buffer;
}

/**
 * Maximum depth of a walk, since a game can create directories deeper than any path of the API. Each level takes two
 * descriptors.
 */
export const MAX_LEVELS = 512;

interface Level {
  dir: FileHandle;
  found: AsyncGenerator<Found>;
  /** With a trailing slash; '' for the start of the walk. */
  path: string;
  bytes: Buffer | undefined;
}

/**
 * Yields everything below an open directory, each directory before its contents. Skips links, pipes, sockets and
 * devices, and entries that vanish meanwhile. Throws FAILED_PRECONDITION TREE_TOO_DEEP beyond 512 levels.
 *
 * `guarded`: whether the directory is a data root, whose hidden files are skipped. `leaving` is awaited before any
 * directory is closed. It must settle once no code uses the directory any more, and must never reject.
 */
export async function* walk(
  root: FileHandle,
  { guarded = false, leaving = async () => {} }: { guarded?: boolean; leaving?: () => Promise<unknown> } = {},
): AsyncGenerator<Met> {
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
 * Throws FAILED_PRECONDITION TREE_TOO_DEEP if an entry at `path` in a directory would be too deep or its path too long
 * once the directory is at `at`. Such an entry could be neither read nor removed individually.
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
    // The directory was removed or replaced since it was read.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined;
    throw fileError(error, path);
  }
}

/** Returns FAILED_PRECONDITION TREE_TOO_DEEP for an entry more than `levels` levels deep. */
export function tooDeep(path: string, levels: number): StatusError {
  return unfit(path, `It would be more than ${levels} levels deep.`);
}

function tooLong(path: string): StatusError {
  return unfit(path, `Its path would have more than ${MAX_PATH_BYTES} bytes.`);
}

function unfit(path: string, sentence: string): StatusError {
  const metadata = { path: shown(path) };
  return new StatusError('FAILED_PRECONDITION', 'TREE_TOO_DEEP', `${metadata.path}: ${sentence}`, { metadata });
}
