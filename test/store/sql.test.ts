import test from 'ava';
import { sql, statement } from '../../src/store/sql.ts';

test('values become parameters in order of their appearance, also those of the parts within', (t) => {
  const due = sql`"minutes" * ${60_000} <= "ms"`;
  const one = sql` AND "id" = ${'abc'}`;
  const none = sql``;
  t.deepEqual(statement(sql`UPDATE "x" SET "at" = ${7} WHERE ${due}${none}${one} AND ${due}`), [
    'UPDATE "x" SET "at" = $1 WHERE "minutes" * $2 <= "ms" AND "id" = $3 AND "minutes" * $4 <= "ms"',
    [7, 60_000, 'abc', 60_000],
  ]);
});
