import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { ConsoleError } from '../../src/engines/console/console.ts';
import type { Profiles } from '../../src/game/players/minecraft-accounts.ts';
import { offlineUuid } from '../../src/game/players/profiles.ts';
import { parseProperties } from '../../src/game/properties/format.ts';
import { createMojangProfiles } from '../../src/players/mojang.ts';
import { fakeClock } from '../fakes/clock.ts';
import { PROXY_ADDRESS } from '../fakes/engine.ts';
import { accountUuid, accounts } from '../support/accounts.ts';
import { api } from '../support/api-harness.ts';
import { heldWrites } from '../support/store.ts';
import type { WorldOptions } from '../support/world.ts';

/** A sleeping server `abc` and its files, by default with a core that checks accounts. */
async function players(
  t: ExecutionContext,
  { type = 'paper', ...options }: { type?: string; profiles?: Profiles; world?: WorldOptions } = {},
) {
  const it = await api(t, options);
  await it.create('abc', { type });
  const root = join(it.dataDir, 'servers', 'abc');
  await mkdir(root, { recursive: true });
  const path = '/v1/servers/abc/players';
  return {
    ...it,
    lists: () => it.ok('GET', path),
    set: (verb: string, body: object) => it.ok('POST', `${path}:${verb}`, body),
    /** Returns the code and reason of a refusal. */
    refused: async (verb: string, body: object) => {
      const { json, reason } = await it.call('POST', `${path}:${verb}`, { body });
      return [json['code'], reason];
    },
    file: (name: string) => readFile(join(root, name), 'utf8'),
    json: async (name: string) => JSON.parse(await readFile(join(root, name), 'utf8')) as unknown,
    put: (name: string, content: unknown) =>
      writeFile(join(root, name), typeof content === 'string' ? content : JSON.stringify(content)),
    root,
    property: async (name: string) =>
      parseProperties(await readFile(join(root, 'server.properties'), 'utf8')).get(name),
    /** Advances the clock until the outcome settles, and returns it. */
    async passing<T>(outcome: Promise<T>): Promise<T> {
      let settled = false;
      void outcome.finally(() => (settled = true)).catch(() => {});
      await it.until(async () => {
        await it.clock.advance(50);
        // Files and calls take real time: advance slowly, so that the server does not fall asleep.
        await delay(5);
        return settled;
      });
      return outcome;
    },
    async run() {
      await it.command('abc', 'START');
      await it.reach('abc', 'running');
    },
    async stop() {
      await it.command('abc', 'STOP');
      await it.reach('abc', 'hibernated');
    },
  };
}

test('a start removes an IP ban of the proxy’s address and keeps all other entries', async (t) => {
  const it = await players(t);
  const ban = { created: '', source: 'Steve', expires: 'forever', reason: 'all of you' };
  const entries = [{ ...ban, ip: PROXY_ADDRESS }, { ...ban, ip: '203.0.113.7', unknown: 1 }, 'nonsense'];
  await it.put('banned-ips.json', entries);
  await it.run();
  t.deepEqual(await it.json('banned-ips.json'), entries.slice(1));
  await it.stop();
  for (const broken of ['{', '{}', '']) {
    await it.put('banned-ips.json', broken);
    await it.run();
    t.is(await it.file('banned-ips.json'), broken);
    await it.stop();
  }
  await rm(join(it.root, 'banned-ips.json'));
  await symlink('/etc/passwd', join(it.root, 'banned-ips.json'));
  await it.run();
});

test('a new server has empty player lists, and changes write them in the game’s format', async (t) => {
  const it = await players(t);
  t.deepEqual(await it.lists(), {
    online: [],
    running: false,
    withoutConsole: false,
    accountsChecked: true,
    whitelistEnforced: false,
    whitelist: [],
    ops: [],
    banned: [],
    bannedIps: [],
  });
  const steve = { uuid: accountUuid('Steve'), name: 'Steve' };
  t.like(await it.set('setWhitelist', { name: 'Steve', allowed: true }), { whitelist: [steve] });
  t.deepEqual(await it.json('whitelist.json'), [steve]);
  await it.set('setOp', { name: 'Steve', op: true });
  t.deepEqual(await it.json('ops.json'), [{ ...steve, level: 4, bypassesPlayerLimit: false }]);
  t.deepEqual(await it.set('setOp', { name: 'STEVE', op: false }), { ...(await it.lists()), ops: [] });
  for (const [set, level] of [
    ['0', 0],
    ['2', 2],
    ['', 4],
    ['9', 4],
  ] as const) {
    await it.put('server.properties', `op-permission-level=${set}\n`);
    await it.set('setOp', { name: 'Steve', op: true });
    t.like(await it.json('ops.json'), [{ name: 'Steve', level }], `op-permission-level=${set}`);
    await it.set('setOp', { name: 'Steve', op: false });
  }
  await it.put('banned-ips.json', [{ ip: '2001:0DB8:0:0::0A', expires: 'forever' }]);
  await it.set('setIpBan', { ip: '2001:db8::a', banned: false });
  t.deepEqual(await it.json('banned-ips.json'), []);
  await it.set('setIpBan', { ip: '2001:DB8::0:1', banned: true });
  t.like(((await it.lists())['bannedIps'] as object[])[0], { ip: '2001:db8::1', expires: 'forever', source: 'Rcon' });
  await it.set('setIpBan', { ip: '2001:db8::1', banned: false });
  t.deepEqual(await it.json('banned-ips.json'), []);
  t.is(it.addressBans.length, 3, 'proxies receive each change at once');

  await it.set('setBan', { name: 'Alex', banned: true, reason: 'griefing' });
  const before = await it.file('banned-players.json');
  await it.set('setBan', { name: 'Alex', banned: true, reason: 'other' });
  t.is(await it.file('banned-players.json'), before, 'an existing ban stays unchanged');
  t.is((await it.call('GET', '/v1/servers/abc/audit')).status, 200);
  const { entries } = (await it.ok('GET', '/v1/servers/abc/audit')) as {
    entries: { action: string; detail: string }[];
  };
  t.true(entries.some(({ action, detail }) => action === 'players.ban' && detail.includes('Alex')));
});

test('player list changes keep unknown entries, and malformed list files are not overwritten', async (t) => {
  const it = await players(t);
  const old = { uuid: accountUuid('Old'), name: 'Old', level: 2, bypassesPlayerLimit: true, since: { a: 1 } };
  // Text from players is only data.
  const hostile = { uuid: 7, name: '<img src=x onerror=alert(1)>\u202e\n', level: 1e300 };
  await it.put('ops.json', [old, 'odd', hostile]);
  const view = await it.set('setOp', { name: 'Steve', op: true });
  t.deepEqual((view['ops'] as object[])[0], { name: 'Old', uuid: old.uuid, level: 2, bypassesPlayerLimit: true });
  t.deepEqual((view['ops'] as object[])[1], { name: hostile.name, uuid: '', level: 4, bypassesPlayerLimit: false });
  t.deepEqual(((await it.json('ops.json')) as unknown[]).slice(0, 3), [old, 'odd', hostile]);

  for (const broken of ['[{"name":"Old"', '{}']) {
    await it.put('whitelist.json', broken);
    t.deepEqual(await it.refused('setWhitelist', { name: 'Steve', allowed: true }), [9, 'LIST_UNREADABLE']);
    const { json } = await it.call('GET', '/v1/servers/abc/players');
    t.regex(String(json['message']), /whitelist\.json is not a JSON list\. Fix or delete it/);
    t.is(await it.file('whitelist.json'), broken);
  }
  await it.put('whitelist.json', '[]');
  await symlink('/etc/passwd', join(it.root, 'banned-players.json'));
  t.is(
    (await it.call('POST', '/v1/servers/abc/players:setBan', { body: { name: 'Steve', banned: true } })).status,
    400,
  );
});

test('enforcing the whitelist applies at the next start, even if the owner’s properties say otherwise', async (t) => {
  const it = await players(t);
  t.like(await it.set('setWhitelistEnforced', { enforced: true }), { whitelistEnforced: true });
  await it.run();
  t.is(await it.property('white-list'), 'true');
  await it.stop();
  t.like(await it.lists(), { whitelistEnforced: true });

  // The owner's property decides at the next start, so enforcing the whitelist changes it.
  await it.ok('POST', '/v1/servers/abc:setProperties', { properties: { 'white-list': 'false', difficulty: 'hard' } });
  t.like(await it.lists(), { whitelistEnforced: false });
  t.like(await it.set('setWhitelistEnforced', { enforced: true }), { whitelistEnforced: true });
  await it.run();
  await it.stop();
  t.is(await it.property('white-list'), 'true');
  t.is(await it.property('difficulty'), 'hard');

  // Resetting the properties restores the game's default, until the whitelist is enforced again.
  await it.ok('POST', '/v1/servers/abc:setProperties', { properties: {} });
  t.like(await it.lists(), { whitelistEnforced: false });
  t.like(await it.set('setWhitelistEnforced', { enforced: true }), { whitelistEnforced: true });
  await it.run();
  t.is(await it.property('white-list'), 'true');
});

test('whitelist enforcement and properties set concurrently are both stored', async (t) => {
  const held = heldWrites();
  const it = await players(t, { world: { store: held.around } });
  await it.ok('POST', '/v1/servers/abc:setProperties', { properties: { 'white-list': 'false' } });
  held.hold();
  const properties = { 'white-list': 'false', difficulty: 'hard' };
  const set = it.ok('POST', '/v1/servers/abc:setProperties', { properties });
  await it.until(() => held.waiting() >= 1);
  const enforced = it.set('setWhitelistEnforced', { enforced: true });
  await it.until(() => held.waiting() >= 2);
  held.release();
  await Promise.all([set, enforced]);
  t.deepEqual((await it.servers.get('abc'))?.row.properties, { 'white-list': 'true', difficulty: 'hard' });
});

test('an unknown account returns PLAYER_NOT_FOUND, and a failing account service leaves the lists unchanged', async (t) => {
  const there = await accounts(t, ['Steve']);
  const profiles = createMojangProfiles(there.url, fakeClock());
  const it = await players(t, { profiles });
  t.deepEqual(await it.refused('setWhitelist', { name: 'Nobody', allowed: true }), [5, 'PLAYER_NOT_FOUND']);
  t.deepEqual(await it.refused('setWhitelist', { name: '.Bedrock', allowed: true }), [5, 'PLAYER_NOT_FOUND']);
  t.like(await it.set('setWhitelist', { name: 'steve', allowed: true }), {
    whitelist: [{ name: 'Steve', uuid: accountUuid('Steve') }],
  });
  there.answer((response) => void response.writeHead(503).end());
  t.deepEqual(await it.refused('setBan', { name: 'Alex', banned: true }), [14, 'ACCOUNTS_UNAVAILABLE']);
  t.like(await it.lists(), { banned: [] });
  t.like(
    await it.set('setWhitelist', { name: 'Steve', allowed: false }),
    { whitelist: [] },
    'a removal needs no account lookup',
  );
  // A player in the game's cache needs no lookup.
  const expiresOn = '2999-01-01 00:00:00 +0000';
  await it.put('usercache.json', [{ name: 'Alex', uuid: accountUuid('Alex'), expiresOn }]);
  t.like(await it.set('setBan', { name: 'alex', banned: true }), { banned: [{ name: 'Alex' }] });
  await it.ok('POST', '/v1/servers/abc:setProperties', { properties: { 'online-mode': 'false' } });
  t.like(await it.set('setOp', { name: 'Bob', op: true }), { ops: [{ name: 'Bob', uuid: offlineUuid('Bob') }] });
});

test('behind a proxy that checks accounts, a game without account checks lists players by their accounts', async (t) => {
  const it = await players(t);
  await it.ok('POST', '/v1/servers/abc:setProperties', { properties: { 'online-mode': 'false' } });
  const set = (name: string) => it.set('setWhitelist', { name, allowed: true });
  t.like(await set('Steve'), { whitelist: [{ name: 'Steve', uuid: offlineUuid('Steve') }] });
  await mkdir(join(it.root, 'config'));
  await it.put('config/paper-global.yml', 'proxies:\n  velocity:\n    enabled: true\n    online-mode: true\n');
  await set('Alex');
  t.deepEqual(((await it.json('whitelist.json')) as object[])[1], { uuid: accountUuid('Alex'), name: 'Alex' });
  t.false((await it.lists())['accountsChecked'], 'the game itself does not check accounts');
});

test('a list change during a start is either written before the game starts or refused', async (t) => {
  const it = await players(t, { type: 'sandbox' });
  const go = it.engine.hold('abc');
  const names = Array.from({ length: 12 }, (_, at) => `Player${at}`);
  const answers = await Promise.all([
    ...names
      .slice(0, 6)
      .map((name) => it.call('POST', '/v1/servers/abc/players:setWhitelist', { body: { name, allowed: true } })),
    it.call('POST', '/v1/servers/abc:start', { body: {} }),
    ...names
      .slice(6)
      .map((name) => it.call('POST', '/v1/servers/abc/players:setWhitelist', { body: { name, allowed: true } })),
  ]);
  const atStart = await it.file('whitelist.json').catch(() => '[]');
  const done = answers.toSpliced(6, 1).map(({ status, reason }, at) => ({ name: names[at], status, reason }));
  const listed = (JSON.parse(atStart) as { name: string }[]).map(({ name }) => name);
  t.deepEqual(new Set(listed), new Set(done.filter(({ status }) => status === 200).map(({ name }) => name)));
  for (const { status, reason } of done) t.true(status === 200 || reason === 'SERVER_PASSING', reason);
  t.deepEqual(await it.refused('setOp', { name: 'Steve', op: true }), [9, 'SERVER_PASSING']);
  t.is(await it.file('whitelist.json').catch(() => '[]'), atStart);
  go();
  await it.reach('abc', 'running');
});

test('in a running server each list change is sent to the game once and confirmed from its files', async (t) => {
  const it = await players(t, { type: 'sandbox' });
  await it.run();
  const told = () =>
    it.games.commands.map((command) => command.slice(5)).filter((command) => /^(?:ban|whitelist|kick)/.test(command));
  // This game accepts commands but changes no files.
  const refusal = it.refused('setBan', { name: 'Steve', banned: true, reason: 'a "b" §c' });
  t.deepEqual(await it.passing(refusal), [9, 'GAME_REFUSED']);
  t.deepEqual(told(), ['ban Steve a "b" §c']);
  // The game writes its list late, and the first read sees half of it.
  await it.put('whitelist.json', '[{');
  const late = it.set('setWhitelist', { name: 'Steve', allowed: true });
  await it.until(() => told().length === 2);
  await it.clock.advance(250);
  await it.put('whitelist.json', [{ name: 'Steve', uuid: offlineUuid('Steve') }]);
  await it.passing(late);
  t.like(await late, { running: true, whitelist: [{ name: 'Steve' }] });
  t.deepEqual(told(), ['ban Steve a "b" §c', 'whitelist add Steve']);
  t.deepEqual(await it.refused('kick', { name: 'Steve' }), [5, 'PLAYER_NOT_ONLINE']);
  t.deepEqual(await it.refused('kick', { name: 'Steve\nstop' }), [3, 'INVALID_FIELD']);
  t.is((await it.servers.get('abc'))?.state, 'running');
});

test('for a running game without a console, the proxy reports its players and lists change in its files', async (t) => {
  const find: Profiles['find'] = async (name) => ({ name, uuid: accountUuid(name) });
  const it = await players(t, { profiles: { find } });
  it.games.run = async () => {
    throw new ConsoleError('absent', 'The console is not available.');
  };
  await it.run();
  it.joined.set('abc', [{ name: 'Alice', ip: '203.0.113.7' }]);
  t.like(await it.lists(), { running: true, withoutConsole: true, online: ['Alice'] });
  t.like(await it.set('setOp', { name: 'Steve', op: true }), { withoutConsole: true, ops: [{ name: 'Steve' }] });
  t.like(await it.set('setWhitelist', { name: 'Steve', allowed: true }), { whitelist: [{ name: 'Steve' }] });
  t.like(await it.set('setBan', { name: 'Alex', banned: true }), { banned: [{ name: 'Alex' }] });
  t.like(await it.set('setWhitelistEnforced', { enforced: true }), { whitelistEnforced: true });
  t.deepEqual(await it.refused('kick', { name: 'Alice' }), [9, 'RCON_UNAVAILABLE']);
  const { status, headers, json } = await it.call('POST', '/v1/servers/abc:command', { body: { command: 'list' } });
  t.is(status, 400);
  t.is(headers.get('retry-after'), null);
  t.false(/try again/i.test(String(json['message'])));
  await it.stop();
  t.like(await it.lists(), { running: false, withoutConsole: false, online: [] });
});
