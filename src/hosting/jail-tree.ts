import { fileError } from './jail-errors.ts';
import { kindOf, look, namesIn, openDirectory } from './descriptors.ts';
import type { FileHandle } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { guardOfName } from './jail-secrets.ts';
import { MAX_DEPTH } from './jail-path.ts';
import { StatusError } from '../status.ts';

/** A file or directory met on a walk through a tree. */
export interface Met {
  kind: 'file' | 'directory';
  /** Below the place where the walk began, '/'-separated. */
  path: string;
  stats: Stats;
  /** The open directory it lies in, until the next is met, and its name there. */
  dir: FileHandle;
  name: Buffer;
}

/**
 * Everything below an open directory, each directory before what is in it. Links, pipes, sockets and devices are passed
 * over, and so is what vanishes meanwhile. `guarded`: the directory is a data root, whose hidden files are passed over too.
 * FAILED_PRECONDITION TREE_TOO_DEEP.
 */
export async function* walk(dir: FileHandle, guarded: boolean, above = '', depth = 1): AsyncGenerator<Met> {
  if (depth > MAX_DEPTH) {
    throw new StatusError('FAILED_PRECONDITION', 'TREE_TOO_DEEP', `It is more than ${MAX_DEPTH} levels deep.`);
  }
  for await (const names of namesIn(dir)) {
    for (const name of names) {
      if (guarded && guardOfName(name.toString()) === 'hidden') continue;
      const stats = await look(dir, name);
      const kind = stats && kindOf(stats);
      if (!stats || (kind !== 'file' && kind !== 'directory')) continue;
      const path = above + name.toString();
      yield { kind, path, stats, dir, name };
      if (kind === 'directory') yield* below(dir, name, path, depth);
    }
  }
}

async function* below(dir: FileHandle, name: Buffer, path: string, depth: number): AsyncGenerator<Met> {
  let inside: FileHandle;
  try {
    inside = await openDirectory(dir, name);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Gone, or swapped for something else since it was looked at.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return;
    throw fileError(error, path);
  }
  try {
    yield* walk(inside, false, `${path}/`, depth + 1);
  } finally {
    await inside.close();
  }
}
