import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { Pace } from '../../../src/kernel/limits/pace.ts';

test('what one window gives is taken, then there is a rest until the next', async (t) => {
  const pace = new Pace({ amount: 100, windowMs: 3_600_000 });
  t.deepEqual([pace.take(60), pace.take(39), pace.take(1)], [false, false, true]);
  t.is(pace.fullWindows, 0);
  const stop = new AbortController();
  const rest = pace.rest(stop.signal);
  t.is(pace.fullWindows, 1);
  stop.abort();
  await rest;
  t.true(pace.take(1), 'the window goes on');
});

test('a rest ends with the window, and windows are counted until one is not used up', async (t) => {
  const pace = new Pace({ amount: 10, windowMs: 20 });
  for (let full = 1; full <= 3; full++) {
    t.true(pace.take(10));
    await pace.rest();
    t.is(pace.fullWindows, full);
  }
  await sleep(40);
  t.false(pace.take(1));
  t.is(pace.fullWindows, 3, 'the last one was used up as well');
  await sleep(40);
  pace.take(1);
  t.is(pace.fullWindows, 0);
});
