import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { createLendableMutex } from '../../src/backups/lendable-mutex.ts';
import { fakeClock } from '../fakes/clock.ts';

const NEVER = new AbortController().signal;

/** A mutex, the steps taken while holding it, and holders that wait for a given promise. */
function bench() {
  const clock = fakeClock(0);
  const withLock = createLendableMutex(clock, 3_000);
  const done: string[] = [];
  const begin = (name: string, slow?: Promise<unknown>, signal = NEVER, key = '') =>
    withLock(
      key,
      async ({ lend }) => {
        done.push(`${name} in`);
        if (slow) await lend(() => slow, signal);
        done.push(`${name} works`);
        await turn();
        done.push(`${name} out`);
      },
      signal,
    );
  return { clock, done, begin };
}

test('a briefly slow holder keeps the mutex, and waiters follow in order', async (t) => {
  const { clock, done, begin } = bench();
  const slow = Promise.withResolvers<void>();
  const all = ['one', 'two', 'three'].map((name) => begin(name, name === 'one' ? slow.promise : undefined));
  await clock.advance(2_999);
  await turn();
  t.deepEqual(done, ['one in']);
  slow.resolve();
  await Promise.all(all);
  t.deepEqual(
    done,
    ['one', 'two', 'three'].flatMap((name) => [`${name} in`, `${name} works`, `${name} out`]),
  );
});

test('a holder that stays slow lends the mutex and regains it before waiters that have not begun', async (t) => {
  const { clock, done, begin } = bench();
  const slow = Promise.withResolvers<void>();
  const long = Promise.withResolvers<void>();
  const one = begin('one', slow.promise);
  const two = begin('two', long.promise);
  const three = begin('three');
  await turn();
  await clock.advance(3_000);
  await turn();
  t.deepEqual(done.splice(0), ['one in', 'two in']);
  slow.resolve();
  await turn();
  t.deepEqual(done, [], 'two still holds the mutex');
  long.resolve();
  await Promise.all([one, two, three]);
  const order = ['two works', 'two out', 'one works', 'one out', 'three in', 'three works', 'three out'];
  t.deepEqual(done, order);
});

test('a lender that aborts does not disturb the current holder, and failing slow work rejects at once', async (t) => {
  const { clock, done, begin } = bench();
  const gone = new AbortController();
  const slow = Promise.withResolvers<void>();
  const failing = Promise.withResolvers<void>();
  const one = begin('one', slow.promise, gone.signal);
  const two = begin('two', failing.promise);
  await turn();
  await clock.advance(3_000);
  await turn();
  slow.resolve();
  await turn();
  gone.abort(new Error('gone'));
  await t.throwsAsync(one, { message: 'gone' });
  const three = begin('three', undefined, AbortSignal.abort(new Error('never')));
  await t.throwsAsync(three, { message: 'never' });
  const four = begin('four');
  await turn();
  t.deepEqual(done.splice(0), ['one in', 'two in']);
  failing.reject(new Error('failed'));
  await t.throwsAsync(two, { message: 'failed' });
  await four;
  t.deepEqual(done, ['four in', 'four works', 'four out']);
});

test('the mutex alternates between keys, and a single task does not wait for all tasks of another key', async (t) => {
  const { done, begin } = bench();
  const all = ['a1', 'a2', 'a3', 'b1', 'a4'].map((name) => begin(name, undefined, NEVER, name.slice(0, 1)));
  await Promise.all(all);
  t.deepEqual(
    done.filter((each) => each.endsWith('in')),
    ['a1 in', 'b1 in', 'a2 in', 'a3 in', 'a4 in'],
  );
});
