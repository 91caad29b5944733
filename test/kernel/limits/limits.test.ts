import test from 'ava';
import { createPenalties } from '../../../src/sftp/limits.ts';
import { createClientCount } from '../../../src/kernel/limits/client-count.ts';
import { type Caller, type SemaphoreOptions, createSemaphore } from '../../../src/kernel/limits/semaphore.ts';
import { createPlaces } from '../../../src/kernel/limits/places.ts';
import { atMost, backoff, createSlidingLog } from '../../../src/kernel/limits/sliding-log.ts';
import { type Taken, createRateLimiter } from '../../../src/kernel/limits/rate-limiter.ts';
import type { StatusError } from '../../../src/kernel/status.ts';
import { fakeClock } from '../../fakes/clock.ts';

test('a token bucket allows a burst, then one call per interval, and refused calls cost no tokens', async (t) => {
  const clock = fakeClock(0);
  const buckets = createRateLimiter({ burst: 3, perSecond: 0.1 }, clock);
  const taken: Taken[] = [];
  const take = () => {
    const use = buckets.take('a');
    if (use.waitMs === 0) taken.push(use);
    return use.waitMs;
  };
  t.deepEqual([take(), take(), take(), take(), take()], [0, 0, 0, 10_000, 10_000]);
  t.is(buckets.take('b').waitMs, 0, 'each key has its own bucket');
  await clock.advance(9_999);
  t.is(take(), 1);
  await clock.advance(1);
  t.deepEqual([take(), take()], [0, 10_000]);
  taken.pop()?.giveBack();
  t.deepEqual([take(), take()], [0, 10_000]);
  await clock.advance(3_600_000);
  t.deepEqual([take(), take(), take(), take()], [0, 0, 0, 10_000], 'a bucket never holds more than the burst');
  buckets.take('a').giveBack();
  t.is(take(), 10_000, 'giving back a refused call adds no token');
});

test('token buckets remember an active key among passing ones, and a clock set back allows no extra call', async (t) => {
  const clock = fakeClock(1_000_000);
  const buckets = createRateLimiter({ burst: 1, perSecond: 0.001 }, clock, 10);
  t.is(buckets.take('poller').waitMs, 0);
  for (let n = 0; n < 100; n++) {
    buckets.take(`passer-by ${n}`);
    t.true(buckets.take('poller').waitMs > 0);
  }
  for (let n = 0; n < 11; n++) buckets.take(`flood ${n}`);
  t.is(buckets.take('poller').waitMs, 0, 'the number of remembered keys is bounded');
  await clock.jump(0);
  t.true(buckets.take('poller').waitMs > 0);
});

/** Returns a function that runs work inside a semaphore. */
function runner(options: SemaphoreOptions) {
  const semaphore = createSemaphore(options);
  return async <T>(caller: Caller, work: () => Promise<T>): Promise<T> => {
    const leave = await semaphore.enter(caller);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

test('a semaphore alternates queues, serves new keys before repeated ones, and never exceeds its limit', async (t) => {
  const run = runner({ atOnce: 2, mostWaiting: 100, makesRoom: true, full: () => new Error('full') });
  const order: string[] = [];
  const open: (() => void)[] = [];
  let [running, most] = [0, 0];
  const add = (queue: string, key: string, name: string) =>
    run({ queue, key }, async () => {
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
    run({ queue: 'known', key: 'c' }, async () => Promise.reject(new Error('failed'))).catch(String),
  ];
  while (order.length < 8 || open.length > 0) {
    open.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.deepEqual(order, ['a1', 'a2', 'a3', 'c1', 'b1', 'a4', 'b2', 'a5']);
  t.deepEqual(await Promise.all(results), ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1', 'Error: failed']);
  t.is(most, 2);
  t.is(await run({ queue: 'known', key: 'z' }, async () => 'free again'), 'free again');
});

test('a full semaphore evicts a waiter of the key with the most waiters in favour of other keys', async (t) => {
  const run = runner({ atOnce: 1, mostWaiting: 4, makesRoom: true, full: () => new Error('full') });
  const held = Promise.withResolvers<void>();
  const first = run({ queue: 'x', key: 'holder' }, () => held.promise);
  const outcome = (key: string, queue = 'x') =>
    run({ queue, key }, async () => 'done').catch((error: Error) => error.message);
  const flood = Array.from({ length: 10 }, () => outcome('flooder'));
  const others = [outcome('one'), outcome('other')];
  const elsewhere = outcome('one', 'y');
  const late = outcome('late');
  const last = outcome('last');
  held.resolve();
  await first;
  t.deepEqual(await Promise.all(others), ['done', 'done']);
  t.is(await elsewhere, 'done', 'a full queue does not affect the other queue');
  t.deepEqual((await Promise.all(flood)).filter((outcome) => outcome === 'done').length, 1);
  t.is(await late, 'done');
  t.is(await last, 'full', 'four keys with one waiter each leave none to evict');
});

test('a semaphore limits running and waiting work per key, and an aborted waiter frees its place', async (t) => {
  const limits = { atOnce: 2, atOncePerKey: 1, mostWaiting: 3, mostWaitingPerKey: 2 };
  const semaphore = createSemaphore(limits);
  const entered: string[] = [];
  const enter = (name: string, signal?: AbortSignal) =>
    semaphore.enter({ key: name[0]! }, signal).then((leave) => {
      entered.push(name);
      return leave;
    });
  const call = new AbortController();
  const leaveFirst = await enter('a1');
  const second = enter('a2', call.signal);
  const third = enter('a3');
  await t.throwsAsync(enter('a4'), { message: /Try again/ }, 'a key may have two waiters');
  const leaveOther = await enter('b1');
  const last = enter('b2');
  const refused = await t.throwsAsync<StatusError>(enter('c1'), { message: /Try again/ }, 'three may wait in all');
  t.is(refused.options.retryAfterSeconds, 5);
  call.abort(new Error('gone'));
  await t.throwsAsync(second, { message: 'gone' });
  await t.throwsAsync(enter('c2', call.signal), { message: 'gone' });
  t.deepEqual(entered, ['a1', 'b1']);
  leaveFirst();
  leaveFirst();
  const leaveThird = await third;
  t.deepEqual(entered, ['a1', 'b1', 'a3'], 'a second release has no effect');
  leaveOther();
  leaveThird();
  for (const leave of [await last, await enter('c3')]) leave();
  t.deepEqual(entered, ['a1', 'b1', 'a3', 'b2', 'c3']);
});

test('places are taken under all keys or none, within each limit, and freed once', (t) => {
  const places = createPlaces();
  const first = places.take({ all: 2, one: 1 });
  t.is(places.take({ all: 2, one: 1 }), undefined);
  t.is(places.taken('all'), 1, 'no place is taken if one key is full');
  t.not(places.take({ all: 2, other: 1 }), undefined);
  t.is(places.total(), 4);
  first?.();
  first?.();
  t.deepEqual([places.taken('all'), places.taken('one'), places.taken('other')], [1, 0, 1]);
});

test('a sliding log never exceeds its limit in any window, and calls given back do not count', async (t) => {
  const clock = fakeClock(0);
  const log = createSlidingLog(atMost(2, 1_000), clock);
  const wait = (key = 'a') => log.take(key).waitMs;
  t.is(wait(), 0);
  await clock.advance(400);
  const second = log.take('a');
  t.deepEqual([wait(), wait('b')], [600, 0]);
  second.giveBack();
  second.giveBack();
  t.deepEqual([wait(), wait()], [0, 600]);
  await clock.advance(600);
  t.deepEqual([wait(), wait()], [0, 400]);
  await clock.jump(-5_000);
  t.is(wait(), 0, 'a clock set back refuses no call');
});

test('a sliding log keeps a bounded number of keys and evicts the least recently used', async (t) => {
  const clock = fakeClock(0);
  const log = createSlidingLog(backoff({ free: 1, firstWaitMs: 500, longestWaitMs: 900, windowMs: 1_000 }), clock, 2);
  const wait = (key: string) => log.take(key).waitMs;
  t.deepEqual([wait('a'), wait('b'), wait('a')], [0, 0, 500]);
  await clock.advance(500);
  t.deepEqual([wait('a'), wait('a')], [0, 900]);
  t.is(wait('c'), 0);
  t.is(wait('b'), 0);
  await clock.advance(1_000);
  t.is(wait('a'), 0);
  const two = createSlidingLog(atMost(1, 10_000), clock, 2);
  for (const key of ['a', 'b', 'c']) t.is(two.take(key).waitMs, 0);
  t.true(two.take('c').waitMs > 0);
  t.is(two.take('a').waitMs, 0, 'c evicted a');
});

test('penalties are enforced above a threshold until they expire, and never longer than the maximum', async (t) => {
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
    'the oldest key was evicted',
  );
  await clock.jump(-100_000);
  t.false(penalties.isEnforced('d'), 'a clock set back prolongs no penalty');
});

test('the client count limits each address, and a flood makes room for other networks', (t) => {
  const seed = 7;
  let last = seed;
  const random = () => (last = (last * 16_807) % 2_147_483_647) / 2_147_483_647;
  const clients = createClientCount({
    most: 100,
    mostOfAddress: 10,
    random,
    isShared: (address) => address === '10.0.0.1',
  });
  const present = new Map<string, () => void>();
  const gone: string[] = [];
  const enter = (name: string, address: string, state: 'idle' | 'waiting' | 'busy' = 'idle') => {
    const release = clients.enter({
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
  for (let n = 0; n < 20; n++) t.is(enter(`one ${n}`, '192.0.2.1'), n < 10, 'an address has ten places');
  t.false(enter('mapped', '::ffff:192.0.2.1'));
  for (let n = 0; n < 10; n++) t.true(enter(`shared ${n}`, '10.0.0.1', 'busy'));
  t.true(enter('shared', '10.0.0.1', 'busy'), 'a shared address has no limit');
  for (let n = 0; present.size < 100; n++) t.true(enter(`flood ${n}`, `2001:db8:1:${n.toString(16)}::1`));
  for (let n = 0; n < 50; n++) t.true(enter(`person ${n}`, `198.51.${n}.1`, 'waiting'), `${n}`);
  t.is(present.size, 100, 'the total stays at its limit');
  t.is(gone.length, 50);
  const flooded = gone.filter((name) => name.startsWith('flood')).length;
  t.true(flooded >= 45, `${flooded} of 50, seed ${seed}`);
  for (const [name, release] of present) if (!name.startsWith('person') && !name.startsWith('shared')) release();
  for (let n = 0; present.size < 150 && n < 39; n++) enter(`waiter ${n}`, `203.0.113.${n}`, 'waiting');
  t.true(enter('late', '198.18.0.1', 'waiting'), 'the network with the most clients loses one');
  t.regex(gone.at(-1) ?? '', /^waiter/);
  t.false(enter('one more of them', '203.0.113.200', 'waiting'));
  const [[, release] = ['', () => {}]] = present;
  release();
  release();
  t.true(enter('free', '198.18.1.1'));
});

test('the client count counts an IPv6 /64 as one address, and makes no room within equally busy networks', (t) => {
  const guest = (address: string) => ({ address, state: () => 'waiting' as const, leave: () => {} });
  const sixes = createClientCount({ most: 10, mostOfAddress: 2 });
  t.truthy(sixes.enter(guest('2001:db8:9:9::1')));
  t.truthy(sixes.enter(guest('2001:db8:9:9::2')));
  t.is(sixes.enter(guest('2001:db8:9:9::3')), undefined);
  t.truthy(sixes.enter(guest('2001:db8:9:8::1')));
  const full = createClientCount({ most: 3, mostOfAddress: 10 });
  for (const address of ['192.0.2.1', '192.0.2.2', '198.51.100.1']) t.truthy(full.enter(guest(address)));
  t.is(full.enter(guest('198.51.100.2')), undefined, 'a place would only move from one network to the other');
  t.truthy(full.enter(guest('203.0.113.1')));
});
