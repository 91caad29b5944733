import test from 'ava';
import { createCrowd } from '../../src/kernel/crowd.ts';
import { createFairQueue } from '../../src/kernel/fair-queue.ts';
import { createPenalties } from '../../src/kernel/penalties.ts';
import { createTokenBuckets } from '../../src/kernel/token-buckets.ts';
import { fakeClock } from '../fakes/clock.ts';

test('a bucket: a burst at once, then one by one, and what is refused takes nothing', async (t) => {
  const clock = fakeClock(0);
  const buckets = createTokenBuckets({ burst: 3, perSecond: 0.1 }, clock);
  const take = () => buckets.take('a');
  t.deepEqual([take(), take(), take(), take(), take()], [0, 0, 0, 10_000, 10_000]);
  t.is(buckets.take('b'), 0, 'of each key');
  await clock.advance(9_999);
  t.is(take(), 1);
  await clock.advance(1);
  t.deepEqual([take(), take()], [0, 10_000]);
  buckets.giveBack('a');
  t.deepEqual([take(), take()], [0, 10_000]);
  await clock.advance(3_600_000);
  t.deepEqual([take(), take(), take(), take()], [0, 0, 0, 10_000], 'never more than the burst');
  buckets.giveBack('never taken');
  t.is(buckets.take('never taken'), 0);
});

test('buckets: who keeps asking is not forgotten for those who come and go, and a clock set back lets nobody in', async (t) => {
  const clock = fakeClock(1_000_000);
  const buckets = createTokenBuckets({ burst: 1, perSecond: 0.001 }, clock, 10);
  t.is(buckets.take('poller'), 0);
  for (let n = 0; n < 100; n++) {
    buckets.take(`passer-by ${n}`);
    t.true(buckets.take('poller') > 0);
  }
  for (let n = 0; n < 11; n++) buckets.take(`flood ${n}`);
  t.is(buckets.take('poller'), 0, 'no more than so many are kept');
  await clock.jump(0);
  t.true(buckets.take('poller') > 0);
});

test('queue: each key’s first before any key’s second, lanes in turn, and never more at once than meant', async (t) => {
  const run = createFairQueue({ atOnce: 2, mostWaiting: 100, full: () => new Error('full') });
  const order: string[] = [];
  const open: (() => void)[] = [];
  let [running, most] = [0, 0];
  const add = (lane: string, key: string, name: string) =>
    run({ lane, key }, async () => {
      most = Math.max(most, ++running);
      order.push(name);
      await new Promise<void>((resolve) => open.push(resolve));
      running--;
      return name;
    });
  const results = [
    ...['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => add('strangers', 'a', name)),
    add('strangers', 'b', 'b1'),
    add('strangers', 'b', 'b2'),
    add('known', 'c', 'c1'),
    run({ lane: 'known', key: 'c' }, async () => Promise.reject(new Error('failed'))).catch(String),
  ];
  while (order.length < 8 || open.length > 0) {
    open.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.deepEqual(order, ['a1', 'a2', 'a3', 'c1', 'b1', 'a4', 'b2', 'a5']);
  t.deepEqual(await Promise.all(results), ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1', 'Error: failed']);
  t.is(most, 2);
  t.is(await run({ lane: 'known', key: 'z' }, async () => 'free again'), 'free again');
});

test('queue: whoever fills it gives way to who has less in it', async (t) => {
  const run = createFairQueue({ atOnce: 1, mostWaiting: 4, full: () => new Error('full') });
  const held = Promise.withResolvers<void>();
  const first = run({ lane: 'x', key: 'holder' }, () => held.promise);
  const told = (key: string, lane = 'x') =>
    run({ lane, key }, async () => 'done').catch((error: Error) => error.message);
  const flood = Array.from({ length: 10 }, () => told('flooder'));
  const others = [told('one'), told('other')];
  const elsewhere = told('one', 'y');
  const late = told('late');
  const last = told('last');
  held.resolve();
  await first;
  t.deepEqual(await Promise.all(others), ['done', 'done']);
  t.is(await elsewhere, 'done', 'a full lane is none of the other’s business');
  t.deepEqual((await Promise.all(flood)).filter((outcome) => outcome === 'done').length, 1);
  t.is(await late, 'done');
  t.is(await last, 'full', 'four with one each leave nothing to take away');
});

test('penalties: enforced from a sum on, until their time is up, never for longer than the most', async (t) => {
  const clock = fakeClock(0);
  const penalties = createPenalties({ leastMs: 15_000, mostMs: 60_000 }, clock, 3);
  penalties.add('a', 10_000);
  t.false(penalties.isEnforced('a'));
  penalties.add('a', 10_000);
  t.true(penalties.isEnforced('a'));
  t.false(penalties.isEnforced('b'));
  await clock.advance(19_999);
  t.true(penalties.isEnforced('a'));
  await clock.advance(1);
  t.false(penalties.isEnforced('a'));
  for (let n = 0; n < 100; n++) penalties.add('a', 10_000);
  await clock.advance(59_999);
  t.true(penalties.isEnforced('a'));
  await clock.advance(1);
  t.false(penalties.isEnforced('a'));
  for (const key of ['a', 'b', 'c', 'd']) penalties.add(key, 20_000);
  t.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => penalties.isEnforced(key)),
    [false, true, true, true],
    'bounded',
  );
  await clock.jump(-100_000);
  t.false(penalties.isEnforced('d'), 'a clock set back keeps nobody out');
});

test('crowd: an address has its share, and a flood makes room for others', (t) => {
  const seed = 7;
  let last = seed;
  const random = () => (last = (last * 16_807) % 2_147_483_647) / 2_147_483_647;
  const crowd = createCrowd({ most: 100, mostOfAddress: 10, random, isShared: (address) => address === '10.0.0.1' });
  const present = new Map<string, () => void>();
  const gone: string[] = [];
  const enter = (name: string, address: string, state: 'idle' | 'waiting' | 'busy' = 'idle') => {
    const release = crowd.enter({
      address,
      state: () => state,
      leave: () => {
        gone.push(name);
        present.delete(name);
      },
    });
    if (release) present.set(name, release);
    return release !== undefined;
  };
  for (let n = 0; n < 20; n++) t.is(enter(`one ${n}`, '192.0.2.1'), n < 10, 'of an address');
  t.false(enter('mapped', '::ffff:192.0.2.1'));
  for (let n = 0; n < 10; n++) t.true(enter(`shared ${n}`, '10.0.0.1', 'busy'));
  t.true(enter('shared', '10.0.0.1', 'busy'), 'many people are behind it');
  for (let n = 0; present.size < 100; n++) t.true(enter(`flood ${n}`, `2001:db8:1:${n.toString(16)}::1`));
  for (let n = 0; n < 50; n++) t.true(enter(`person ${n}`, `198.51.${n}.1`, 'waiting'), `${n}`);
  t.is(present.size, 100, 'never more');
  t.is(gone.length, 50);
  const flooded = gone.filter((name) => name.startsWith('flood')).length;
  t.true(flooded >= 45, `${flooded} of 50, seed ${seed}`);
  for (const [name, release] of present) if (!name.startsWith('person') && !name.startsWith('shared')) release();
  for (let n = 0; present.size < 150 && n < 39; n++) enter(`waiter ${n}`, `203.0.113.${n}`, 'waiting');
  t.true(enter('late', '198.18.0.1', 'waiting'), 'one of the network that holds the most goes');
  t.regex(gone.at(-1) ?? '', /^waiter/);
  t.false(enter('one more of them', '203.0.113.200', 'waiting'));
  const [[, release] = ['', () => {}]] = present;
  release();
  release();
  t.true(enter('free', '198.18.1.1'));
});
