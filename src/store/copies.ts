import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { DataSource } from 'typeorm';
import { syncDirectory } from '../kernel/atomic-file.ts';

/** Most copies to keep. Older ones are removed when a new one is written. */
const MOST = 3;

/**
 * Copies an SQLite database beside itself, readable by its owner alone, before this migration changes it. An earlier
 * release can start only on that copy. Rejects if the copy cannot be written; the database must then not be changed.
 */
export async function copyBefore(database: string, migration: string, source: DataSource): Promise<void> {
  const copy = `${database}.before-${migration}`;
  const draft = `${copy}.tmp`;
  await rm(draft, { force: true });
  await copyInto(draft, source);
  await rename(draft, copy);
  await syncDirectory(dirname(database));
  const copies = await copiesOf(database);
  for (const { path } of copies.slice(0, -MOST)) await rm(path, { force: true });
}

/**
 * Copies an SQLite database as of one instant to a new file, readable by its owner alone. Others may write to the
 * database meanwhile.
 */
export async function copyInto(target: string, source: DataSource): Promise<void> {
  // SQLite accepts an empty file. It would create one that every user can read.
  await using file = await open(target, 'wx', 0o600);
  await source.query('VACUUM INTO $1', [target]);
  await file.sync();
}

/** Returns the copy on which a release with these migrations can start; undefined without one. */
export async function copyFor(database: string, known: ReadonlySet<string>): Promise<string | undefined> {
  return (await copiesOf(database)).find(({ migration }) => !known.has(migration))?.path;
}

interface Copy {
  path: string;
  /** The migration that ran after the copy. */
  migration: string;
}

/**
 * Returns the copies, those before earlier migrations first. The name of a migration ends with the time it was written.
 */
async function copiesOf(database: string): Promise<Copy[]> {
  const folder = dirname(database);
  const prefix = `${basename(database)}.before-`;
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix) && /\d$/.test(name));
  return names
    .map((name) => ({ path: join(folder, name), migration: name.slice(prefix.length) }))
    .toSorted((a, b) => writtenAt(a) - writtenAt(b));
}

function writtenAt({ migration }: Copy): number {
  return Number(/(?<!\d)\d+$/.exec(migration)?.[0]);
}
