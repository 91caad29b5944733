import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { MIGRATIONS, type Migration } from '../../migrations/index.ts';
import { copyDatabase } from '../../src/store/copy-database.ts';
import { type DataSources, openDataSources } from '../../src/store/data-source.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { isHere } from '../support/needs.ts';
import { LATER } from './later.ts';
import { postgresDatabase } from './on-each.ts';
import { directory, refused } from './support.ts';

type Row = Record<string, unknown>;

const ODD = 'Hällo 🐭 \'";--\\ \n\u0001\u2028\\u0000 {"a":[null,true,1]}';

async function opened(t: ExecutionContext, url: string): Promise<DataSources> {
  await (await openStore(url, TABLES)).close();
  const sources = await openDataSources(url, TABLES);
  t.teardown(() => sources.close());
  return sources;
}

/** Returns the content of a database by table, with sorted rows. */
async function contentOf({ writer }: DataSources): Promise<Record<string, string[]>> {
  const content: Record<string, string[]> = {};
  for (const { tableName } of writer.entityMetadatas) {
    const rows = (await writer.getRepository(tableName).find()).map((row) => JSON.stringify(row));
    content[tableName] = rows.toSorted();
  }
  return content;
}

/** Inserts two rows in each table, with consistent references: one of extreme values, and one of empty values. */
async function fillAll({ writer }: DataSources): Promise<void> {
  await writer.query('PRAGMA foreign_keys = 0');
  for (const isFull of [true, false]) {
    for (const { tableName, columns } of writer.entityMetadatas) {
      const entries = columns.map(({ databaseName, type, isNullable }) => {
        if (isNullable && !isFull) return [databaseName, null];
        if (type === 'boolean') return [databaseName, isFull];
        if (type === 'bigint') return [databaseName, isFull ? Number.MAX_SAFE_INTEGER : -1];
        if (type === 'integer') return [databaseName, isFull ? 2 ** 31 - 1 : 0];
        if (type === 'simple-json') return [databaseName, JSON.stringify(isFull ? { [ODD]: [ODD, 1, null] } : [])];
        return [databaseName, isFull ? ODD : ''];
      }) as [string, unknown][];
      const names = entries.map(([name]) => `"${name}"`).join(', ');
      const values = entries.map(([, value]) => value);
      await writer.query(`INSERT INTO "${tableName}" (${names}) VALUES (${values.map(() => '?').join(', ')})`, values);
    }
  }
  await writer.query('PRAGMA foreign_keys = 1');
}

test.runIf(isHere('postgres'))(
  'every table survives a copy to PostgreSQL and back to SQLite, except the leases',
  async (t) => {
    const folder = await directory(t);
    const from = await opened(t, `sqlite:${join(folder, 'from.db')}`);
    await fillAll(from);
    t.deepEqual(await from.writer.query('PRAGMA foreign_key_check'), []);
    // More rows than are copied at a time.
    for (let n = 0; n < 1_001; n++)
      await from.writer.query('INSERT INTO "meta" ("key", "value") VALUES (?, ?)', [`key ${n}`, String(n)]);
    const before = await contentOf(from);
    for (const [name, rows] of Object.entries(before)) t.is(rows.length, name === 'meta' ? 1_003 : 2, name);
    // Leases are not copied: the holder of one database does not hold the other.
    const expected = { ...before, leases: [] };

    const url = await postgresDatabase();
    await copyDatabase(`sqlite:${join(folder, 'from.db')}`, url);
    const there = await openDataSources(url, TABLES);
    t.teardown(() => there.close());
    t.deepEqual(await contentOf(there), expected);

    const back = `sqlite:${join(folder, 'back.db')}`;
    await copyDatabase(url, back);
    const again = await openDataSources(back, TABLES);
    t.teardown(() => again.close());
    t.deepEqual(await contentOf(again), expected);
  },
);

test.runIf(isHere('postgres'))(
  'a copied database keeps the release of its source, and the next start migrates it',
  async (t) => {
    const file = `sqlite:${join(await directory(t), 'from.db')}`;
    await (await openStore(file, TABLES)).close();
    const url = await postgresDatabase();
    const names = (migrations: readonly Migration[]) => migrations.map(({ name }) => name);
    await copyDatabase(file, url, LATER);
    const done = async () => {
      const sources = await openDataSources(url, []);
      const rows = await sources.writer.query<{ name: string }[]>('SELECT "name" FROM "migrations" ORDER BY "id"');
      await sources.close();
      return rows.map(({ name }) => name);
    };
    t.deepEqual(await done(), names(MIGRATIONS));
    const store = await openStore(url, TABLES, LATER);
    await store.migrate();
    await store.close();
    t.deepEqual(await done(), names(LATER));
    // The target is no longer empty.
    await refused(t, copyDatabase(file, url, LATER), 'SERVICE_BACKUP');
  },
);

test.runIf(isHere('postgres'))(
  'a copy that fails on an out-of-range row or a newer source leaves the PostgreSQL database empty',
  async (t) => {
    const file = `sqlite:${join(await directory(t), 'from.db')}`;
    const from = await opened(t, file);
    const url = await postgresDatabase();
    const isEmpty = async () => {
      const sources = await openDataSources(url, []);
      const found = await sources.writer.query<Row[]>(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`);
      await sources.close();
      return found.length === 0;
    };
    await fillAll(from);
    await from.writer.query('UPDATE "servers" SET "ramMb" = ?', [2 ** 31]);
    const error = await refused(t, copyDatabase(file, url), 'SERVICE_BACKUP');
    t.regex(error.message, /The table servers cannot be copied: .*out of range/);
    t.true(await isEmpty());
    await from.writer.query('UPDATE "servers" SET "ramMb" = 1, "motd" = ?', ['a\0b']);
    await from.writer.query(`INSERT INTO migrations (timestamp, name) VALUES (9, 'Later9')`);
    await refused(t, copyDatabase(file, url), 'STORE_NEWER');
    t.true(await isEmpty());
    await from.writer.query(`DELETE FROM migrations WHERE timestamp = 9`);
    await copyDatabase(file, url);
    const there = await openDataSources(url, []);
    t.teardown(() => there.close());
    t.deepEqual(await there.writer.query('SELECT DISTINCT "motd" FROM "servers"'), [{ motd: 'a\u{FFFD}b' }]);
  },
);
