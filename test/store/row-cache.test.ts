import test from 'ava';
import { unavailable } from '../../src/store/errors.ts';
import { openRowCache } from '../../src/store/row-cache.ts';
import type { Store } from '../../src/store/store.ts';
import { until } from '../support/until.ts';

interface Stored {
  id: string;
  n: number;
}

/** A store with one table. Its writes wait until the test commits them or lets them fail. */
async function held(table: Stored[]) {
  const commit = Promise.withResolvers<void>();
  const write = async <T>(work: (tx: never) => Promise<T>): Promise<T> => {
    const result = await work(undefined as never);
    await commit.promise;
    return result;
  };
  const reads = { failing: 0, count: 0 };
  const list = async () => {
    reads.count += 1;
    if (reads.failing-- > 0) throw unavailable(new Error('away'));
    return [...table];
  };
  const rows = await openRowCache({ write } as unknown as Store, list, ({ id, n }) => [id, n]);
  return { commit, reads, rows };
}

test('the row cache applies a change at its commit, and no earlier', async (t) => {
  const { commit, rows } = await held([{ id: 'a', n: 1 }]);
  const saved: string[] = [];
  const changes = [rows.set('b', 2, async () => saved.push('b')), rows.delete('a', async () => saved.push('not a'))];
  t.deepEqual(saved, ['b', 'not a']);
  t.deepEqual([rows.of('a'), rows.of('b')], [1, undefined]);
  commit.resolve();
  await Promise.all(changes);
  t.deepEqual([rows.of('a'), rows.of('b')], [undefined, 2]);
  t.deepEqual([...rows.all()], [2]);
  rows.forget('b');
  t.is(rows.of('b'), undefined);
});

test('a failed write leaves the row cache unchanged', async (t) => {
  const { commit, reads, rows } = await held([{ id: 'a', n: 1 }]);
  const failures = [rows.set('a', 2, async () => {}), rows.delete('a', async () => {})].map((each) =>
    t.throwsAsync(each, { message: 'no commit' }),
  );
  commit.reject(new Error('no commit'));
  await Promise.all(failures);
  t.is(rows.of('a'), 1);
  await until(() => reads.count >= 3);
  t.is(rows.of('a'), 1);
});

test('the row cache learns of a stored row whose write was rejected, once the database answers', async (t) => {
  const table = [{ id: 'a', n: 1 }];
  const { commit, reads, rows } = await held(table);
  reads.failing = 1;
  const stored = rows.set('b', 2, async () => table.push({ id: 'b', n: 2 }));
  const removed = rows.delete('a', async () => table.shift());
  commit.reject(new Error('no answer'));
  await t.throwsAsync(stored, { message: 'no answer' });
  await t.throwsAsync(removed, { message: 'no answer' });
  await until(() => rows.of('b') === 2);
  await until(() => rows.of('a') === undefined);
});
