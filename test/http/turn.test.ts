import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import { createTurns } from '../../src/http/turn.ts';

const MOST_MS = 20;
const WORK_MS = 8;

function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

test('what many ask for at once is done over several turns of the event loop, each one in its order', async (t) => {
  const turn = createTurns(MOST_MS);
  const all = Array.from({ length: 12 }, (_, nth) => nth);
  const done: number[] = [];
  /** How much each turn did. */
  const turns: number[] = [];
  let counted = 0;
  const counting = (async () => {
    for (; counted < all.length; await nextTurn()) {
      if (done.length > counted) turns.push(done.length - counted);
      counted = done.length;
    }
  })();
  const one = async (nth: number) => {
    const wait = turn();
    if (wait !== undefined) await wait;
    work(WORK_MS);
    done.push(nth);
  };
  await Promise.all(all.map(one));
  await counting;
  t.deepEqual(done, all);
  t.true(Math.max(...turns) <= 1 + Math.ceil(MOST_MS / WORK_MS), turns.join(' '));
});

test('nobody waits where there is time', async (t) => {
  const turn = createTurns(60_000);
  t.is(turn(), undefined);
  t.is(turn(), undefined);
  await nextTurn();
  t.is(turn(), undefined);
});
