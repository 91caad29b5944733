import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { MIGRATIONS } from '../../migrations/index.ts';
import { openDataSources } from '../../src/store/data-source.ts';
import { getMeta } from '../../src/store/meta.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { LATER, NEXT, SECOND } from './later.ts';
import { onEach, put, refused } from './on-each.ts';
import { directory } from './support.ts';

const next = NEXT.name;

/** A database of this release with one entry. */
async function earlier(t: ExecutionContext): Promise<string> {
  const file = join(await directory(t), 'store.db');
  const store = await openStore(`sqlite:${file}`, TABLES);
  await put(store, 'kept', 'of before');
  await store.close();
  return file;
}

const copiesIn = async (file: string) => (await readdir(join(file, '..'))).filter((name) => /\.before-\w+$/.test(name));

test('a database is copied before its migration: the copy is private and holds the state of the earlier release', async (t) => {
  const file = await earlier(t);
  const store = await openStore(`sqlite:${file}`, TABLES, LATER);
  t.teardown(() => store.close());
  t.deepEqual(await copiesIn(file), []);
  await store.migrate();
  await put(store, 'kept', 'of now');
  t.deepEqual(await copiesIn(file), [`${basename(file)}.before-${next}`]);
  const copy = `${file}.before-${next}`;
  t.is((await stat(copy)).mode & 0o777, 0o600);
  const before = await openStore(`sqlite:${copy}`, TABLES);
  t.teardown(() => before.close());
  t.is(await getMeta(before, 'kept'), 'of before');
  const done = await before.query<{ name: string }>('SELECT "name" FROM "migrations"');
  t.false(done.some(({ name }) => name === next));
  // No migration is left to run.
  await store.migrate();
  t.is((await copiesIn(file)).length, 1);
});

test('only the newest three copies before migrations are kept', async (t) => {
  const file = await earlier(t);
  for (const name of ['First1', 'Second2', 'Third3']) await writeFile(`${file}.before-${name}`, '');
  const store = await openStore(`sqlite:${file}`, TABLES, LATER);
  t.teardown(() => store.close());
  await store.migrate();
  t.deepEqual(
    (await copiesIn(file)).toSorted(),
    ['Second2', 'Third3', next].map((name) => `${basename(file)}.before-${name}`).toSorted(),
  );
});

test('a database that cannot be copied is not migrated', async (t) => {
  const file = await earlier(t);
  await mkdir(`${file}.before-${next}.tmp`);
  const store = await openStore(`sqlite:${file}`, TABLES, LATER);
  t.teardown(() => store.close());
  await t.throwsAsync(store.migrate());
  const done = await store.query<{ name: string }>('SELECT "name" FROM "migrations"');
  t.false(done.some(({ name }) => name === next));
});

test('a release older than its database names the copy that it can start from', async (t) => {
  const file = join(await directory(t), 'store.db');
  const store = await openStore(`sqlite:${file}`, TABLES, LATER);
  await store.close();
  t.notRegex((await refused(t, openStore(`sqlite:${file}`, TABLES), 'STORE_NEWER')).message, /before/);
  for (const name of [MIGRATIONS[0]!.name, SECOND.name, NEXT.name]) await writeFile(`${file}.before-${name}`, '');
  const { message } = await refused(t, openStore(`sqlite:${file}`, TABLES), 'STORE_NEWER');
  t.true(message.includes(`restore ${file}.before-${next},`), message);
});

onEach('a database of a version before 0.1.0 is refused and left unchanged', async (t, url) => {
  const sources = await openDataSources(url, [], { migrations: [] });
  t.teardown(() => sources.close());
  const { writer } = sources;
  // With an empty list this creates only TypeORM's own table.
  await writer.runMigrations();
  for (const name of ['Initial1795132800000', 'People1795219200000'])
    await writer.query('INSERT INTO "migrations" ("timestamp", "name") VALUES (1, $1)', [name]);
  const { message } = await refused(t, openStore(url, TABLES), 'STORE_PRERELEASE');
  t.regex(message, /development version before 0\.1\.0.*has not changed it.*docs\/upgrade-and-backup\.md/);
  await t.throwsAsync(writer.query('SELECT * FROM "meta"'));
  t.is((await writer.query<unknown[]>('SELECT "name" FROM "migrations"')).length, 2);
  if (sources.file !== undefined) t.deepEqual(await copiesIn(sources.file), []);
});
