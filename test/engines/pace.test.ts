import test from 'ava';
import { Pace } from '../../src/engines/docker/pace.ts';
import { fakeClock } from '../fakes/clock.ts';

test('the log pace requests a rest once the amount of a window is used up', async (t) => {
  const pace = new Pace({ amount: 100, windowMs: 200 }, fakeClock());
  t.deepEqual([pace.take(60), pace.take(39), pace.take(1)], [false, false, true]);
  t.is(pace.fullWindows, 0);
  const stop = new AbortController();
  const rest = pace.rest(stop.signal);
  t.is(pace.fullWindows, 1);
  stop.abort();
  await rest;
  t.true(pace.take(1), 'an aborted rest does not end the window');
});

test('a rest ends with its window, and full windows are counted until one is not used up', async (t) => {
  const clock = fakeClock();
  const pace = new Pace({ amount: 10, windowMs: 200 }, clock);
  for (let full = 1; full <= 3; full++) {
    t.true(pace.take(10));
    let isOver = false;
    const rest = pace.rest().then(() => (isOver = true));
    await clock.advance(199);
    t.false(isOver);
    await clock.advance(1);
    await rest;
    t.is(pace.fullWindows, full);
  }
  t.false(pace.take(1));
  t.is(pace.fullWindows, 3, 'the previous window was full');
  await clock.advance(200);
  pace.take(1);
  t.is(pace.fullWindows, 0);
});
