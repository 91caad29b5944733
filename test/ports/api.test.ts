import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'ava';
import { violationsOf } from '../../src/http/errors.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { ServerPorts } from '../../src/ports/ports.ts';
import { api } from '../support/api-harness.ts';

interface Mapping {
  slot: number;
  containerPort: number;
  hostPort: number;
  proto: string;
  label: string;
  wakes: boolean;
  host: string;
}

const PATH = '/v1/servers/abc/ports';
const portsIn = (json: Record<string, unknown>) => json['ports'] as Mapping[];

test('ports get slots, appear with the server, persist across restarts and can be removed', async (t) => {
  const it = await api(t);
  const { ok, call, store } = it;
  await it.create('abc');
  await it.create('def');
  const voice = { containerPort: 24_454, label: 'Voice chat', proto: 'udp' };
  t.deepEqual(portsIn(await ok('POST', PATH, voice)), [
    { slot: 0, hostPort: 40_000, ...voice, wakes: false, host: 'abc.play.example' },
  ] as Mapping[]);
  await ok('POST', PATH, { containerPort: 24_454, proto: 'tcp' });
  t.is((await call('POST', PATH, { body: voice })).reason, 'PORT_EXISTS');
  const other = portsIn(await ok('POST', '/v1/servers/def/ports', voice));
  t.deepEqual(
    other.map(({ slot, hostPort }) => [slot, hostPort]),
    [[0, 40_002]],
  );
  const left = portsIn(await ok('POST', `${PATH}:remove`, { slot: 0 }));
  t.deepEqual(
    left.map(({ slot, proto }) => [slot, proto]),
    [[1, 'tcp']],
  );
  t.is((await call('POST', `${PATH}:remove`, { body: { slot: 0 } })).reason, 'PORT_NOT_FOUND');
  t.deepEqual(portsIn(await ok('GET', '/v1/servers/abc')), left);
  const again = await ServerPorts.open({
    store,
    range: { from: 40_000, to: 40_019 },
    onThisMachine: false,
    own: [],
    isFree: async () => true,
  });
  t.like(again.of('abc'), [{ slot: 1, containerPort: 24_454, hostPort: 40_001 }]);
  await again.forget('abc');
  t.deepEqual(again.of('abc'), []);
});

test('with several machines, a port’s host is the machine that runs the game, and empty while it is asleep', async (t) => {
  const it = await api(t, { world: { nodes: [{ id: 'n1', address: '10.0.0.11', publicHost: 'eu1.example.org' }] } });
  await it.create('abc');
  const voice = { containerPort: 24_454, label: 'Voice chat', proto: 'udp' };
  t.is(portsIn(await it.ok('POST', PATH, voice))[0]?.host, '');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  const now = await it.ok('GET', '/v1/servers/abc');
  t.like(now, { nodeLabel: 'n1', ports: [{ hostPort: 40_000, host: 'eu1.example.org' }] });
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  t.is(portsIn(await it.ok('GET', '/v1/servers/abc'))[0]?.host, '');
});

test('with games on several machines, a port that wakes is refused', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const range = { from: 40_000, to: 40_019 };
  const ports = await ServerPorts.open({ store: it.store, range, onThisMachine: false, areElsewhere: true, own: [] });
  const wanted = { containerPort: 19_132, proto: 'udp' as const, label: '', wakes: true };
  t.like(await t.throwsAsync(ports.add('abc', wanted, async () => {})), { reason: 'NOT_SUPPORTED' });
});

test('concurrent port requests get distinct ports, and at most as many as the range has', async (t) => {
  const it = await api(t);
  for (const id of ['a', 'b', 'c']) await it.create(id);
  const ask = (nth: number) =>
    it.call('POST', `/v1/servers/${'abc'[nth % 3]}/ports`, { body: { containerPort: 1_000 + nth, proto: 'tcp' } });
  const answers = await Promise.all(Array.from({ length: 60 }, (_, nth) => ask(nth)));
  const refused = answers.filter(({ status }) => status !== 200);
  t.true(refused.every(({ reason }) => reason === 'MAX_PORTS' || reason === 'NO_FREE_PORT'));
  const given = ['a', 'b', 'c'].flatMap((id) => it.services.serverPorts.of(id));
  t.is(given.length, 20, 'all ports of the range');
  t.is(new Set(given.map(({ hostPort }) => hostPort)).size, 20);
});

test('invalid ports are refused with INVALID_FIELD', async (t) => {
  const it = await api(t);
  await it.create('abc');
  for (const body of [
    { containerPort: 0, proto: 'tcp' },
    { containerPort: 65_536, proto: 'tcp' },
    { containerPort: 1_000 },
    { containerPort: 1_000, proto: 'sctp' },
    { containerPort: 25_565, proto: 'tcp' },
    { containerPort: 25_575, proto: 'tcp' },
    { containerPort: 25_585, proto: 'tcp' },
    { containerPort: 1_000, proto: 'tcp', label: 'a\nb' },
  ]) {
    t.is((await it.call('POST', PATH, { body })).reason, 'INVALID_FIELD', JSON.stringify(body));
  }
});

test('a port already in use on the machine is not assigned', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const taken = createServer().listen(0);
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const address = taken.address();
  const from = typeof address === 'object' && address !== null ? address.port : 0;
  const range = { from, to: from + 50 };
  const ports = await ServerPorts.open({ store: it.store, range, onThisMachine: false, own: [] });
  await ports.add('abc', { containerPort: 1, proto: 'tcp', label: '' }, async () => {});
  t.true((ports.of('abc')[0]?.hostPort ?? 0) > from);
});

test('a new server with the name of a deleted one does not inherit its ports or its database', async (t) => {
  const it = await api(t);
  const { ok, services } = it;
  await it.create('abc');
  await ok('POST', PATH, { containerPort: 8_123, proto: 'tcp' });
  const { dbName } = await ok('POST', '/v1/servers/abc/database', {});
  await ok('DELETE', '/v1/servers/abc');
  await it.reach('abc', 'gone');
  t.deepEqual(services.serverPorts.of('abc'), []);
  await it.create('abc');
  t.deepEqual(portsIn(await ok('GET', '/v1/servers/abc')), []);
  t.like(await ok('GET', '/v1/servers/abc/database'), { present: false });
  t.like(portsIn(await ok('POST', PATH, { containerPort: 8_123, proto: 'tcp' })), [{ hostPort: 40_000 }]);
  t.not((await ok('POST', '/v1/servers/abc/database', {}))['dbName'], dbName);
});

test('a server being deleted or already gone gets neither a port nor a database', async (t) => {
  const it = await api(t);
  const { serverPorts, databases } = it.services;
  const port = { containerPort: 8_123, proto: 'tcp' as const, label: '' };
  const nothing = async () => {};
  const refused = async (work: Promise<unknown> | undefined) =>
    t.like(await t.throwsAsync(async () => work), { code: 'NOT_FOUND', reason: 'SERVER_NOT_FOUND' });
  await it.create('abc');
  // While the engine is away, it cannot remove the server.
  it.engine.away();
  await it.ok('DELETE', '/v1/servers/abc');
  await refused(serverPorts.add('abc', port, nothing));
  await refused(databases?.create('abc', nothing));
  it.engine.back();
  await it.reach('abc', 'gone');
  await refused(serverPorts.add('abc', port, nothing));
  await refused(databases?.create('abc', nothing));
  t.deepEqual(await it.store.query('SELECT * FROM "server_databases"'), []);
  t.deepEqual(serverPorts.of('abc'), []);
});

test('if games share this machine’s addresses, the service’s own ports, or all ports, are refused', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const range = { from: 40_000, to: 40_019 };
  const given = { store: it.store, range, onThisMachine: true, own: [{ port: 8_080 }], isFree: async () => true };
  const add = async (tellsOwners: boolean, proto: 'tcp' | 'udp') =>
    (await ServerPorts.open({ ...given, tellsOwners })).add(
      'abc',
      { containerPort: 8_080, proto, label: '' },
      async () => {},
    );
  const refused = await t.throwsAsync(add(true, 'tcp'), { instanceOf: StatusError });
  t.like(refused, { code: 'INVALID_ARGUMENT', reason: 'PORT_RESERVED' });
  t.is(violationsOf(refused)[0]?.field, 'containerPort');
  t.like(await t.throwsAsync(add(false, 'udp')), { code: 'UNIMPLEMENTED', reason: 'NOT_SUPPORTED' });
  await add(true, 'udp');
  t.pass();
});

test('a port keeps the game’s own number outside if that is in the range and free', async (t) => {
  const it = await api(t);
  const { ok } = it;
  await it.create('abc');
  await it.create('def');
  const body = { containerPort: 40_007, proto: 'udp' };
  t.is(portsIn(await ok('POST', PATH, body))[0]?.hostPort, 40_007);
  t.is(portsIn(await ok('POST', '/v1/servers/def/ports', body))[0]?.hostPort, 40_000);
});
