import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { offlineUuid } from '../../src/game/players/profiles.ts';
import { joinRaw } from '../support/bot.ts';
import { startService } from '../support/service.ts';

const VERSION = '1.20.4';

interface Lists {
  online: string[];
  running: boolean;
  whitelistEnforced: boolean;
  withoutConsole: boolean;
  accountsChecked: boolean;
  whitelist: object[];
  ops: object[];
  banned: { created: string }[];
  bannedIps: { created: string }[];
}

/** Makes the same changes asleep or awake, which must have the same result. Then checks it in the other state. */
const bothWays = test.macro({
  title: (_given, way: 'asleep' | 'awake') => `lists changed ${way} are the same, and stay so`,
  async exec(t, way: 'asleep' | 'awake') {
    const service = await startService(t);
    await service.create('castle', VERSION);
    const path = '/v1/servers/castle';
    const set = (verb: string, body: object) => service.call<Lists>('POST', `${path}/players:${verb}`, body);
    const lists = () => service.call<Lists>('GET', `${path}/players`);
    const bring = async (to: 'asleep' | 'awake') => {
      await service.call('POST', `${path}:${to === 'awake' ? 'start' : 'stop'}`, {});
      await service.reach('castle', to === 'awake' ? 'running' : 'hibernated');
    };
    if (way === 'awake') await bring('awake');

    await set('setWhitelist', { name: 'Steve', allowed: true });
    await set('setWhitelist', { name: 'Steve', allowed: true });
    await set('setWhitelist', { name: 'Gone', allowed: true });
    await set('setWhitelist', { name: 'gone', allowed: false });
    await set('setWhitelist', { name: 'Never', allowed: false });
    await set('setOp', { name: 'Steve', op: true });
    await set('setBan', { name: 'Mallory', banned: true, reason: '"§cbad"  luck; \\n' });
    await set('setBan', { name: 'Mallory', banned: true, reason: 'worse' });
    await set('setBan', { name: 'Trudy', banned: true });
    await set('setBan', { name: 'Brief', banned: true, reason: 'for now', expires: '2099-01-31T12:00:00+01:00' });
    await set('setBan', { name: 'Oops', banned: true });
    await set('setBan', { name: 'Oops', banned: false });
    await set('setIpBan', { ip: '203.0.113.7', banned: true, reason: 'spam' });
    await set('setIpBan', { ip: '2001:DB8::1', banned: true, expires: '2099-01-31T12:00:00Z' });
    await set('setIpBan', { ip: '203.0.113.8', banned: true, expires: '2099-01-31T12:00:00Z' });
    await set('setIpBan', { ip: '2001:db8::1', banned: false });
    const last = await set('setWhitelistEnforced', { enforced: true });

    const rest = { created: '', source: 'Rcon', expires: 'forever' };
    const player = (name: string) => ({ name, uuid: offlineUuid(name) });
    const expected = {
      online: [],
      running: way === 'awake',
      whitelistEnforced: true,
      withoutConsole: false,
      accountsChecked: false,
      whitelist: [player('Steve')],
      ops: [{ ...player('Steve'), level: 4, bypassesPlayerLimit: false }],
      banned: [
        { ...player('Mallory'), ...rest, reason: '"§cbad" luck; \\n' },
        { ...player('Trudy'), ...rest, reason: 'Banned by an operator.' },
        { ...player('Brief'), ...rest, reason: 'for now', expires: '2099-01-31 11:00:00 +0000' },
      ],
      bannedIps: [
        { ip: '203.0.113.7', ...rest, reason: 'spam' },
        { ip: '203.0.113.8', ...rest, reason: 'Banned by an operator.', expires: '2099-01-31 12:00:00 +0000' },
      ],
    };
    const undated = (now: Lists) => ({
      ...now,
      banned: now.banned.map((ban) => ({ ...ban, created: '' })),
      bannedIps: now.bannedIps.map((ban) => ({ ...ban, created: '' })),
    });
    t.deepEqual<unknown, unknown>(undated(last), expected);
    for (const ban of last.banned) t.regex(ban.created, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000$/);
    const other = way === 'awake' ? 'asleep' : 'awake';
    await bring(other);
    t.deepEqual(await lists(), { ...last, running: other === 'awake' });

    // The game, or the join policy of a sleeping server, enforces the lists.
    const address = { port: service.playersPort, version: VERSION, fakeHost: 'castle.localhost' };
    await t.throwsAsync(joinRaw({ ...address, name: 'Mallory' }), { message: /banned.*luck/s });
    await t.throwsAsync(joinRaw({ ...address, name: 'Brief' }), { message: /banned.*for now.*2099/s });
    await t.throwsAsync(joinRaw({ ...address, name: 'Stranger' }), { message: /white-?list/ });
    t.is((await service.call('GET', path)).state, other === 'awake' ? 'running' : 'hibernated', 'no one has woken it');

    const steve = await joinRaw({ ...address, name: 'Steve' });
    t.deepEqual((await lists()).online, ['Steve']);
    await set('kick', { name: 'steve', reason: 'Dinner is ready' });
    t.deepEqual((await lists()).online, []);
    await steve.end();
    await t.throwsAsync(set('kick', { name: 'Steve' }), { message: /404.*PLAYER_NOT_ONLINE/ });

    await set('setIpBan', { ip: '127.0.0.1', banned: true, reason: 'all of you' });
    await t.throwsAsync(joinRaw({ ...address, name: 'Steve' }), { message: /address is banned.*all of you/s });
    await bring('asleep');
    await t.throwsAsync(joinRaw({ ...address, name: 'Steve' }), { message: /address is banned.*all of you/s });
    t.is((await service.call('GET', path)).state, 'hibernated');
    await set('setIpBan', { ip: '127.0.0.1', banned: false });
    await (await joinRaw({ ...address, name: 'Steve' })).end();
    await bring('asleep');

    // Changes during a start: the game knows every acknowledged one.
    const names = ['Ann', 'Bob', 'Carol', 'Dave'];
    const start = () => service.call('POST', `${path}:start`, {});
    const add = (name: string) => set('setWhitelist', { name, allowed: true });
    const outcomes = await Promise.allSettled([add('Ann'), add('Bob'), start(), add('Carol'), add('Dave')]);
    await service.reach('castle', 'running');
    const { output } = await service.call<{ output: string }>('POST', `${path}:command`, { command: 'whitelist list' });
    const done = outcomes.toSpliced(2, 1).map(({ status }) => status === 'fulfilled');
    t.deepEqual(
      names.map((name) => output.includes(name)),
      done,
    );
    t.notRegex(await readFile(join(service.dataDir, 'servers/castle/logs/latest.log'), 'utf8'), /Stranger|Mallory/);
  },
});

test(bothWays, 'asleep');
test(bothWays, 'awake');

test('an IP ban by player name keeps that address out and leaves other players connected', async (t) => {
  const service = await startService(t);
  await service.create('castle', VERSION);
  const path = '/v1/servers/castle';
  const as = (name: string, from: string) =>
    joinRaw({ port: service.playersPort, version: VERSION, fakeHost: 'castle.localhost', name, from });
  const banned = async () => (await service.call<Lists>('GET', `${path}/players`)).bannedIps;
  const alex = await as('Alex', '127.0.0.3');
  const steve = await as('Steve', '127.0.0.2');
  await service.call('POST', `${path}:command`, { command: 'ban-ip steve griefing' });
  t.regex(await steve.ended, /IP banned/);
  t.like(await banned(), [{ ip: '127.0.0.2', reason: 'griefing' }]);
  await t.throwsAsync(as('Steve', '127.0.0.2'), { message: /address is banned.*griefing/s });
  await (await as('Carol', '127.0.0.4')).end();
  await alex.end();

  // A ban by an operator in the game applies to the proxy's address.
  await service.call('POST', `${path}/players:setOp`, { name: 'Alex', op: true });
  const operator = await as('Alex', '127.0.0.3');
  operator.chat('/ban-ip Alex');
  await operator.ended;
  t.like(await banned(), [{ ip: '127.0.0.2' }, { ip: '127.0.0.1' }]);
  await service.call('POST', `${path}:stop`, {});
  await service.reach('castle', 'hibernated');
  await (await as('Carol', '127.0.0.4')).end();
  t.deepEqual((await banned()).length, 1);
});
