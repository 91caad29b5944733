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
 * A store on SQLite with all tables and nothing in them, like `sqlite::memory:`. The tables are copied from a database
 * that was migrated once, which takes a tenth of the time of migrating one for each test.
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

/** The file with the tables as today's migrations make them; kept for other threads and runs, for as long as they are the same. */
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

/** Of all that decides what the tables are. */
async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  const folder = join(ROOT, 'migrations');
  const files = (await readdir(folder)).sort().map((name) => join(folder, name));
  for (const file of [...files, join(ROOT, 'node_modules/typeorm/package.json')]) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}
