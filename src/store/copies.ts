import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { DataSource } from 'typeorm';
import { syncDirectory } from '../kernel/atomic-file.ts';

/** Older copies are removed as newer ones are made. */
const MOST = 3;

/**
 * Copies an SQLite database beside itself, whole and for its owner's eyes only, before the migration of this name changes it:
 * an earlier release starts on that copy, and on nothing later. Rejects where it cannot be written; then nothing may be changed.
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

/** Copies an SQLite database to a new file of its owner's, as it is at one instant, while others may write to it. */
export async function copyInto(target: string, source: DataSource): Promise<void> {
  // SQLite takes an empty file, and would make one that everybody reads.
  await using file = await open(target, 'wx', 0o600);
  await source.query('VACUUM INTO $1', [target]);
  await file.sync();
}

/** Returns the copy that a release which knows these migrations can start on; undefined without one. */
export async function copyFor(database: string, known: ReadonlySet<string>): Promise<string | undefined> {
  return (await copiesOf(database)).find(({ migration }) => !known.has(migration))?.path;
}

interface Copy {
  path: string;
  /** The one that came next. */
  migration: string;
}

/** Those of earlier migrations first: their names end with when they were written. */
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
