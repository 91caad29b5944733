import test from 'ava';
import { keyOfPort } from '../../proxy/hostname.ts';
import { JoinRefused } from '../../proxy/ports.ts';
import { Routing } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { listRoutes } from '../../src/servers/rows.ts';
import { api } from '../support/api-harness.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { openPanel } from '../support/panel.ts';
import { freePort } from '../support/service.ts';
import { world } from '../support/world.ts';

const NETWORK = '/v1/servers/castle:setNetwork';
/** A range of ports that no other program takes, and its first address. */
async function portsOf(count: number) {
  const from = await freePort(count);
  const addressOf = (n: number) => `127.0.0.1:${from + n}`;
  return { addressOf, config: { networkPorts: { from, to: from + count - 1 } } };
}

const networkOf = (json: Record<string, unknown>) => json['network'] as { front: string; address: string } | null;

test('a private backend has a port until it is public again, and no address anywhere', async (t) => {
  const { config, addressOf } = await portsOf(2);
  const it = await api(t, { config });
  for (const id of ['lobby', 'castle', 'tower', 'keep']) await it.create(id);
  t.is(networkOf(await it.ok('GET', '/v1/servers/castle')), null);
  const behind = await it.ok('POST', NETWORK, { front: 'lobby' });
  t.like(behind, { addr: '', network: { front: 'lobby', address: addressOf(0) } });
  t.like(await it.ok('GET', '/v1/servers/castle/names'), { address: '' });
  const { my } = await it.ok('GET', '/v1/me/servers');
  t.is((my as { id: string; address: string }[]).find(({ id }) => id === 'castle')?.address, '');
  t.is(networkOf(await it.ok('POST', NETWORK, { front: 'external' }))?.address, addressOf(0), 'it keeps its port');
  t.is(networkOf(await it.ok('POST', '/v1/servers/tower:setNetwork', { front: 'lobby' }))?.address, addressOf(1));
  const full = await it.call('POST', '/v1/servers/keep:setNetwork', { body: { front: 'lobby' } });
  t.deepEqual([full.status, full.reason], [429, 'NO_FREE_PORT']);
  t.like(await it.ok('POST', NETWORK, {}), { addr: 'castle.play.example', network: null });
  t.is(networkOf(await it.ok('POST', '/v1/servers/keep:setNetwork', { front: 'lobby' }))?.address, addressOf(0));
  const { entries } = await it.ok('GET', '/v1/servers/castle/audit');
  t.deepEqual(
    (entries as { action: string; detail: string }[])
      .filter(({ action }) => action === 'server.network')
      .map(({ detail }) => detail),
    ['public', 'behind external', 'behind lobby'],
  );
});

test('the front is another public server of the same account, or stands elsewhere', async (t) => {
  const it = await api(t);
  for (const id of ['castle', 'tower', 'lobby']) await it.create(id);
  await it.stranger();
  await it.create('foreign', { accountId: 'acc_other' });
  await it.ok('POST', '/v1/servers/tower:setNetwork', { front: 'external' });
  for (const front of ['castle', 'tower', 'foreign', 'nowhere']) {
    const { status, json } = await it.call('POST', NETWORK, { body: { front } });
    t.is(status, 400, front);
    t.regex(JSON.stringify(json), /another public server of the account/);
  }
});

test('the page of a network shows the address for the front, and makes the server public again', async (t) => {
  const { config, addressOf } = await portsOf(1);
  const it = await openPanel(t, { config });
  for (const id of ['castle', 'lobby']) await it.create(id);
  const page = '/servers/castle/settings/network';
  t.false((await it.get(page)).text.includes(addressOf(0)));
  t.is((await it.submit(`${page}/network`, { front: 'lobby' })).status, 303);
  const shown = (await it.get(page)).text;
  t.true(shown.includes(addressOf(0)));
  t.regex(shown, /value="lobby" selected/);
  t.is((await it.submit(`${page}/network`, { front: '' })).status, 303);
  t.is(networkOf(await it.ok('GET', '/v1/servers/castle')), null);
});

test('the page of a network offers the owner’s fronts by name, and a Velocity gets the address by itself', async (t) => {
  const { config, addressOf } = await portsOf(1);
  const it = await openPanel(t, { config });
  await it.create('castle');
  await it.create('tower');
  await it.create('front', { name: 'Main hall', type: 'velocity', version: '3.4.0-SNAPSHOT' });
  await it.create('gate', { name: 'Old gate', type: 'custom' });
  const page = '/servers/castle/settings/network';
  const before = (await it.get(page)).text;
  t.regex(before, /value="front" >through Main hall</);
  t.regex(before, /value="gate" >through Old gate</);
  t.notRegex(before, /value="tower"/);
  t.is((await it.submit(`${page}/network`, { front: 'front' })).status, 303);
  t.true((await it.get(page)).text.split('The front sets this address at its next start:')[1]?.includes(addressOf(0)));

  const settings = (await it.get('/servers/front/settings/game')).text;
  t.regex(settings, /Velocity has no <code>server\.properties<\/code>/);
  t.notRegex(settings, /difficulty/i);
  for (const tab of ['players', 'mods', 'worlds']) t.notRegex(settings, new RegExp(`href="/servers/front/${tab}"`));
  t.regex(settings, /href="\/servers\/front\/files"/);
  t.regex((await it.get('/servers/new?software=velocity')).text, /3\.4\.0-SNAPSHOT/);
});

test('a private backend has only its port: no host name, no name of its own, no default, no Bedrock wake', async (t) => {
  const w = await world(t);
  const { servers, clock } = w;
  await w.create('castle', { createdAt: 1, networkPort: 25_700 });
  await w.create('tower', { createdAt: 2 });
  const log = createLog({ level: 'silent' });
  const open = async (defaultServer = '') => {
    const at = { publicHost: 'localhost', defaultServer, sleepers: await listRoutes(w.store) };
    const routing = new Routing({ servers, clock, log, joinPolicy: OPEN_POLICY, ...at });
    t.teardown(() => routing.close());
    routing.setNames('castle', ['castle.example']);
    return routing;
  };
  const leads = (routing: Routing, ...hosts: string[]) => hosts.map((host) => routing.lookup(host)?.serverId);
  const routing = await open();
  const hosts = ['castle.localhost', 'castle.example', 'localhost', keyOfPort(25_700), keyOfPort(25_701)];
  const asPrivate = [undefined, 'tower', 'tower', 'castle', undefined];
  t.deepEqual(leads(routing, ...hosts), asPrivate);
  t.is((await open('castle')).meant()?.id, 'tower');
  await t.throwsAsync(routing.bedrock.wake('castle', '198.51.100.7'), { instanceOf: JoinRefused });
  t.is((await servers.get('castle'))?.state, 'hibernated');

  await servers.patch('castle', { networkPort: null });
  t.deepEqual(leads(routing, ...hosts), ['castle', 'castle', 'tower', undefined, undefined], 'tower keeps its address');
  await servers.patch('castle', { networkPort: 25_700 });
  t.deepEqual(leads(routing, ...hosts), asPrivate);
  await w.command('castle', 'DELETE');
  await w.reach('castle', 'gone');
  t.is(leads(routing, keyOfPort(25_700))[0], undefined);
});
