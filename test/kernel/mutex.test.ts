import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { createKeyedMutex, createMutex } from '../../src/kernel/mutex.ts';

test('work under a mutex goes on one by one, in the order in which it was asked for, whatever fails', async (t) => {
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

test('keys don’t wait for each other, and work waits for all earlier work of its own key', async (t) => {
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

test('who gives up waiting is told at once, its work never begins, and the others keep their order', async (t) => {
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

test('what work came to is kept for nobody who comes later, however many there were', async (t) => {
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
