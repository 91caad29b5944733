import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { createKeyedMutex, createMutex } from '../../src/kernel/mutex.ts';

test('a mutex runs work one at a time in the requested order, even after a failure', async (t) => {
  const withLock = createMutex();
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const first = withLock(async () => {
    await held.promise;
    order.push('first');
    throw new Error('failed');
  });
  const second = withLock(async () => order.push('second'));
  const third = withLock(async () => 'third');
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(order, []);
  held.resolve();
  await t.throwsAsync(first, { message: 'failed' });
  t.is(await second, 2);
  t.is(await third, 'third');
});

test('a keyed mutex runs different keys in parallel and the work of one key in order', async (t) => {
  const withLock = createKeyedMutex();
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const a = withLock('a', async () => {
    await held.promise;
    order.push('a');
  });
  const again = withLock('a', async () => order.push('a again'));
  await withLock('b', async () => order.push('b'));
  held.resolve();
  await a;
  const late = withLock('a', async () => order.push('a, late'));
  await Promise.all([again, late]);
  t.deepEqual(order, ['b', 'a', 'a again', 'a, late']);
  t.is(await withLock('a', async () => 'free'), 'free');
});

test('an aborted wait for a mutex rejects at once, its work never runs, and the others keep their order', async (t) => {
  const withLock = createMutex();
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const first = withLock(() => held.promise);
  const impatient = new AbortController();
  const given = withLock(async () => order.push('never'), impatient.signal);
  const third = withLock(async () => order.push('third'));
  impatient.abort(new Error('no longer'));
  await t.throwsAsync(given, { message: 'no longer' });
  t.deepEqual(order, [], 'the third still waits for the first');
  held.resolve();
  await Promise.all([first, third]);
  t.deepEqual(order, ['third']);
  const late = new AbortController();
  t.is(await withLock(async () => (late.abort(), 'to its end'), late.signal), 'to its end');
});

test('a mutex does not retain the results of earlier work', async (t) => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const withLock = createMutex();
  const { signal } = new AbortController();
  const seen: WeakRef<object>[] = [];
  for (let n = 0; n < 20; n++) seen.push(new WeakRef(await withLock(async () => ({ n }), signal)));
  await withLock(async () => {}, signal);
  await new Promise((resolve) => setImmediate(resolve));
  gc();
  t.true(seen.filter((ref) => ref.deref() !== undefined).length <= 1);
});
