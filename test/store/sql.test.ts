import test from 'ava';
import { sql, statement } from '../../src/store/sql.ts';

test('values become numbered parameters in order of appearance, including those of nested parts', (t) => {
  const due = sql`"minutes" * ${60_000} <= "ms"`;
  const one = sql` AND "id" = ${'abc'}`;
  const none = sql``;
  t.deepEqual(statement(sql`UPDATE "x" SET "at" = ${7} WHERE ${due}${none}${one} AND ${due}`), [
    'UPDATE "x" SET "at" = $1 WHERE "minutes" * $2 <= "ms" AND "id" = $3 AND "minutes" * $4 <= "ms"',
    [7, 60_000, 'abc', 60_000],
  ]);
});
