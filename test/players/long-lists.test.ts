import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { isAsWanted } from '../../src/game/players/changes.ts';
import { createPlayerFiles } from '../../src/game/players/files.ts';
import { createPlayerListFiles } from '../../src/game/players/list-files.ts';
import { createChangeLock } from '../../src/jail/change-lock.ts';
import { createJoinPolicy } from '../../src/joining/join-policy.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { fakeClock } from '../fakes/clock.ts';

const AT = Date.UTC(2026, 10, 20);
const END = '2026-11-20 00:01:00 +0000';

/** An entry in the game's format. */
const ban = (n: number, more: object = {}) => ({
  ip: `2001:DB8:0::${n.toString(16)}`,
  created: '2026-01-31 18:05:09 +0000',
  source: 'Rcon',
  expires: 'forever',
  reason: 'Banned by an operator.',
  ...more,
});

async function bench(t: ExecutionContext) {
  const dataDir = await mkdtemp(join(tmpdir(), 'dormouse-test-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  await mkdir(join(dataDir, 'servers/abc'), { recursive: true });
  const files = createPlayerFiles(dataDir);
  const list = (file: string, entries: readonly object[]) =>
    writeFile(join(dataDir, 'servers/abc', file), JSON.stringify(entries));
  return { dataDir, files, list };
}

test('a list of 6,000 bans counts to its last entry', async (t) => {
  const { files, list } = await bench(t);
  await list(
    'banned-ips.json',
    Array.from({ length: 6_000 }, (_, n) => ban(n)),
  );
  t.deepEqual(await files.ipBanOf('abc', '2001:db8::176f', AT), { reason: 'Banned by an operator.', until: null });
});

test('at most 10,000 entries of an oversized ban list count', async (t) => {
  const { files, list } = await bench(t);
  await list(
    'banned-ips.json',
    Array.from({ length: 50_000 }, (_, n) => ({ ip: `::${n.toString(16)}` })),
  );
  t.is((await files.ipBans('abc', AT)).length, 10_000);
});

test('banned addresses are cached until the list file changes or a ban ends', async (t) => {
  const { dataDir, files, list } = await bench(t);
  const clock = fakeClock(AT);
  const policies = { of: () => ({}) } as never;
  const policy = createJoinPolicy({ files, policies, clock, store: {} as never });
  await list('banned-ips.json', [ban(1), ban(2, { expires: END })]);
  const first = await policy.bannedAddresses('abc');
  t.is(first.length, 2);
  t.is(await policy.bannedAddresses('abc'), first);
  await clock.advance(60_000);
  t.deepEqual(await policy.bannedAddresses('abc'), first.slice(0, 1));
  await writeFile(join(dataDir, 'servers/abc/banned-ips.json'), '[]');
  t.deepEqual(await policy.bannedAddresses('abc'), []);
});

test('the API refuses to read or write a player list with more than 10,000 entries', async (t) => {
  const { dataDir, list } = await bench(t);
  const entries = Array.from({ length: 10_001 }, (_, n) => ({ ip: `::${n.toString(16)}` }));
  const content = Buffer.from(JSON.stringify(entries));
  const reader = { read: async () => ({ content, truncated: false }), change: async () => undefined as never };
  const lists = createPlayerListFiles(
    reader,
    dataDir,
    createChangeLock(() => undefined),
  );
  await list('banned-ips.json', entries);
  const error = await t.throwsAsync(lists.read('abc', 'banned-ips.json'), { instanceOf: StatusError });
  t.is(error.reason, 'LIST_UNREADABLE');
  t.regex(error.message, /too large for a list of players/);
  const full = await t.throwsAsync(lists.write('abc', 'banned-ips.json', entries), { instanceOf: StatusError });
  t.is(full.reason, 'LIST_FULL');
});

test('an IP ban is found in any spelling of its address', (t) => {
  const change = { list: 'bannedIps', ip: '192.0.2.1', listed: true, reason: '', until: null } as const;
  for (const ip of ['192.0.2.1', '::ffff:192.0.2.1', '0:0:0:0:0:FFFF:C000:201'])
    t.true(isAsWanted([{ ip }], change, AT), ip);
  t.false(isAsWanted([{ ip: '192.0.2.10' }], change, AT));
});
