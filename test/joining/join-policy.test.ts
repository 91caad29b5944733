import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Player, Route } from '../../proxy/ports.ts';
import { AwakeSessions } from '../../src/billing/awake-sessions.ts';
import { openSteadyClock } from '../../src/billing/steady-clock.ts';
import { createPlayerFiles } from '../../src/game/players/files.ts';
import { offlineUuid } from '../../src/game/players/profiles.ts';
import { createJoinPolicy, type WakePolicy, openWakePolicies } from '../../src/joining/join-policy.ts';
import { Routing } from '../../src/joining/routing.ts';
import { listRoutes } from '../../src/servers/rows.ts';
import { createLog } from '../../src/kernel/log.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { type WorldOptions, world } from '../support/world.ts';

const UUID = '069a79f4-44e9-4726-a5be-fca90e38aaf5';
const OTHER = '853c80ef-3c37-49fd-aa49-938b674adae6';
const USUAL: WakePolicy = { mode: 'anyone', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' };

/** A sleeping server `abc`, which players try to wake. */
async function joinPolicy(t: ExecutionContext) {
  // Set once the world has opened the store.
  let onStep: WorldOptions['onStep'];
  const it = await world(t, { onStep: (...step) => onStep?.(...step) ?? Promise.resolve() });
  const { store, clock, servers, dataDir } = it;
  const steady = await openSteadyClock(store, 'test', { clock, monotonicMs: () => clock.now() });
  ({ onStep } = new AwakeSessions(clock, steady, { perGbHourMicros: 0, perGbMonthMicros: 0 }));
  const policies = await openWakePolicies(store);
  const guard = createJoinPolicy({ files: createPlayerFiles(dataDir), policies, clock, store });
  servers.checkWakes(guard.wakeCap, ['JOIN']);
  const log = createLog({ level: 'silent' });
  const routing = new Routing({ servers, clock, log, joinPolicy: guard, publicHost: 'play.example', sleepers: [] });
  t.teardown(() => routing.close());
  await it.create('abc', { name: 'Castle' });
  const root = join(dataDir, 'servers', 'abc');
  await mkdir(root, { recursive: true });
  return {
    ...it,
    root,
    guard,
    routing,
    list: (file: string, entries: unknown) => writeFile(join(root, file), JSON.stringify(entries)),
    async policy(change: Partial<WakePolicy>) {
      await policies.set('abc', { ...USUAL, ...change }, async () => {});
      await servers.patch('abc', {});
    },
    route: () => routing.lookup('abc.play.example') as Route,
    /** Returns the kick message of a refused join, or '' if the server wakes. Stops a woken server again. */
    async knock(change: Partial<Player> = {}): Promise<string> {
      const player: Player = { name: 'Steve', uuid: UUID, ip: '203.0.113.7', protocol: 769, ...change };
      const gone = new AbortController();
      const knocked = routing.wake('abc', player, gone.signal).then(
        () => '',
        (error: Error) => (error.name === 'JoinRefused' ? error.message : ''),
      );
      await it.until(async () => (await servers.get('abc'))?.state !== 'hibernated' || (await settles(knocked)));
      const wakes = (await servers.get('abc'))?.state !== 'hibernated';
      if (wakes) {
        await it.reach('abc', 'running');
        await it.command('abc', 'STOP');
        await it.reach('abc', 'hibernated');
      }
      gone.abort();
      return wakes ? '' : knocked;
    },
  };
}

async function settles(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  return (await Promise.race([promise, new Promise((resolve) => setImmediate(resolve, pending))])) !== pending;
}

test('a returning player is recognized in both layouts of player data, in any world folder of the server', async (t) => {
  const it = await joinPolicy(t);
  await it.policy({ mode: 'known' });
  const worlds = [
    ['', 'world/playerdata'],
    ['', 'world/players/data'],
    ['worlds/main', 'worlds/main/playerdata'],
    ['./world/inner/', 'world/inner/players/data'],
  ];
  for (const [level, folder] of worlds) {
    await writeFile(join(it.root, 'server.properties'), `level-name=${level}\n`);
    t.not(await it.knock(), '', `${folder}: a stranger`);
    await mkdir(join(it.root, folder!), { recursive: true });
    await writeFile(join(it.root, folder!, `${UUID}.dat`), 'x');
    t.is(await it.knock(), '', folder);
    await rm(join(it.root, folder!.split('/')[0]!), { recursive: true });
  }
  await mkdir(join(it.dataDir, 'elsewhere/players/data'), { recursive: true });
  await writeFile(join(it.dataDir, 'elsewhere/players/data', `${UUID}.dat`), 'x');
  await symlink(join(it.dataDir, 'elsewhere'), join(it.root, 'linked'));
  await writeFile(join(it.root, 'server.properties'), 'level-name=linked\n');
  t.is(await it.knock(), '', 'a world that is a link');
  await writeFile(join(it.root, 'server.properties'), 'level-name=../../elsewhere\n');
  t.not(await it.knock(), '', 'a path that leaves the server');
});

test('anyone wakes a server by default, unless its wake mode or maintenance forbids it', async (t) => {
  const it = await joinPolicy(t);
  t.is(await it.knock(), '');
  await it.policy({ mode: 'nobody' });
  t.is(await it.knock(), 'Castle is asleep. Only its owner can wake it.');
  t.is(it.route().asleepLine, '§7Asleep');
  await it.policy({ maintenanceText: '<red>Back at 8 pm\n§7Sorry', asleepMotd: 'zzz' });
  t.is(await it.knock(), '§cBack at 8 pm\n§7Sorry');
  t.is(it.route().asleepLine, '§cBack at 8 pm');
  t.is(it.route().asleepMotd, '');
  await it.policy({ asleepMotd: '<#123456>zzz' });
  t.is(it.route().asleepMotd, '§8§x§1§2§3§4§5§6zzz');
  t.is(it.engine.boots.length, 1);
});

test('unlisted and banned players cannot wake a server, and list changes apply at once', async (t) => {
  const it = await joinPolicy(t);
  await it.policy({ mode: 'whitelist' });
  t.regex(await it.knock(), /Only whitelisted players can wake it/);
  await it.list('whitelist.json', [{ uuid: UUID, name: 'Steve' }]);
  t.is(await it.knock(), '');
  t.is(await it.knock({ uuid: null }), '', 'an older client sends no UUID');
  t.regex(await it.knock({ uuid: OTHER }), /whitelist/, 'another account with a listed name');
  await it.list('whitelist.json', []);
  t.regex(await it.knock(), /whitelist/);
  await it.list('ops.json', [{ uuid: UUID, name: 'Steve', level: 4 }]);
  t.is(await it.knock(), '');

  await it.policy({});
  const ban = { created: '2026-01-01 00:00:00 +0000', source: 'Server', expires: 'forever', reason: 'griefing' };
  await it.list('banned-players.json', [{ ...ban, uuid: UUID, name: 'Steve' }]);
  t.is(await it.knock(), 'You are banned from Castle.\nReason: griefing');
  t.is(await it.knock({ name: 'Alex', uuid: OTHER }), '');
  await it.list('banned-players.json', [{ ...ban, uuid: UUID, name: 'Steve', expires: '2020-01-01 00:00:00 +0000' }]);
  t.is(await it.knock(), '', 'the ban has ended');
});

test('a temporary ban states its end, whether from the expiry field or the reason, and then expires', async (t) => {
  const it = await joinPolicy(t);
  const end = new Date(it.clock.now() + 60_000).toISOString();
  const date = `${end.slice(0, 19).replace('T', ' ')} +0000`;
  const who = { uuid: UUID, name: 'Steve', ip: '203.0.113.7' };
  const byGame = { ...who, expires: date, reason: 'griefing' };
  const byReason = { ...who, expires: 'forever', reason: `griefing (until ${date})` };
  const ends = new RegExp(`banned from .*\\nReason: griefing\\nIt ends on .*, ${end.slice(11, 16)} UTC\\.$`);
  for (const ban of [byGame, byReason]) {
    await it.list('banned-players.json', [ban]);
    t.regex(await it.knock(), ends);
    await it.list('banned-players.json', []);
    await it.list('banned-ips.json', [ban]);
    t.regex(await it.knock(), ends);
    t.like(await it.guard.bannedAddresses('abc'), [['203.0.113.7', Date.parse(`${end.slice(0, 19)}Z`)]]);
    await it.list('banned-ips.json', []);
  }
  await it.list('banned-players.json', [byReason]);
  await it.list('banned-ips.json', [byReason]);
  await it.clock.advance(60_000);
  t.deepEqual(await it.guard.bannedAddresses('abc'), []);
  t.is(await it.knock(), '');
});

test('a name that no account has wakes a server only if its game may accept it', async (t) => {
  const it = await joinPolicy(t);
  const bedrock = { name: '.Some Guy', uuid: '00000000-0000-0000-0009-01f5610a762d' };
  const bad = /Your player name cannot wake this server/;
  t.is(await it.knock(bedrock), '', 'the sandbox checks no accounts by default');
  await writeFile(join(it.root, 'server.properties'), 'online-mode=true\n');
  t.regex(await it.knock(bedrock), bad);
  await writeFile(join(it.root, 'server.properties'), 'online-mode=false\n');
  t.is(await it.knock(bedrock), '');
  await it.servers.patch('abc', { properties: { 'online-mode': 'true' } });
  t.regex(await it.knock(bedrock), bad, 'the owner’s setting counts, because the next boot applies it');
  await mkdir(join(it.root, 'plugins/floodgate'), { recursive: true });
  t.is(await it.knock(bedrock), '');
  await rm(join(it.root, 'plugins'), { recursive: true });
  t.regex(await it.knock(bedrock), bad);
});

test('a player of another proxy is known by the account’s UUID, although the game checks no accounts', async (t) => {
  const it = await joinPolicy(t);
  await writeFile(join(it.root, 'server.properties'), 'online-mode=false\nwhite-list=true\n');
  await it.list('whitelist.json', [{ uuid: UUID, name: 'Before' }]);
  t.is(await it.knock(), '', 'listed under an earlier name');
  t.regex(await it.knock({ name: 'Before', uuid: OTHER }), /whitelist/, 'another account with the listed name');
  await it.list('banned-players.json', [{ uuid: UUID, name: 'Before', expires: 'forever' }]);
  t.regex(await it.knock(), /banned/);
  await it.list('banned-players.json', []);
  await it.policy({ mode: 'verified' });
  t.is(await it.knock({ verified: true }), '');
});

test('a whitelist enabled in server.properties keeps strangers from waking the server', async (t) => {
  const it = await joinPolicy(t);
  for (const value of ['true', 'TRUE']) {
    await writeFile(join(it.root, 'server.properties'), `white-list=${value}\r\n`);
    t.regex(await it.knock(), /whitelist/, value);
  }
  await it.servers.patch('abc', { properties: { 'white-list': 'false' } });
  t.is(await it.knock(), '', 'the owner’s setting counts, because the next boot applies it');
});

test('known mode allows players from the game’s user cache or with saved player data', async (t) => {
  const it = await joinPolicy(t);
  await it.policy({ mode: 'known' });
  t.regex(await it.knock(), /Only players who have played here before/);
  await it.list('usercache.json', [{ name: 'Steve', uuid: UUID, expiresOn: '2026-12-31 00:00:00 +0000' }]);
  t.is(await it.knock(), '');
  await rm(join(it.root, 'usercache.json'));
  t.regex(await it.knock(), /played/);
  await mkdir(join(it.root, 'world/playerdata'), { recursive: true });
  await writeFile(join(it.root, `world/playerdata/${UUID}.dat`), '');
  t.is(await it.knock(), '');
  t.regex(await it.knock({ uuid: '../../../etc/passwd' }), /played/);
});

test('known mode finds the data of a game that does not check accounts, although clients send their account’s UUID', async (t) => {
  const it = await joinPolicy(t);
  await it.policy({ mode: 'known' });
  await mkdir(join(it.root, 'world/playerdata'), { recursive: true });
  await writeFile(join(it.root, `world/playerdata/${offlineUuid('Steve')}.dat`), '');
  t.regex(await it.knock(), /played/, 'a game that checks accounts has other UUIDs');
  await writeFile(join(it.root, 'server.properties'), 'online-mode=False\n');
  t.is(await it.knock(), '');
  t.is(await it.knock({ uuid: null }), '', 'an older client sends no UUID');
  t.regex(await it.knock({ name: 'Alex' }), /played/);
});

test('a malformed or linked whitelist.json counts as empty', async (t) => {
  const it = await joinPolicy(t);
  await it.policy({ mode: 'whitelist' });
  for (const content of ['', '{', '{}', '[null,1,"x",{"name":7}]']) {
    await writeFile(join(it.root, 'whitelist.json'), content);
    t.regex(await it.knock(), /whitelist/);
  }
  await rm(join(it.root, 'whitelist.json'));
  await writeFile(join(it.dataDir, 'secret.json'), JSON.stringify([{ uuid: UUID, name: 'Steve' }]));
  await symlink(join(it.dataDir, 'secret.json'), join(it.root, 'whitelist.json'));
  t.regex(await it.knock(), /whitelist/, 'a link is not followed');
});

test('a route carries the server name and the waiting-room flag, which stays off for Forge-based cores', async (t) => {
  const it = await joinPolicy(t);
  t.like(it.route(), { name: 'Castle', waitingRoom: false });
  await it.servers.patch('abc', { waitingRoom: true });
  for (const [type, waitingRoom] of [
    ['paper', true],
    ['fabric', true],
    ['neoforge', false],
    ['arclight', false],
    ['forge', false],
  ] as const) {
    await it.servers.patch('abc', { type });
    t.is(it.route().waitingRoom, waitingRoom, type);
    const log = createLog({ level: 'silent' });
    const { servers, clock, store } = it;
    const options = { servers, clock, log, publicHost: 'play.example', sleepers: await listRoutes(store) };
    const restarted = new Routing({ ...options, joinPolicy: OPEN_POLICY });
    t.is(restarted.lookup('abc.play.example')?.waitingRoom, waitingRoom, `${type}, from the stored route`);
    restarted.close();
  }
});

test('verified mode wakes a server only for players with a verified account', async (t) => {
  const it = await joinPolicy(t);
  await it.policy({ mode: 'verified' });
  t.true(it.route().verifies);
  t.regex(await it.knock(), /verify your account/);
  t.is(await it.knock({ verified: true }), '');
});

test('maxWakesPerDay counts wakes by players, not the owner’s starts, and resets at midnight', async (t) => {
  const it = await joinPolicy(t);
  await it.policy({ maxWakesPerDay: 2 });
  t.is(await it.knock(), '');
  // The owner's own starts do not count.
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  t.is(await it.knock({ name: 'Alex' }), '');
  t.regex(await it.knock(), /reached its daily wake limit/);
  t.is((await it.servers.get('abc'))?.state, 'hibernated');
  const left = 86_400_000 - (it.clock.now() % 86_400_000);
  await it.clock.advance(left);
  t.is(await it.knock(), '');
});

test('a banned IP address can neither wake nor join a server, and other addresses can', async (t) => {
  const it = await joinPolicy(t);
  const ban = { created: '', source: '', expires: 'forever', reason: '' };
  await it.list('banned-ips.json', [{ ...ban, ip: '203.0.113.7' }]);
  t.is(await it.knock(), 'Your address is banned from this server.');
  t.is(await it.knock({ ip: '203.0.113.8' }), '');
  await it.list('banned-ips.json', [
    { ...ban, ip: '2001:0DB8:0:0::00A' },
    { ...ban, ip: '203.0.113.7' },
  ]);
  t.is(await it.knock({ ip: '2001:db8::a' }), 'Your address is banned from this server.');
  t.is(await it.knock({ ip: '2001:db8::b' }), '');
  const player: Player = { name: 'Steve', uuid: UUID, ip: '203.0.113.7', protocol: 769 };
  await t.throwsAsync(it.routing.admit('abc', player), { name: 'JoinRefused', message: /Your address is banned/ });
  await t.notThrowsAsync(it.routing.admit('abc', { ...player, ip: '203.0.113.8' }));
});
