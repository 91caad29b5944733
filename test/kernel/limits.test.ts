import test from 'ava';
import { createFairQueue } from '../../src/kernel/fair-queue.ts';
import { networkOf } from '../../src/kernel/ip-network.ts';
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

test('networks: /24 and /48, however an address is written', (t) => {
  t.is(networkOf('198.51.100.7'), '198.51.100.0/24');
  t.is(networkOf('::ffff:198.51.100.7'), '198.51.100.0/24');
  t.is(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1::/48');
  t.is(networkOf('2001:DB8:1:ffff::1'), '2001:db8:1::/48');
  t.is(networkOf('fe80::1%eth0'), 'fe80::/48');
  t.is(networkOf('2001:db8:1:2::1', { ipv4: 32, ipv6: 64 }), '2001:db8:1:2::/64');
  t.is(networkOf('198.51.100.7', { ipv4: 32, ipv6: 64 }), '198.51.100.7/32');
  t.is(networkOf(''), '');
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
