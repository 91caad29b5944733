import test, { type ExecutionContext } from 'ava';
import { keyOfPort, lookupKey } from '../../proxy/hostname.ts';
import { PrivatePorts } from '../../proxy/private-ports.ts';
import { freePort } from '../support/service.ts';
import { until } from '../support/until.ts';
import {
  HOST,
  RawClient,
  type TestProxy,
  handshake,
  loginStart,
  pluginAnswer,
  route,
  running,
  startGame,
  startProxy,
  statusRequest,
} from './support.ts';

const FRONTS_HOST = '127.0.0.1';

/** Returns a proxy with one sleeping private backend, and its port. */
async function backend(t: ExecutionContext): Promise<TestProxy & { at: number }> {
  const it = await startProxy(t, { proxyProtocolFrom: ['127.0.0.1'] });
  const at = await freePort();
  it.routes.set(keyOfPort(at), route({ serverId: 'castle', waitingRoom: true }));
  it.proxy.openPorts(new Set([at]));
  await opened(t, at);
  return { ...it, at };
}

async function opened(t: ExecutionContext, port: number): Promise<void> {
  await until({ what: 'the port is open', despiteErrors: true }, async () => {
    (await RawClient.open(t, port)).socket.destroy();
    return true;
  });
}

async function isClosed(t: ExecutionContext, port: number): Promise<boolean> {
  return RawClient.open(t, port).then(
    ({ socket }) => !socket.destroy(),
    () => true,
  );
}

test('a front wakes a private backend at its port, under any host name, and is relayed to the game', async (t) => {
  const it = await backend(t);
  const heard: Buffer[] = [];
  const game = await startGame(t, (socket) => {
    socket.on('data', (chunk) => heard.push(chunk));
    socket.write('greeting');
  });
  for (const host of [FRONTS_HOST, HOST, `lobby.example\u0000198.51.100.7\0${'0'.repeat(32)}\0${'s'.repeat(2_000)}`]) {
    it.routes.set(keyOfPort(it.at), route({ serverId: 'castle', waitingRoom: true }));
    const client = await RawClient.open(t, it.at);
    const opening = [handshake(774, 'login', host), loginStart('Steve')];
    client.send(...opening);
    const { id, reader } = await client.packet();
    t.is(id, 4, 'the front is held by plugin requests, not in a waiting room');
    client.send(pluginAnswer(reader.varInt()));
    await until(() => it.wishes.length === 1);
    const wish = it.wishes.pop();
    t.is(wish?.serverId, 'castle');
    it.routes.set(keyOfPort(it.at), running(game, { serverId: 'castle' }));
    heard.length = 0;
    wish?.ready(game);
    await until(() => client.received.toString() === 'greeting');
    t.deepEqual(Buffer.concat(heard), Buffer.concat(opening));
  }
});

test('a private backend answers server lists at its port, old ones too, and at no host name', async (t) => {
  const it = await backend(t);
  const client = await RawClient.open(t, it.at);
  client.send(handshake(774, 'status', HOST), statusRequest);
  t.regex((await client.packet()).reader.string(32_767), /1\.21\.1/);
  const old = await RawClient.open(t, it.at);
  old.send(Buffer.from([0xfe, 0x01]));
  await until(() => old.received[0] === 0xff);
  for (const host of [keyOfPort(it.at), `PORT:${it.at}.`, `[${keyOfPort(it.at)}]`, `${keyOfPort(it.at)}\0FML\0`])
    t.not(lookupKey(host), keyOfPort(it.at));
});

test('a private backend for verified players refuses a player that the front reports as unverified', async (t) => {
  const it = await backend(t);
  it.routes.set(keyOfPort(it.at), route({ serverId: 'castle', verifies: true }));
  const client = await RawClient.open(t, it.at);
  client.send(handshake(774, 'login', HOST), loginStart('Steve'));
  t.regex(await client.kickText(), /proxy|account/i);
  t.is(it.wishes.length, 0);
});

test('a port that is private no longer closes, and its players play on', async (t) => {
  const it = await backend(t);
  const game = await startGame(t, (socket) => socket.on('data', (chunk) => socket.write(chunk)));
  it.routes.set(keyOfPort(it.at), running(game, { serverId: 'castle' }));
  const client = await RawClient.open(t, it.at);
  client.send(handshake(774, 'login'), loginStart('Steve'));
  await until(() => it.proxy.connections('castle') === 1);
  const other = await freePort();
  it.proxy.openPorts(new Set([other]));
  await opened(t, other);
  t.true(await isClosed(t, it.at));
  const before = client.received.length;
  client.send(Buffer.from('more'));
  await until(() => client.received.length > before);
  void it.proxy.drain();
  await until(() => isClosed(t, other));
  t.true(await isClosed(t, other), 'a proxy that drains closes its private ports');
});

test('a private port that is taken is logged once, and opened as soon as it is free', async (t) => {
  const timers: (() => void)[] = [];
  const lines: string[] = [];
  const log = {
    debug() {},
    info: (_: object, line: string) => lines.push(line),
    warn: (_: object, line: string) => lines.push(line),
  };
  let isTaken = true;
  const open = async () => {
    if (isTaken) throw Object.assign(new Error('in use'), { code: 'EADDRINUSE' });
  };
  const ports = new PrivatePorts(open, log, { now: () => 0, at: (_, fire) => (timers.push(fire), () => {}) });
  ports.set(new Set([25_700]));
  for (let attempt = 1; attempt <= 8; attempt++) {
    await until(() => timers.length === 1);
    timers.shift()?.();
  }
  await until(() => timers.length === 1);
  t.is(lines.length, 1);
  t.regex(lines[0] ?? '', /taken; trying again/);
  isTaken = false;
  timers.shift()?.();
  await until(() => lines.length === 2);
  t.regex(lines[1] ?? '', /is open/);
  t.is(timers.length, 0);
});
