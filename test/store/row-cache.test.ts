import test from 'ava';
import { createRowCache } from '../../src/store/row-cache.ts';
import type { Store } from '../../src/store/store.ts';

/** A store whose writes wait until the test commits them or lets them fail. */
function heldStore() {
  const commit = Promise.withResolvers<void>();
  const write = async <T>(work: (tx: never) => Promise<T>): Promise<T> => {
    const result = await work(undefined as never);
    await commit.promise;
    return result;
  };
  return { commit, store: { write } as unknown as Store };
}

test('a row is known from the commit on, and gone from the commit on', async (t) => {
  const { commit, store } = heldStore();
  const rows = createRowCache(store, [{ id: 'a', n: 1 }], ({ id, n }) => [id, n]);
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

test('what is not stored changes nothing', async (t) => {
  const { commit, store } = heldStore();
  const rows = createRowCache(store, [{ id: 'a', n: 1 }], ({ id, n }) => [id, n]);
  const failures = [rows.set('a', 2, async () => {}), rows.delete('a', async () => {})].map((each) =>
    t.throwsAsync(each, { message: 'no commit' }),
  );
  commit.reject(new Error('no commit'));
  await Promise.all(failures);
  t.is(rows.of('a'), 1);
});
