import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openDataSources } from '../../src/store/data-source.ts';
import { getMeta } from '../../src/store/meta.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { put, refused } from './on-each.ts';
import { directory } from './support.ts';

/** A database as the release before the last two migrations left it, with something in it; tells the first of these. */
async function earlier(t: ExecutionContext): Promise<{ file: string; next: string }> {
  const file = join(await directory(t), 'store.db');
  const store = await openStore(`sqlite:${file}`, TABLES);
  await put(store, 'kept', 'of before');
  await store.close();
  const sources = await openDataSources(`sqlite:${file}`, []);
  const { writer } = sources;
  for (let undone = 0; undone < 2; undone++) await writer.undoLastMigration({ transaction: 'all' });
  await sources.close();
  return { file, next: writer.migrations.at(-2)?.name ?? '' };
}

const copiesIn = async (file: string) => (await readdir(join(file, '..'))).filter((name) => /\.before-\w+$/.test(name));

test('before its tables change, a database is copied: the copy is private, and what the release before left', async (t) => {
  const { file, next } = await earlier(t);
  const store = await openStore(`sqlite:${file}`, TABLES);
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
  // Nothing is left to do.
  await store.migrate();
  t.is((await copiesIn(file)).length, 1);
});

test('the newest three copies are kept', async (t) => {
  const { file, next } = await earlier(t);
  for (const name of ['First1', 'Second2', 'Third3']) await writeFile(`${file}.before-${name}`, '');
  const store = await openStore(`sqlite:${file}`, TABLES);
  t.teardown(() => store.close());
  await store.migrate();
  t.deepEqual(
    (await copiesIn(file)).toSorted(),
    ['Second2', 'Third3', next].map((name) => `${basename(file)}.before-${name}`).toSorted(),
  );
});

test('a database that cannot be copied is not changed', async (t) => {
  const { file, next } = await earlier(t);
  await mkdir(`${file}.before-${next}.tmp`);
  const store = await openStore(`sqlite:${file}`, TABLES);
  t.teardown(() => store.close());
  await t.throwsAsync(store.migrate());
  const done = await store.query<{ name: string }>('SELECT "name" FROM "migrations"');
  t.false(done.some(({ name }) => name === next));
});

test('a release that is older than its database names the copy that it can start on', async (t) => {
  const file = join(await directory(t), 'store.db');
  const store = await openStore(`sqlite:${file}`, TABLES);
  for (const name of ['Later9999999999998', 'Later9999999999999']) {
    await store.write((tx) => tx.run('INSERT INTO "migrations" ("timestamp", "name") VALUES (1, $1)', [name]));
  }
  await store.close();
  t.notRegex((await refused(t, openStore(`sqlite:${file}`, TABLES), 'STORE_NEWER')).message, /before/);
  for (const name of ['ClientVersions1796707800000', 'Later9999999999999', 'Later9999999999998'])
    await writeFile(`${file}.before-${name}`, '');
  const { message } = await refused(t, openStore(`sqlite:${file}`, TABLES), 'STORE_NEWER');
  t.true(message.includes(`put back ${file}.before-Later9999999999998,`), message);
});
