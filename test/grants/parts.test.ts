import { BlockList } from 'node:net';
import test from 'ava';
import { addressKey } from '../../src/kernel/ip.ts';
import * as fc from '../support/property.ts';
import { clientAddress } from '../../src/http/client-address.ts';
import { mintToken } from '../../src/kernel/ids.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { CredentialMemory } from '../../src/access/credential-memory.ts';
import { StartLimit, GuessLimit } from '../../src/grants/limits.ts';
import type { Store } from '../../src/store/store.ts';
import { fakeClock } from '../fakes/clock.ts';
import { freshStore } from '../support/store.ts';
import { mintUserCode, readUserCode, hashUserCode } from '../../src/accounts/user-code.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** Returns the error of a refused attempt, or undefined if the attempt succeeds. */
async function refusal(attempt: () => unknown): Promise<StatusError | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

test('10,000 minted device codes and user codes use their alphabets and practically never collide', (t) => {
  const devices = Array.from({ length: 10_000 }, () => mintToken('device'));
  t.is(new Set(devices).size, 10_000);
  t.true(devices.every((code) => /^dmd_[0-9A-Za-z]{38}$/.test(code)));
  const codes = Array.from({ length: 10_000 }, mintUserCode);
  t.true(new Set(codes).size > 9_990);
  t.true(codes.every((code) => /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/.test(code)));
  const counts = Object.groupBy(codes.join('').replaceAll('-', ''), (letter) => letter);
  t.is(Object.keys(counts).length, 20);
  // 4000 of each are expected, with a standard deviation of 62.
  for (const [letter, all = []] of Object.entries(counts)) t.true(Math.abs(all.length - 4_000) < 400, letter);
});

test('a user code is read in any case, width and spacing, and codes of the wrong length are rejected', (t) => {
  const blank = fc.constantFrom('', ' ', '-', '–', '—', '−', '‐', '.', '\t', '\u00a0', '1', 'a', 'E');
  const gaps = fc.array(blank, { minLength: 9, maxLength: 9 });
  fc.assert(
    fc.property(gaps, fc.boolean(), fc.boolean(), (gaps, lower, wide) => {
      const code = mintUserCode();
      const letters = code.replace('-', '').split('');
      const typed = letters.map((letter, index) => gaps[index] + letter).join('') + gaps[8];
      const cased = lower ? typed.toLowerCase() : typed;
      const spelt = wide
        ? cased.replaceAll(/[A-Z]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0))
        : cased;
      t.is(readUserCode(spelt), code);
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (typed) => {
      t.regex(readUserCode(typed) ?? 'BCDF-GHJK', /^[B-Z]{4}-[B-Z]{4}$/);
    }),
  );
  for (const typed of ['', 'WDJB-MJH', 'WDJB-MJHTT', '-'.repeat(1_000) + 'WDJBMJHT']) {
    t.is(readUserCode(typed), undefined);
  }
});

test('a user code is hashed with the secret', (t) => {
  const secret = { derive: (purpose: string, id: string) => `${purpose}/${id}` };
  t.is(hashUserCode(secret, 'WDJB-MJHT'), 'user-code/WDJB-MJHT');
});

test('wrong user codes are limited to 5 per session, 10 per account and 20 per address in ten minutes', async (t) => {
  const clock = fakeClock();
  const limit = new GuessLimit(clock);
  let others = 0;
  const guess = (fields: Partial<Parameters<typeof limit.take>[0]>) => {
    others++;
    return limit.take({
      sessionId: `session ${others}`,
      accountId: `account ${others}`,
      address: `198.51.100.${others}`,
      ...fields,
    });
  };
  for (const [free, fields] of [
    [5, { sessionId: 'one' }],
    [10, { accountId: 'one' }],
    [20, { address: '192.0.2.1' }],
  ] as const) {
    for (let wrong = 0; wrong < free; wrong++) guess(fields);
    const error = await refusal(() => guess(fields));
    t.is(error?.reason, 'TOO_MANY_ATTEMPTS');
    t.is(error?.options.retryAfterSeconds, 600);
    await clock.advance(10 * MINUTE - 1);
    t.is((await refusal(() => guess(fields)))?.reason, 'TOO_MANY_ATTEMPTS');
    await clock.advance(1);
    guess(fields);
  }
});

test('correct user codes and refused attempts do not count towards the limit of wrong codes', async (t) => {
  const limit = new GuessLimit(fakeClock());
  const me = { sessionId: 'mine', accountId: 'mine', address: '2001:db8::1' };
  for (let right = 0; right < 100; right++) limit.take(me).forgive();
  for (let wrong = 0; wrong < 5; wrong++) limit.take(me);
  for (let refused = 0; refused < 100; refused++) t.truthy(await refusal(() => limit.take(me)));
  for (let wrong = 0; wrong < 5; wrong++) limit.take({ ...me, sessionId: 'another', address: '2001:db8::2' });
  t.truthy(
    await refusal(() => limit.take({ ...me, sessionId: 'third', address: '203.0.113.1' })),
    'the limit of the account is reached',
  );
});

test('the client address is that of the peer, or the forwarded one if the peer is a trusted proxy', (t) => {
  const none = new BlockList();
  const trusted = new BlockList();
  trusted.addSubnet('10.0.0.0', 8, 'ipv4');
  trusted.addSubnet('fd00::', 8, 'ipv6');
  const cases: [peer: string | undefined, forwardedFor: string | undefined, trusted: BlockList, expected: string][] = [
    ['198.51.100.7', undefined, none, '198.51.100.7'],
    ['198.51.100.7', '203.0.113.9', none, '198.51.100.7'],
    ['198.51.100.7', '203.0.113.9', trusted, '198.51.100.7'],
    ['::ffff:198.51.100.7', undefined, none, '198.51.100.7'],
    ['::FFFF:c633:6407', undefined, none, '198.51.100.7'],
    ['2001:DB8:0:0::1', undefined, none, '2001:db8::1'],
    ['fe80::1%eth0', undefined, none, 'fe80::1'],
    ['10.0.0.1', undefined, trusted, '10.0.0.1'],
    ['10.0.0.1', '', trusted, '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9', trusted, '203.0.113.9'],
    ['::ffff:10.0.0.1', '203.0.113.9', trusted, '203.0.113.9'],
    ['fd00::1', '2001:db8::9', trusted, '2001:db8::9'],
    ['10.0.0.1', '1.1.1.1, 203.0.113.9', trusted, '203.0.113.9'],
    ['10.0.0.1', '1.1.1.1, 203.0.113.9 , 10.0.0.2,fd00::3', trusted, '203.0.113.9'],
    ['10.0.0.1', '10.0.0.9, 10.0.0.2', trusted, '10.0.0.9'],
    ['10.0.0.1', '1.1.1.1, not-an-ip', trusted, '10.0.0.1'],
    ['10.0.0.1', '1.1.1.1, [2001:db8::1]:443', trusted, '10.0.0.1'],
    ['10.0.0.1', '1.1.1.1, unknown, 10.0.0.2', trusted, '10.0.0.2'],
    ['10.0.0.1', ',,,', trusted, '10.0.0.1'],
    [undefined, '1.1.1.1', trusted, ''],
    ['', '1.1.1.1', trusted, ''],
  ];
  for (const [peer, forwardedFor, list, expected] of cases) {
    t.is(clientAddress(peer, forwardedFor, list), expected, `${peer} ${forwardedFor}`);
  }
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.string(), (peer, forwardedFor) => {
      t.is(clientAddress(peer, forwardedFor, none), clientAddress(peer, undefined, none));
    }),
  );
});

test('rate limits count each IPv4 address and each IPv6 /64', (t) => {
  t.is(addressKey('198.51.100.7'), '198.51.100.7');
  t.is(addressKey('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  t.is(addressKey('2001:db8:1:2::1'), '2001:db8:1:2::/64');
  t.is(addressKey('2001:db8::1'), '2001:db8:0:0::/64');
  t.is(addressKey('::1'), '0:0:0:0::/64');
  t.is(addressKey(''), '');
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      t.regex(addressKey(clientAddress(address, undefined, new BlockList())), /^(?:[\da-f:]+::\/64|[\d.]+)$/);
    }),
  );
});

const starts = async (store: Store) =>
  (await store.query<{ address: string }>('SELECT * FROM "grant_starts"')).map(({ address }) => address);

test('an address may start 20 grants in any hour, even across a restart, and refused starts do not count', async (t) => {
  const store = await freshStore(t);
  const clock = fakeClock();
  const begun = clock.now();
  let limit = new StartLimit(store, clock);
  for (let nth = 0; nth < 20; nth++) {
    await limit.take('192.0.2.1');
    await clock.advance(MINUTE);
  }
  for (const at of [begun + 20 * MINUTE, begun + HOUR - 1]) {
    await clock.jump(at);
    const error = await refusal(() => limit.take('192.0.2.1'));
    t.is(error?.code, 'RESOURCE_EXHAUSTED');
    t.is(error?.options.retryAfterSeconds, Math.ceil((begun + HOUR - at) / 1_000));
    limit = new StartLimit(store, clock);
  }
  await limit.take('192.0.2.2');
  await clock.jump(begun + HOUR);
  await limit.take('192.0.2.1');
  t.is((await refusal(() => limit.take('192.0.2.1')))?.options.retryAfterSeconds, 60);
  t.is((await starts(store)).length, 21, 'one of the first twenty entries was deleted');
});

test('exactly 20 of 40 concurrent grant starts are accepted', async (t) => {
  const store = await freshStore(t);
  const limit = new StartLimit(store, fakeClock());
  const all = await Promise.all(Array.from({ length: 40 }, () => refusal(() => limit.take('192.0.2.1'))));
  t.is(all.filter((error) => error === undefined).length, 20);
  t.is((await starts(store)).length, 20);
});

test('after the clock is set back, earlier grant starts block an address for at most an hour', async (t) => {
  const store = await freshStore(t);
  const clock = fakeClock();
  const limit = new StartLimit(store, clock);
  for (let nth = 0; nth < 20; nth++) await limit.take('192.0.2.1');
  await clock.jump(clock.now() - MINUTE);
  t.is((await refusal(() => limit.take('192.0.2.1')))?.options.retryAfterSeconds, 3_600);
  await clock.jump(clock.now() - 24 * HOUR);
  await limit.take('192.0.2.1');
  t.pass();
});

test('the log of grant starts is bounded and drops the oldest entries first', async (t) => {
  const store = await freshStore(t);
  const clock = fakeClock();
  const limit = new StartLimit(store, clock, { kept: 150 });
  for (let nth = 0; nth < 300; nth++) {
    await limit.take(`192.0.2.${nth % 256}/${nth}`);
    await clock.advance(1);
  }
  const kept = await starts(store);
  t.is(kept.length, 150);
  t.true(kept.includes('192.0.2.43/299'));
  await clock.advance(2 * HOUR);
  await limit.take('198.51.100.1');
  await limit.take('198.51.100.1');
  t.deepEqual(await starts(store), ['198.51.100.1', '198.51.100.1']);
});

test('a credential is cached for 30 seconds or until it is forgotten', async (t) => {
  const store = await freshStore(t);
  const memory = new CredentialMemory<string>();
  let reads = 0;
  const read = (value: string | undefined) => async () => {
    reads++;
    return value;
  };
  t.is(await memory.recall(store, 'a', 0, read('one')), 'one');
  t.is(await memory.recall(store, 'a', 29_999, read('two')), 'one');
  t.is(await memory.recall(store, 'a', 30_000, read('two')), 'two');
  t.is(await memory.recall(store, 'a', 0, read('three')), 'three', 'the clock was set back');
  t.is(await memory.recall(store, 'b', 0, read(undefined)), undefined);
  t.is(await memory.recall(store, 'b', 0, read('b')), 'b', 'a missing credential is not cached');
  memory.forget(store, (known) => known === 'three');
  t.is(await memory.recall(store, 'a', 0, read('four')), 'four');
  t.is(await memory.recall(store, 'b', 0, read('new')), 'b');
  t.is(reads, 6);
});

test('a credential revoked during its lookup is looked up again', async (t) => {
  const store = await freshStore(t);
  const memory = new CredentialMemory<string>();
  const first = Promise.withResolvers<string>();
  const reads = [first.promise, Promise.resolve(undefined)];
  const recalled = memory.recall(store, 'a', 0, () => reads.shift()!);
  memory.forget(store, () => true);
  first.resolve('from before');
  t.is(await recalled, undefined);
  t.is(reads.length, 0);
});
