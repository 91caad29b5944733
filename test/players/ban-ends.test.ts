import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ConsoleError } from '../../src/engines/console/console.ts';
import { createPlayerFiles } from '../../src/game/players/files.ts';
import { settleLists } from '../../src/game/players/settle-lists.ts';
import { writeAtomic } from '../../src/kernel/atomic-file.ts';
import { api } from '../support/api-harness.ts';

const BAN_MS = 60_000;

/** A running server `abc`. Its game stores bans like the real one: without an end. */
async function running(t: ExecutionContext) {
  const it = await api(t);
  await it.create('abc', { type: 'sandbox' });
  const root = join(it.dataDir, 'servers', 'abc');
  await mkdir(root, { recursive: true });
  const file = (name: string) => join(root, name);
  const read = async (name: string) => JSON.parse(await readFile(file(name), 'utf8')) as Record<string, unknown>[];
  const told: string[] = [];
  it.games.run = async (_address, _password, command) => {
    const [verb = '', who = '', ...reason] = command.split(' ');
    if (verb === 'kick') told.push(command);
    if (!/^(?:ban|pardon)/.test(verb)) return 'There are 0 of a max of 20 players online: ';
    const [name, key] = verb.endsWith('-ip') ? ['banned-ips.json', 'ip'] : ['banned-players.json', 'name'];
    const list = await read(name).catch(() => []);
    const others = list.filter((entry) => String(entry[key]).toLowerCase() !== who.toLowerCase());
    if (verb.startsWith('ban') && others.length < list.length) {
      told.push(command);
      return 'Nothing changed. The player is already banned';
    }
    const ban = { [key]: who, created: '', source: 'Rcon', expires: 'forever', reason: reason.join(' ') };
    // Write atomically: a reader of half a list would retry by the clock, which stands still here.
    await writeAtomic(file(name), JSON.stringify(verb.startsWith('ban') ? [...others, ban] : others));
    told.push(command);
    return '';
  };
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  const path = '/v1/servers/abc/players';
  const inAMinute = () => new Date(Math.ceil(it.clock.now() / 1_000) * 1_000 + BAN_MS).toISOString();
  return {
    ...it,
    told,
    read,
    put: (name: string, list: object[]) => writeFile(file(name), JSON.stringify(list)),
    inAMinute,
    lists: () => it.ok('GET', path) as Promise<{ banned: object[]; bannedIps: object[] }>,
    set: (verb: string, body: object) => it.ok('POST', `${path}:${verb}`, body),
    refused: async (verb: string, body: object) => (await it.call('POST', `${path}:${verb}`, { body })).json['message'],
  };
}

test('players at a newly banned address are kicked with the reason of the ban', async (t) => {
  const it = await running(t);
  it.joined.set('abc', [
    { name: 'Steve', ip: '::ffff:203.0.113.7' },
    { name: 'Alex', ip: '203.0.113.8' },
  ]);
  await it.set('setIpBan', { ip: '203.0.113.7', banned: true, reason: 'spam' });
  const kicks = () => it.told.filter((command) => command.startsWith('kick '));
  t.deepEqual(kicks(), ['kick Steve You have been IP banned. Reason: spam']);
  await it.set('setIpBan', { ip: '203.0.113.7', banned: false });
  t.is(kicks().length, 1);
});

test('a temporary ban is lifted in a running game at its end and is not listed from then on', async (t) => {
  const it = await running(t);
  const expires = it.inAMinute();
  const date = `${expires.slice(0, 19).replace('T', ' ')} +0000`;
  await it.set('setBan', { name: 'Steve', banned: true, reason: 'loud', expires });
  await it.set('setBan', { name: 'Alex', banned: true, reason: 'loud' });
  await it.set('setIpBan', { ip: '203.0.113.7', banned: true, expires });
  t.deepEqual(it.told.splice(0), [
    `ban Steve loud (until ${date})`,
    'ban Alex loud',
    `ban-ip 203.0.113.7 Banned by an operator. (until ${date})`,
  ]);
  const { banned, bannedIps } = await it.lists();
  t.like(banned, [
    { name: 'Steve', reason: 'loud', expires: date },
    { name: 'Alex', expires: 'forever' },
  ]);
  t.like(bannedIps, [{ ip: '203.0.113.7', reason: 'Banned by an operator.', expires: date }]);

  await it.clock.advance(BAN_MS + 1_000);
  t.like(await it.lists(), { banned: [{ name: 'Alex' }], bannedIps: [] });
  // On a busy machine checks may overlap and send a pardon twice, so compare without duplicates.
  const told = () => [...new Set(it.told)];
  await it.passUntil(() => told().length === 2, 100);
  t.deepEqual(told(), ['pardon steve', 'pardon-ip 203.0.113.7']);
  t.like(await it.read('banned-players.json'), [{ name: 'Alex' }]);
  t.deepEqual(await it.read('banned-ips.json'), []);
  t.true(it.addressBans.length > 1, 'proxies receive the end of the ban too');
});

test('banning a player whose ended ban the game still holds pardons and bans them again', async (t) => {
  const it = await running(t);
  await it.put('banned-players.json', [
    { name: 'Steve', uuid: '', expires: 'forever', reason: 'loud (until 2020-01-01 00:00:00 +0000)' },
  ]);
  await it.set('setBan', { name: 'Steve', banned: true, reason: 'again' });
  t.deepEqual(it.told, ['pardon Steve', 'ban Steve again']);
  t.like(await it.lists(), { banned: [{ name: 'Steve', reason: 'again', expires: 'forever' }] });
});

test('a pardon that the game ignores is sent again a minute later', async (t) => {
  const it = await running(t);
  const reason = 'loud (until 2020-01-01 00:00:00 +0000)';
  await it.put('banned-players.json', [
    { name: 'Steve', uuid: '', expires: 'forever', reason },
    { name: 'x\nstop', uuid: '', expires: 'forever', reason },
  ]);
  let asked = 0;
  it.games.run = async (_address, _password, command) => {
    if (!command.startsWith('pardon')) return '';
    t.is(command, 'pardon steve');
    asked++;
    if (asked === 2) throw new ConsoleError('absent', 'The console is not available.');
    return '';
  };
  await it.passUntil(() => asked === 1, 100);
  await it.clock.advance(30_000);
  t.is(asked, 1);
  await it.clock.advance(20_000);
  await it.passUntil(() => asked === 2, 100);
});

test('the next start writes the ends of bans into the game’s list and keeps all other entries', async (t) => {
  const it = await running(t);
  const root = join(it.dataDir, 'servers', 'abc');
  const ban = { name: 'Steve', uuid: '', created: '', source: 'Rcon', expires: 'forever', note: 7 };
  const others = [
    'odd',
    null,
    { ...ban, reason: 'loud' },
    { ...ban, reason: 'x', expires: '2099-01-01 00:00:00 +0000' },
  ];
  await it.put('banned-players.json', [
    { ...ban, reason: 'loud (until 2099-01-01 00:00:00 +0000)' },
    ...others,
  ] as object[]);
  await writeFile(join(root, 'banned-ips.json'), '[{');
  await settleLists(root, []);
  t.deepEqual<unknown, unknown>(await it.read('banned-players.json'), [
    { ...ban, reason: 'loud', expires: '2099-01-01 00:00:00 +0000' },
    ...others,
  ]);
  t.is(await readFile(join(root, 'banned-ips.json'), 'utf8'), '[{');
});

test('player lists saved with a BOM, in UTF-16 or with CRLF still count, and a start makes them readable for the game', async (t) => {
  const it = await running(t);
  const root = join(it.dataDir, 'servers', 'abc');
  const steve = { uuid: '11112222-3333-4444-5555-666677778888', name: 'Steve' };
  const text = JSON.stringify([{ ...steve, expires: 'forever', reason: 'x' }], null, 2).replaceAll('\n', '\r\n');
  const player = { name: 'Steve', uuid: steve.uuid, ip: '203.0.113.7' };
  for (const encoding of ['utf8', 'utf16le'] as const) {
    for (const file of ['banned-players.json', 'whitelist.json', 'usercache.json'])
      await writeFile(join(root, file), `\uFEFF${text}`, encoding);
    const files = createPlayerFiles(it.dataDir);
    t.is((await files.banOf('abc', player, 0))?.reason, 'x', encoding);
    t.true((await files.isListed('abc', player)) && (await files.hasPlayed('abc', player)), encoding);
    await settleLists(root, []);
    t.like(JSON.parse((await readFile(join(root, 'whitelist.json'), 'utf8')).replace(/^\uFEFF/, '')), [steve]);
  }
});

test('the next start lifts bans of proxy addresses only, and an unchanged list is not rewritten', async (t) => {
  const it = await running(t);
  const root = join(it.dataDir, 'servers', 'abc');
  const ban = { created: '', source: 'Rcon', expires: 'forever', reason: 'loud (until 2099-01-01 00:00:00 +0000)' };
  await it.put('banned-ips.json', [
    { ...ban, ip: '10.0.0.2' },
    { ...ban, ip: '203.0.113.7' },
  ]);
  await settleLists(root, ['10.0.0.2']);
  t.deepEqual<unknown, unknown>(await it.read('banned-ips.json'), [
    { ...ban, ip: '203.0.113.7', reason: 'loud', expires: '2099-01-01 00:00:00 +0000' },
  ]);
  const { ino } = await stat(join(root, 'banned-ips.json'));
  await settleLists(root, ['10.0.0.2']);
  t.is((await stat(join(root, 'banned-ips.json'))).ino, ino, 'an unchanged list is not rewritten');
});

test('a ban with a past, malformed or too distant end is refused', async (t) => {
  const it = await running(t);
  const ban = { name: 'Steve', banned: true };
  t.regex(
    String(await it.refused('setBan', { ...ban, expires: '2020-01-01T00:00:00Z' })),
    /expires: must be in the future/,
  );
  t.regex(String(await it.refused('setBan', { ...ban, expires: 'tomorrow' })), /expires: must be a time such as/);
  t.regex(String(await it.refused('setBan', { ...ban, expires: '9999-12-31T23:59:59Z' })), /before the year 9999/);
  t.deepEqual(it.told, []);
});
