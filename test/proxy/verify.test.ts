import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { type Client, createClient } from 'minecraft-protocol';
import { serverHash } from '../../proxy/accounts.ts';
import { encodeFrame, encodeString } from '../../proxy/codec.ts';
import { fakeClock } from '../fakes/clock.ts';
import { until } from '../support/until.ts';
import { HOST, RawClient, type TestProxy, handshake, loginStart, route, startProxy } from './support.ts';

const STEVE = { id: 'dc6ae7a1c4c03a51b7d7bb0a2a0f8b0d', name: 'Steve' };

/** Starts a session service. `answer` decides each reply. */
async function sessions(t: ExecutionContext, answer: (asked: URLSearchParams) => { status: number; body?: string }) {
  const asked: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    t.is(url.pathname, '/session/minecraft/hasJoined');
    asked.push(url.searchParams);
    const { status, body = '' } = answer(url.searchParams);
    response.writeHead(status).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** Returns the UUID that an offline client claims. */
function offlineUuid(name: string): string {
  const hash = createHash('md5').update(`OfflinePlayer:${name}`).digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x30;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hash.toString('hex');
}

const yes = (asked: URLSearchParams) => {
  const name = asked.get('username') ?? '';
  return { status: 200, body: JSON.stringify({ id: offlineUuid(name), name }) };
};

/** Connects a client of the game, which encrypts when the server requests it. */
function join(t: ExecutionContext, { port }: TestProxy, protocol: number, name = 'Steve') {
  const client: Client = createClient({
    stream: connect(port, '127.0.0.1'),
    host: '127.0.0.1',
    port,
    fakeHost: HOST,
    username: name,
    version: String(protocol),
    auth: 'offline',
    hideErrors: true,
    checkTimeoutInterval: 600_000,
  });
  // The client's own `end` would start a timer of 30 s.
  t.teardown(() => void client.socket?.destroy());
  client.on('error', () => undefined);
  const told = new Promise<string>((resolve) => {
    client.on('disconnect', ({ reason }: { reason: string }) => resolve(reason));
    client.on('end', () => resolve('ended'));
  });
  const moved = new Promise<{ host: string; port: number }>((resolve) => client.on('transfer', resolve));
  return { client, told, moved };
}

test('the session hash is the game’s: signed, without leading zeros', (t) => {
  // See minecraft.wiki Protocol encryption, "Authentication". The names stand for secret and key.
  t.is(serverHash(Buffer.from('Notch'), Buffer.alloc(0)), '4ed1f46bbe04bc756bcb17c0c7ce3e4632f06a48');
  t.is(serverHash(Buffer.from('jeb_'), Buffer.alloc(0)), '-7c9d5b0044c130109a5d7b5fb5c317c02b4e28c1');
  t.is(serverHash(Buffer.from('simon'), Buffer.alloc(0)), '88e16a1019277b15d58faf0541e11910eb756f6');
});

for (const [version, protocol] of [
  ['1.20.6', 766],
  ['1.21.1', 767],
  ['26.1', 775],
] as const) {
  test(`${version}: a verified client is transferred back, and its next join wakes the server`, async (t) => {
    const { url, asked } = await sessions(t, yes);
    const it = await startProxy(t, { sessionServerUrl: url });
    it.routes.set(HOST, route({ verifies: true }));
    const { moved } = join(t, it, protocol);
    t.deepEqual({ ...(await moved) }, { host: HOST, port: it.port });
    t.is(asked.length, 1);
    t.deepEqual(it.wishes, []);
    join(t, it, protocol);
    await until(() => it.wishes.length === 1);
    t.true(it.wishes[0]?.player.verified);
    t.is(asked.length, 1, 'not asked again');
    t.is(it.proxy.stats().kicks.verified, 1);
  });
}

for (const [version, protocol] of [
  ['1.8.8', 47],
  ['1.19.2', 760],
  ['1.20.4', 765],
] as const) {
  test(`${version}: a verified player is asked to join again, and that join wakes the server`, async (t) => {
    const { url } = await sessions(t, yes);
    const it = await startProxy(t, { sessionServerUrl: url });
    it.routes.set(HOST, route({ verifies: true }));
    t.regex(await join(t, it, protocol).told, /Your account is verified\.[^]*Join again/);
    join(t, it, protocol);
    await until(() => it.wishes.length === 1);
    t.true(it.wishes[0]?.player.verified);
  });
}

for (const [what, answer] of [
  ['not joined', () => ({ status: 204 })],
  ['another name', () => ({ status: 200, body: JSON.stringify({ ...STEVE, name: 'Alex' }) })],
  ['another account of the name', () => ({ status: 200, body: JSON.stringify({ ...STEVE, id: '0'.repeat(32) }) })],
  ['null', () => ({ status: 200, body: 'null' })],
  ['an error', () => ({ status: 500 })],
  ['100 kB', () => ({ status: 200, body: ' '.repeat(100_000) })],
] as const) {
  test(`the session server’s reply “${what}” verifies no player and wakes no server`, async (t) => {
    const { url } = await sessions(t, answer);
    const it = await startProxy(t, { sessionServerUrl: url });
    it.routes.set(HOST, route({ verifies: true }));
    t.regex(await join(t, it, 767).told, /could not be verified/);
    t.deepEqual(it.wishes, []);
    t.is(it.proxy.stats().kicks.unverified, 1);
  });
}

test('an invalid encryption response closes the connection without a session service request', async (t) => {
  const { url, asked } = await sessions(t, yes);
  const it = await startProxy(t, { sessionServerUrl: url, timings: { verifyMs: 300 } });
  it.routes.set(HOST, route({ verifies: true }));
  const bytes = (size: number) => Buffer.concat([Buffer.from([0x80, 0x01]), Buffer.alloc(size, 1)]);
  for (const answer of [
    encodeFrame(0x01, bytes(128), bytes(128)),
    encodeFrame(0x01, Buffer.from([0xff, 0xff, 0x03])),
    encodeFrame(0x02, Buffer.from([0])),
    encodeFrame(0x01, encodeString('')),
    Buffer.alloc(0),
  ]) {
    const client = await RawClient.open(t, it.port);
    client.send(handshake(767, 'login'), loginStart('Steve'));
    t.is((await client.packet()).id, 0x01);
    client.send(answer);
    await client.gone();
  }
  t.deepEqual(asked, []);
  t.deepEqual(it.wishes, []);
});

test('a client older than 1.8, or with an invalid account name, cannot be verified', async (t) => {
  const it = await startProxy(t);
  it.routes.set(HOST, route({ verifies: true }));
  const old = await RawClient.open(t, it.port);
  old.send(handshake(5, 'login'), loginStart('Steve', false));
  t.regex(await old.kickText(), /could not be verified/);
  const odd = await RawClient.open(t, it.port);
  odd.send(handshake(767, 'login'), loginStart('a b'));
  t.regex(await odd.kickText(), /letters, digits and underscores/);
});

test('a verification expires, and the next join is verified again', async (t) => {
  const { url, asked } = await sessions(t, yes);
  const clock = fakeClock();
  const it = await startProxy(t, { sessionServerUrl: url, clock, timings: { verifiedMs: 60_000 } });
  it.routes.set(HOST, route({ verifies: true }));
  await join(t, it, 767).moved;
  await clock.advance(60_001);
  await join(t, it, 767).moved;
  t.is(asked.length, 2);
  t.deepEqual(it.wishes, []);
});

test('a closing proxy does not wait for a pending verification', async (t) => {
  const it = await startProxy(t);
  it.routes.set(HOST, route({ verifies: true }));
  const client = await RawClient.open(t, it.port);
  client.send(handshake(767, 'login'), loginStart('Steve'));
  t.is((await client.packet()).id, 0x01);
  // The timeout of this proxy is longer than any test.
  await it.stop();
  await client.gone();
});
