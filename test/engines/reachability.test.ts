import test from 'ava';
import type { Game } from '../../src/engines/engine.ts';
import { createReachability } from '../../src/engines/reachability.ts';
import { fakeClock } from '../fakes/clock.ts';

test('engine reachability is cached for a few seconds, and a hanging engine counts as unreachable', async (t) => {
  const clock = fakeClock();
  let answer: () => Promise<Game[]> = async () => [];
  let asked = 0;
  const engine = {
    list() {
      asked++;
      return answer();
    },
  };
  const it = createReachability(engine, clock);
  t.deepEqual(await Promise.all([it.reachable(), it.reachable()]), [true, true]);
  t.is(asked, 1);
  answer = () => Promise.reject(new Error('down'));
  t.true(await it.reachable());
  await clock.advance(5_000);
  t.false(await it.reachable());
  const { promise: never } = Promise.withResolvers<Game[]>();
  answer = () => never;
  await clock.advance(5_000);
  t.false(await it.reachable());
  t.is(asked, 3);
});
