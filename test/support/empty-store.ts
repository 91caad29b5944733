import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { threadId } from 'node:worker_threads';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { fastDir } from './fast-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/dormouse-tests');

/**
 * Opens a store on SQLite with all tables and no rows, like `sqlite::memory:`. It copies a database that was migrated
 * once, which takes a tenth of the time of a migration for each test.
 */
export async function openEmptyStore(): Promise<Store> {
  const folder = await mkdtemp(join(await fastDir(), 'dormouse-store-'));
  const file = join(folder, 'store.db');
  await copyFile(await migrated(), file);
  const store = await openStore(`sqlite:${file}`, TABLES);
  return {
    ...store,
    async close() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

let made: Promise<string> | undefined;

/**
 * Returns the file with the tables of the current migrations. Other threads and runs share it until the migrations
 * change.
 */
function migrated(): Promise<string> {
  made ??= make();
  return made;
}

async function make(): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  const name = `${await fingerprint()}.db`;
  const file = join(CACHE, name);
  if ((await readdir(CACHE)).includes(name)) return file;
  const draft = join(CACHE, `${name}.${process.pid}-${threadId}`);
  await (await openStore(`sqlite:${draft}`, TABLES)).close();
  await rename(draft, file);
  return file;
}

/** Hashes all files that determine the tables. */
async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  const folder = join(ROOT, 'migrations');
  const files = (await readdir(folder)).sort().map((name) => join(folder, name));
  for (const file of [...files, join(ROOT, 'node_modules/typeorm/package.json')]) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}
