import test from 'ava';
import { every } from '../../src/kernel/every.ts';
import { fakeClock } from '../fakes/clock.ts';

test('every() repeats its work at the interval until it is cancelled, and leaves no timer', async (t) => {
  const clock = fakeClock();
  let fired = 0;
  const cancel = every(clock, 1_000, () => {
    if (++fired === 3) cancel();
  });
  await clock.advance(999);
  t.is(fired, 0);
  await clock.advance(1);
  t.is(fired, 1);
  await clock.advance(1_000);
  t.is(fired, 2);
  await clock.advance(10_000);
  t.is(fired, 3, 'cancelled from within its work');
  t.is(clock.pending(), 0);
});
