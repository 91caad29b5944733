import test from 'ava';
import { Routing } from '../../src/joining/routing.ts';
import { DAY_MS, MINUTE_MS } from '../../src/kernel/units.ts';
import { createLog } from '../../src/kernel/log.ts';
import { listRoutes } from '../../src/servers/rows.ts';
import { api } from '../support/api-harness.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { world } from '../support/world.ts';

interface Name {
  name: string;
  state: string;
  expiresAt: string | null;
  txtName: string;
  txtValue: string;
  srv: string;
}

const namesIn = (json: Record<string, unknown>) => json['names'] as Name[];
const statesIn = (json: Record<string, unknown>) => namesIn(json).map(({ name, state }) => [name, state]);
const PATH = '/v1/servers/abc/names';
const NAME = 'play.friends.example';

/** An API with a DNS whose records, or failure, the test sets, and the names that players can use. */
async function withDns(t: Parameters<typeof api>[0], config = {}) {
  const dns = new Map<string, string[]>();
  const routed = new Map<string, readonly string[]>();
  const state = { isDown: false, asked: 0 };
  const resolveTxt = async (name: string) => {
    state.asked += 1;
    if (state.isDown) throw Object.assign(new Error('no answer'), { code: 'ETIMEOUT' });
    const found = dns.get(name);
    if (!found) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    return found.map((text) => [text.slice(0, 5), text.slice(5)]);
  };
  const named = (id: string, names: readonly string[]) => void routed.set(id, names);
  const it = await api(t, { config, resolveTxt, named });
  await it.create('abc');
  await it.create('def');
  const pass = async (ms: number) => {
    await it.clock.jump(it.clock.now() + ms);
    await it.services.ownNames.check();
  };
  return { ...it, dns, routed, state, pass };
}

test('an own name counts once DNS has the token of its server, and is released a week after the token is gone', async (t) => {
  const it = await withDns(t);
  const [pending] = namesIn(await it.ok('POST', PATH, { name: 'Play.Friends.EXAMPLE.' }));
  t.like(pending, {
    name: NAME,
    state: 'pending',
    txtName: `_dormouse.${NAME}`,
    srv: `_minecraft._tcp.${NAME}. 3600 IN SRV 0 5 25565 abc.play.example.`,
  });
  t.deepEqual(it.routed.get('abc'), []);
  it.dns.set(`_dormouse.${NAME}`, ['v=spf1 -all', pending!.txtValue]);
  await it.pass(10 * MINUTE_MS);
  t.deepEqual(statesIn(await it.ok('GET', PATH)), [[NAME, 'proved']]);
  t.deepEqual(it.routed.get('abc'), [NAME]);

  it.dns.clear();
  await it.pass(6 * DAY_MS);
  t.deepEqual(it.routed.get('abc'), [NAME], 'a name survives days without its record');
  it.state.isDown = true;
  await it.pass(20 * DAY_MS);
  t.deepEqual(it.routed.get('abc'), [NAME], 'DNS that does not respond proves nothing');
  it.state.isDown = false;
  await it.pass(MINUTE_MS);
  t.deepEqual(it.routed.get('abc'), []);
  t.deepEqual(namesIn(await it.ok('GET', PATH)), []);
  const { entries } = (await it.ok('GET', '/v1/servers/abc/audit')) as {
    entries: { action: string; through: string; detail: string }[];
  };
  t.like(entries[0], { action: 'server.name.release', through: 'system names', detail: NAME });
});

test('another server gets a proved name only when the record has its token and no longer the holder’s', async (t) => {
  const it = await withDns(t);
  const [mine] = namesIn(await it.ok('POST', PATH, { name: NAME }));
  it.dns.set(`_dormouse.${NAME}`, [mine!.txtValue]);
  await it.ok('POST', PATH, { name: NAME });
  const [theirs] = namesIn(await it.ok('POST', '/v1/servers/def/names', { name: NAME }));
  t.not(theirs!.txtValue, mine!.txtValue);
  t.is(theirs!.state, 'pending');
  it.dns.set(`_dormouse.${NAME}`, [theirs!.txtValue, mine!.txtValue]);
  t.deepEqual(statesIn(await it.ok('POST', '/v1/servers/def/names', { name: NAME })), [[NAME, 'pending']]);
  t.deepEqual([it.routed.get('abc'), it.routed.get('def')], [[NAME], []]);
  it.dns.set(`_dormouse.${NAME}`, [theirs!.txtValue]);
  t.deepEqual(statesIn(await it.ok('POST', '/v1/servers/def/names', { name: NAME })), [[NAME, 'proved']]);
  t.deepEqual([it.routed.get('abc'), it.routed.get('def')], [[], [NAME]]);
});

test('the record of a deleted server proves nothing for a new server of its id', async (t) => {
  const it = await withDns(t);
  const [mine] = namesIn(await it.ok('POST', PATH, { name: NAME }));
  it.dns.set(`_dormouse.${NAME}`, [mine!.txtValue]);
  t.deepEqual(statesIn(await it.ok('POST', PATH, { name: NAME })), [[NAME, 'proved']]);
  await it.ok('DELETE', '/v1/servers/abc');
  await it.reach('abc', 'gone');
  // Names that are added at different times have different tokens.
  await it.clock.advance(1);
  await it.create('abc');
  t.deepEqual(statesIn(await it.ok('POST', PATH, { name: NAME })), [[NAME, 'pending']]);
});

test('a name can be removed as it was typed, and one that was never proved expires even without DNS', async (t) => {
  const it = await withDns(t);
  await it.ok('POST', PATH, { name: 'Play.Friends.EXAMPLE.' });
  t.deepEqual(namesIn(await it.ok('POST', `${PATH}:remove`, { name: 'Play.Friends.EXAMPLE.' })), []);
  it.state.isDown = true;
  await it.ok('POST', PATH, { name: NAME });
  await it.pass(8 * DAY_MS);
  t.deepEqual(namesIn(await it.ok('GET', PATH)), []);
});

test('names of this service, addresses and single labels are no own names, and a server has at most five', async (t) => {
  const it = await withDns(t);
  for (const name of [
    'play.example',
    'x.play.example',
    '10.0.0.1',
    'localhost',
    'friends',
    'a..example',
    'a b.example',
  ])
    t.is((await it.call('POST', PATH, { body: { name } })).status, 400, name);
  t.is(namesIn(await it.ok('POST', PATH, { name: 'bücher.example' }))[0]?.name, 'xn--bcher-kva.example');
  for (const nth of [2, 3, 4, 5]) await it.ok('POST', PATH, { name: `n${nth}.example` });
  t.is((await it.call('POST', PATH, { body: { name: 'n6.example' } })).reason, 'MAX_NAMES');
  t.is((await it.call('POST', `${PATH}:remove`, { body: { name: 'n6.example' } })).reason, 'NAME_NOT_FOUND');
  await it.ok('POST', `${PATH}:remove`, { name: 'n5.example' });
  t.is(namesIn(await it.ok('GET', PATH)).length, 4);
});

test('with OWN_NAMES=off, names cannot be added, and DNS is not asked', async (t) => {
  const it = await withDns(t, { ownNames: 'off' });
  t.is((await it.call('POST', PATH, { body: { name: NAME } })).reason, 'OWN_NAMES_OFF');
  await it.pass(10 * MINUTE_MS);
  t.is(it.state.asked, 0);
});

test('a former address leads to its server for 30 days, and no other server can get it meanwhile', async (t) => {
  const it = await withDns(t);
  const renamed = await it.ok('POST', '/v1/servers/abc:setHostname', { hostname: 'castle' });
  t.is(renamed['address'], 'castle.play.example');
  t.deepEqual(it.routed.get('abc'), ['abc.play.example']);
  for (const hostname of ['abc', 'castle'])
    t.is((await it.call('POST', '/v1/servers/def:setHostname', { body: { hostname } })).reason, 'SERVER_EXISTS');
  const wanted = { name: 'New', hostname: 'abc', ramMb: 256 };
  t.is((await it.call('POST', '/v1/servers', { body: wanted })).status, 409);
  await it.pass(29 * DAY_MS);
  t.deepEqual(it.routed.get('abc'), ['abc.play.example']);
  await it.pass(DAY_MS);
  t.deepEqual(it.routed.get('abc'), []);
  await it.ok('POST', '/v1/servers/def:setHostname', { hostname: 'abc' });
  await it.ok('POST', '/v1/servers/def:setHostname', { hostname: 'def' });
  t.deepEqual(
    statesIn(await it.ok('GET', '/v1/servers/def/names')),
    [['abc', 'former']],
    'its own name is free for it',
  );
});

test('players reach a server at its further names, by one lookup, until it is deleted', async (t) => {
  const w = await world(t);
  const { servers, clock } = w;
  await w.create('castle');
  const sleepers = await listRoutes(w.store);
  const log = createLog({ level: 'silent' });
  const routing = new Routing({ servers, clock, log, joinPolicy: OPEN_POLICY, publicHost: 'play.example', sleepers });
  t.teardown(() => routing.close());
  const changes: string[] = [];
  routing.feed.follow((host) => changes.push(host));
  routing.setNames('castle', [NAME]);
  t.deepEqual(changes, [NAME], 'proxies get the name');
  const main = () => routing.lookup('castle.play.example');
  t.is(routing.lookup(NAME), main());
  await servers.patch('castle', { motd: 'Hello' });
  t.like(routing.lookup(NAME), { motd: main()?.motd });
  t.is(routing.lookup(NAME), main());
  routing.setNames('castle', [NAME, 'castle.play.example']);
  await servers.patch('castle', { hostname: 'tower' });
  t.is(routing.lookup('tower.play.example')?.serverId, 'castle');
  t.is(main()?.serverId, 'castle', 'the former address');
  routing.setNames('castle', [NAME]);
  t.is(main(), undefined);
  await w.command('castle', 'DELETE');
  await w.reach('castle', 'gone');
  t.is(routing.lookup(NAME), undefined);
});
