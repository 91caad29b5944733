import test from 'ava';
import { sleep } from '../../src/kernel/sleep.ts';
import { fakeClock } from '../fakes/clock.ts';

test('sleep ends after its time or rejects with its signal’s reason, and leaves no timer', async (t) => {
  const clock = fakeClock();
  const stop = new AbortController();
  let isOver = false;
  const whole = sleep(clock, 1_000, stop.signal).then(() => (isOver = true));
  await clock.advance(999);
  t.false(isOver);
  await clock.advance(1);
  t.true(isOver);
  await whole;

  const cut = sleep(clock, 1_000, stop.signal);
  stop.abort(new Error('enough'));
  await t.throwsAsync(cut, { message: 'enough' });
  await t.throwsAsync(sleep(clock, 1_000, stop.signal), { message: 'enough' });
  t.is(clock.pending(), 0);
});
