import test from 'ava';
import { Limiter, plainAddress, prefixesOf } from '../../proxy/limits.ts';
import { DEFAULT_LIMITS } from '../../proxy/settings.ts';

test('an address has two prefixes: itself or its /64, and its IPv4 /24 or IPv6 /48', (t) => {
  t.deepEqual(prefixesOf('203.0.113.7'), ['203.0.113.7', '203.0.113.*']);
  t.deepEqual(prefixesOf('2001:db8:1:2:3:4:5:6'), ['2001:db8:1:2/64', '2001:db8:1/48']);
  t.deepEqual(prefixesOf('2001:0db8::1'), ['2001:db8:0:0/64', '2001:db8:0/48']);
  t.deepEqual(prefixesOf('::1'), ['0:0:0:0/64', '0:0:0/48']);
  t.deepEqual(prefixesOf('fe80::1%eth0'), ['fe80:0:0:0/64', 'fe80:0:0/48']);
  t.is(plainAddress('::ffff:203.0.113.7'), '203.0.113.7');
  t.is(plainAddress('2001:db8::1'), '2001:db8::1');
});

test('an address or network exhausts only its own limit, which refills over time', (t) => {
  let now = 0;
  const limits = { ...DEFAULT_LIMITS, logins: { burst: 3, perSecond: 1 }, networkFactor: 2, unroutedPerAddress: 1000 };
  const limiter = new Limiter(limits, () => now);
  const allowed = (ip: string, tries: number): number =>
    Array.from({ length: tries }, () => limiter.login(ip)).filter(Boolean).length;
  t.is(allowed('203.0.113.7', 10), 3);
  t.is(allowed('203.0.113.8', 10), 0, 'refusals of a neighbour count for the network');
  t.is(allowed('203.0.114.7', 10), 3, 'other networks are not touched');
  t.is(allowed('2001:db8::1', 2) + allowed('2001:db8::ffff', 8), 3, 'one /64 is one address');
  t.is(allowed('127.0.0.1', 100), 100);
  t.is(allowed('::1', 100), 100);
  now += 2_000;
  t.is(allowed('203.0.113.7', 10), 2);
  now += 60_000;
  limiter.sweep();
  t.is(allowed('203.0.113.8', 4), 3);
});

test('thirty players behind one address can join, but a flood from it is limited', (t) => {
  let now = 0;
  const limiter = new Limiter(DEFAULT_LIMITS, () => now);
  for (let player = 0; player < 30; player++, now += 200) {
    const look = limiter.enter('203.0.113.7');
    t.truthy(look);
    t.true(limiter.status('203.0.113.7'));
    look?.();
    t.truthy(limiter.enter('203.0.113.7'));
    t.true(limiter.login('203.0.113.7'), `player ${player}`);
    t.truthy(limiter.hold('203.0.113.7', 'castle'));
  }
  const allowed = (tries: number, attempt: () => unknown) =>
    Array.from({ length: tries }, attempt).filter(Boolean).length;
  t.true(allowed(1_000, () => limiter.login('203.0.113.7')) < 32);
  t.true(allowed(1_000, () => limiter.status('203.0.113.7')) < 128);
  t.true(allowed(1_000, () => limiter.hold('203.0.113.7', 'castle')) < 32);
  t.true(allowed(1_000, () => limiter.enter('203.0.113.7')) < 64);
  t.true(allowed(1_000, () => limiter.hold('198.51.100.8', 'castle')) > 0, 'others still find a place');
});

test('releasing a place twice frees it only once', (t) => {
  const limiter = new Limiter(
    { ...DEFAULT_LIMITS, unroutedPerAddress: 2, networkFactor: 1, holdsPerServer: 1, unrouted: 3 },
    () => 0,
  );
  const first = limiter.enter('203.0.113.7');
  t.truthy(limiter.enter('203.0.113.8'));
  t.is(limiter.enter('203.0.113.9'), undefined, 'the network is full');
  first?.();
  first?.();
  t.truthy(limiter.enter('203.0.113.9'));
  t.is(limiter.enter('203.0.113.10'), undefined);
  t.truthy(limiter.enter('198.51.100.1'));
  t.is(limiter.enter('127.0.0.1'), undefined, 'the bound on all holds for everybody');
  t.truthy(limiter.hold('127.0.0.1', 'a'));
  t.is(limiter.hold('203.0.113.7', 'a'), undefined);
  t.truthy(limiter.hold('203.0.113.7', 'b'));
});

test('an address that keeps trying is not evicted from the limiter by addresses that try once', (t) => {
  const logins = { burst: 3, perSecond: 0.001 };
  const limiter = new Limiter({ ...DEFAULT_LIMITS, logins }, () => 0, 20);
  const burst = Array.from({ length: 4 }, () => limiter.login('203.0.113.7'));
  t.deepEqual(burst, [true, true, true, false]);
  for (let n = 0; n < 200; n++) {
    limiter.login(`10.${n}.0.1`);
    t.false(limiter.login('203.0.113.7'), `after ${n} others`);
  }
  for (let n = 0; n < 20; n++) limiter.login(`10.${n}.1.1`);
  t.true(limiter.login('203.0.113.7'), 'no more than so many are kept');
});
