import test, { type ExecutionContext } from 'ava';
import { PreparedDatabase } from '../../src/store/prepared.ts';

function open(t: ExecutionContext) {
  const database = new PreparedDatabase(':memory:');
  const ask = (sql: string, values?: unknown[]) =>
    new Promise<unknown[]>((resolve, reject) => {
      database.all(sql, values, (error: Error | null, rows: unknown[]) => (error ? reject(error) : resolve(rows)));
    });
  const change = (sql: string, values?: unknown[]) =>
    new Promise<number>((resolve, reject) => {
      database.run(sql, values, function done(this: { changes: number }, error: Error | null) {
        if (error) reject(error);
        else resolve(this.changes);
      });
    });
  const close = () =>
    new Promise<void>((resolve, reject) => {
      database.close((error) => (error ? reject(error) : resolve()));
    });
  t.teardown(() => close().catch(() => {}));
  return { ask, change, close };
}

test('a reused statement binds its new values and returns the current columns', async (t) => {
  const { ask, change } = open(t);
  await change('CREATE TABLE "notes" ("id" INTEGER PRIMARY KEY, "text" TEXT)');
  const put = 'INSERT INTO "notes" ("id", "text") VALUES ($1, $2)';
  for (const [id, text] of [
    [1, 'one'],
    [2, 'two'],
    [3, null],
  ]) {
    t.is(await change(put, [id, text]), 1);
  }
  const all = 'SELECT * FROM "notes" WHERE "id" > $1 ORDER BY "id"';
  t.deepEqual(await ask(all, [1]), [
    { id: 2, text: 'two' },
    { id: 3, text: null },
  ]);
  t.deepEqual(await ask(all), [], 'an unbound value matches no row');
  await change('ALTER TABLE "notes" ADD COLUMN "more" TEXT');
  t.deepEqual(await ask(all, [2]), [{ id: 3, text: null, more: null }]);
  t.is(await change('UPDATE "notes" SET "text" = $1', ['new']), 3);
  t.is(await change('DELETE FROM "notes" WHERE "id" = $1', [9]), 0);
});

test('concurrent uses share one statement, fail independently, and finish before the database closes', async (t) => {
  const { ask, change, close } = open(t);
  await change('CREATE TABLE "notes" ("id" INTEGER PRIMARY KEY)');
  const put = 'INSERT INTO "notes" ("id") VALUES ($1)';
  const outcomes = await Promise.allSettled([1, 2, 2, 3].map((id) => change(put, [id])));
  t.is(outcomes.filter(({ status }) => status === 'rejected').length, 1);
  await t.throwsAsync(ask('SELECT nonsense'), { message: /no such column/ });
  t.is(await change(put, [4]), 1);
  const texts = Array.from({ length: 400 }, (_, n) => `SELECT "id" AS "n${n}" FROM "notes" WHERE "id" = $1`);
  const rows = await Promise.all(texts.map((sql) => ask(sql, [4])));
  t.deepEqual(rows[399], [{ n399: 4 }]);
  const last = ask('SELECT "id" FROM "notes" WHERE "id" = $1', [3]);
  await close();
  t.deepEqual(await last, [{ id: 3 }]);
});
