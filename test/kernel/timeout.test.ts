import test from 'ava';
import { abortable, withTimeout } from '../../src/kernel/timeout.ts';
import { fakeClock } from '../fakes/clock.ts';

const never = () => new Promise<never>(() => {});

test('withTimeout returns the result or error of a promise that settles in time, and leaves no timer', async (t) => {
  const clock = fakeClock();
  t.is(await withTimeout(Promise.resolve('done'), 1_000, { clock }), 'done');
  await t.throwsAsync(withTimeout(Promise.reject(new Error('failed')), 1_000, { clock }), { message: 'failed' });
  t.is(clock.pending(), 0);
});

test('withTimeout stops waiting at its limit, calls the late handler if it has one, and ignores a later rejection', async (t) => {
  const clock = fakeClock();
  const { promise, reject } = Promise.withResolvers<string>();
  const waited = withTimeout(promise, 1_000, { clock, late: () => 'late' });
  const refused = t.throwsAsync(withTimeout(promise, 1_000, { clock }), { message: 'not done within 1000 ms' });
  await clock.advance(999);
  t.is(clock.pending(), 2);
  await clock.advance(1);
  t.is(await waited, 'late');
  await refused;
  reject(new Error('much later'));
  await clock.advance(0);
  const late = () => {
    throw new Error('mine');
  };
  await t.throwsAsync(withTimeout(never(), 0, { late }), { message: 'mine' }, 'also with the real clock');
});

test('an abort signal ends abortable and withTimeout at once, and leaves no timer', async (t) => {
  const clock = fakeClock();
  const call = new AbortController();
  const waits = [abortable(never(), call.signal), withTimeout(never(), 1_000, { clock, signal: call.signal })];
  call.abort(new Error('enough'));
  for (const wait of waits) await t.throwsAsync(wait, { message: 'enough' });
  await t.throwsAsync(abortable(Promise.resolve(), call.signal), { message: 'enough' }, 'aborted beforehand');
  t.is(clock.pending(), 0);
  t.is(await abortable(Promise.resolve('done'), new AbortController().signal), 'done');
});
