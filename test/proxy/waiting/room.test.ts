import test, { type ExecutionContext } from 'ava';
import { type FrameReader, encodeFrame, encodeString } from '../../../proxy/codec.ts';
import { JoinRefused, type Route } from '../../../proxy/ports.ts';
import { fakeClock } from '../../fakes/clock.ts';
import { until } from '../../support/until.ts';
import {
  EVER_MS,
  HOST,
  RawClient,
  type TestProxy,
  type Wish,
  handshake,
  loginStart,
  pluginAnswer,
  route,
  running,
  startGame,
  startProxy,
} from '../support.ts';

const ROOM = route({ waitingRoom: true, motd: 'Build with us' });
const SENT = { success: 2, brand: 1, disconnect: 2, keepAlive: 4, transfer: 0x0b, clear: 0x11, dialog: 0x12 } as const;
const ACKNOWLEDGED = encodeFrame(0x03);
const LEAVE = encodeFrame(0x08, encodeString('dormouse:leave'), Buffer.from([0]));
/** Dialogs change often. Keep-alives are sent only in tests about them. */
const TIMINGS = { dialogMs: 20, beatMs: EVER_MS, explainMs: EVER_MS };

async function start(t: ExecutionContext, options: Parameters<typeof startProxy>[1] = {}): Promise<TestProxy> {
  const it = await startProxy(t, { ...options, timings: { ...TIMINGS, ...options.timings } });
  it.routes.set(HOST, ROOM);
  return it;
}

/** Connects a client, by default of 1.21.11, and brings it into the configuration state. */
async function enter(t: ExecutionContext, { port }: TestProxy, name = 'Steve', protocol = 774): Promise<RawClient> {
  const client = await RawClient.open(t, port);
  client.send(handshake(protocol, 'login'), loginStart(name));
  const { id, reader } = await client.packet();
  t.is(id, SENT.success);
  t.is(reader.uuid(), '07070707-0707-0707-0707-070707070707');
  t.is(reader.string(16), name);
  client.send(ACKNOWLEDGED, encodeFrame(0x02, encodeString('minecraft:brand'), encodeString('vanilla')));
  const brand = await client.packet();
  t.is(brand.id, SENT.brand);
  t.is(brand.reader.string(100), 'minecraft:brand');
  t.is(brand.reader.string(100), 'Dormouse');
  return client;
}

async function wish({ wishes }: TestProxy, index = 0): Promise<Wish> {
  await until(() => wishes.length > index);
  const found = wishes[index];
  if (!found) throw new Error('nobody is asked for');
  return found;
}

/** Returns the content of the next packet with this id. Drops the packets before it, but answers keep-alives. */
async function next(client: RawClient, id: number): Promise<FrameReader> {
  for (;;) {
    const packet = await client.packet();
    if (packet.id === id) return packet.reader;
    if (packet.id === SENT.keepAlive) client.send(encodeFrame(0x04, packet.reader.bytes(8)));
  }
}

/** Returns the next dialog whose text contains all these parts. */
async function dialog(client: RawClient, ...parts: string[]): Promise<string> {
  for (;;) {
    const reader = await next(client, SENT.dialog);
    const text = reader.bytes(reader.remaining).toString('utf8');
    if (parts.every((part) => text.includes(part))) return text;
  }
}

async function farewell(client: RawClient): Promise<string> {
  const reader = await next(client, SENT.disconnect);
  const text = reader.bytes(reader.remaining).toString('utf8');
  await client.gone();
  return text;
}

async function empty({ proxy }: TestProxy): Promise<void> {
  await until(() => proxy.stats().held === 0 && proxy.stats().unrouted === 0);
}

for (const protocol of [771, 772, 773, 774, 775]) {
  test(`protocol ${protocol}: a player sees the start progress, is transferred when ready, and joins by raw bytes`, async (t) => {
    const heard: Buffer[] = [];
    const game = await startGame(t, (socket) => {
      socket.on('data', (chunk) => heard.push(chunk)).once('data', () => socket.write('greeting'));
      socket.once('end', () => socket.end());
    });
    const it = await start(t);
    const client = await enter(t, it, 'Steve', protocol);
    await dialog(client, 'Castle', 'Build with us', 'Waking up', 'dormouse:leave');
    const { ready, player } = await wish(it);
    t.like(player, { name: 'Steve', ip: '127.0.0.1', protocol });
    it.routes.set(HOST, { ...ROOM, state: 'starting', phase: 'generating_world', percent: 7 });
    await dialog(client, 'Preparing the world', '7 %');
    it.routes.set(HOST, running(game, { waitingRoom: true }));
    await dialog(client, 'Almost ready');
    ready(game);
    t.is((await next(client, SENT.clear)).remaining, 0);
    const { id, reader } = await client.packet();
    t.is(id, SENT.transfer);
    t.is(reader.string(255), HOST);
    t.is(reader.varInt(), 0x63dd, 'the port of the handshake');
    client.socket.end();
    await client.gone();

    const again = await RawClient.open(t, it.port);
    again.send(handshake(protocol, 'transfer'), loginStart('Steve'));
    await until(() => again.received.includes('greeting'));
    const login = Buffer.concat([handshake(protocol, 'login'), loginStart('Steve')]);
    await until(() => Buffer.concat(heard).length >= login.length);
    t.deepEqual(Buffer.concat(heard), login, 'games refuse transfers by default: they see a login');
    t.is(again.received.toString(), 'greeting');
    t.is(it.proxy.connections('one'), 1);
    t.is(it.wishes.length, 1);
    again.socket.destroy();
    await empty(it);
    t.deepEqual(it.proxy.stats().joins, 1);
  });
}

test('a returning player neither counts as another login nor sees the waiting room again', async (t) => {
  const game = await startGame(t, (socket) => socket.once('data', () => socket.write('greeting')));
  const it = await start(t, { limits: { exempt: [], logins: { burst: 1, perSecond: 0.000_1 } } });
  const client = await enter(t, it);
  (await wish(it)).ready(game);
  await next(client, SENT.transfer);
  client.socket.end();
  // The server is asleep again, so the player is held like those without a waiting room.
  const back = await RawClient.open(t, it.port);
  back.send(handshake(774, 'transfer'), loginStart('Steve'));
  const { id, reader } = await back.packet();
  t.is(id, 4);
  back.send(pluginAnswer(reader.varInt()));
  it.routes.set(HOST, running(game));
  (await wish(it, 1)).ready(game);
  await until(() => back.received.includes('greeting'));
  const other = await RawClient.open(t, it.port);
  other.send(handshake(774, 'transfer'), loginStart('Steve'));
  t.regex(await other.kickText(), /Too many joins/, 'expected once');
});

test('the remaining seconds count down, and a dialog is sent only when it changes', async (t) => {
  const it = await start(t);
  const client = await enter(t, it);
  await dialog(client, 'Waking up');
  it.routes.set(HOST, { ...ROOM, state: 'starting', phase: 'starting', etaSeconds: 60 });
  const left: number[] = [];
  for (let text = ''; left.length < 3;) {
    text = await dialog(client, 'About');
    const seconds = Number(/About (\d+) s/.exec(text)?.[1]);
    // The progress bar alone may have moved.
    if (seconds !== left.at(-1)) left.push(seconds);
  }
  t.is(left[0], 60);
  t.deepEqual(
    left,
    left.toSorted((a, b) => b - a),
  );
  it.routes.set(HOST, ROOM);
  await dialog(client, 'Waking up');
  const before = client.socket.bytesRead;
  // The other player's room shows that the dialogs were checked again several times.
  const other = await enter(t, it, 'Alex');
  it.routes.set(HOST, { ...ROOM, motd: 'New' });
  await dialog(other, 'New', 'Also waiting: Steve');
  const news = await dialog(client, 'New', 'Also waiting: Alex');
  t.true(client.socket.bytesRead - before <= 3 * (news.length + 8), 'for the motd, for Alex, or for both at once');
});

test('a player waiting for capacity sees the place in line, then the start, and is transferred', async (t) => {
  const game = await startGame(t, () => undefined);
  const it = await start(t);
  const client = await enter(t, it);
  const { inLine, ready } = await wish(it);
  t.is(inLine?.waitedMs, 0);
  inLine?.notify(2);
  await dialog(client, 'You are 2nd in line', 'This host is full');
  inLine?.notify(1);
  await dialog(client, 'You are 1st in line');
  inLine?.notify(0);
  await dialog(client, 'You are in line');
  it.routes.set(HOST, { ...ROOM, state: 'starting', phase: 'generating_world', percent: 7 });
  inLine?.notify(null);
  t.false((await dialog(client, 'Preparing the world', '7 %')).includes('in line'));
  ready(game);
  await next(client, SENT.transfer);
  client.socket.end();
  await client.gone();
});

test('time in line does not count towards the timeout of the start', async (t) => {
  const clock = fakeClock();
  const it = await start(t, { clock, timings: { maxHoldMs: 6_000 } });
  const client = await enter(t, it);
  const { inLine, signal } = await wish(it);
  inLine?.notify(1);
  await dialog(client, '1st in line');
  await clock.advance(5_900);
  inLine?.notify(null);
  await clock.advance(5_999);
  t.false(signal.aborted);
  await clock.advance(1);
  t.regex(await farewell(client), /still not up/);
  await empty(it);
});

test('waiting players see each other until they leave', async (t) => {
  const it = await start(t);
  const steve = await enter(t, it);
  const alex = await enter(t, it, 'Alex');
  await dialog(steve, 'Also waiting: Alex');
  await dialog(alex, 'Also waiting: Steve');
  alex.socket.destroy();
  const text = await dialog(steve, 'Waking up');
  t.false(text.includes('Alex'));
});

test('a failed start shows its cause until the player leaves', async (t) => {
  const it = await start(t);
  const client = await enter(t, it);
  const { refuse, signal } = await wish(it);
  refuse(new JoinRefused('Castle could not start.\n§cOut of memory\nIts owner can see why.'));
  await dialog(client, 'Castle could not start.', 'Out of memory', 'Back to the server list');
  t.false(client.closed);
  client.send(LEAVE);
  t.regex(await farewell(client), /Out of memory/);
  t.true(signal.aborted);
  await empty(it);
  t.like(it.proxy.stats().kicks, { refused: 1, left: 0 });
  t.is(it.log.filter(({ message }) => / could not join /.test(message)).length, 1);
});

test('a player who stays in the failure dialog is disconnected after a while', async (t) => {
  const it = await start(t, { timings: { explainMs: 200 } });
  const client = await enter(t, it);
  (await wish(it)).refuse(new Error('secret at 10.0.0.7'));
  t.regex(await dialog(client, 'could not be woken'), /^(?!.*10\.0\.0\.7)/s);
  t.regex(await farewell(client), /could not be woken/);
  await empty(it);
  t.is(it.proxy.stats().kicks.failed, 1);
});

test('a player who disconnects from the failure dialog leaves no connection behind', async (t) => {
  const it = await start(t);
  const client = await enter(t, it);
  (await wish(it)).refuse(new JoinRefused('No'));
  await dialog(client, 'Back to the server list');
  client.socket.destroy();
  await empty(it);
});

test('the leave button cancels the wait and disconnects the player with a message', async (t) => {
  const it = await start(t);
  const client = await enter(t, it);
  const { signal } = await wish(it);
  client.send(encodeFrame(0x08, encodeString('other:button'), Buffer.from([0])));
  client.send(LEAVE);
  t.regex(await farewell(client), /no longer waiting/);
  t.true(signal.aborted);
  await empty(it);
  t.is(it.proxy.stats().kicks.left, 1);
});

test('a disconnect is noticed at once, both before and after the login acknowledgement', async (t) => {
  const it = await start(t);
  const client = await enter(t, it);
  const { signal } = await wish(it);
  for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
    const early = await RawClient.open(t, it.port);
    early.send(handshake(774, 'login'), loginStart('Alex'));
    await early.packet();
    early.socket[leave]();
  }
  client.socket.resetAndDestroy();
  await until(() => signal.aborted);
  await empty(it);
  t.is(it.wishes.length, 1, 'who does not acknowledge wakes nobody');
});

test('a client that answers no keep-alive is dropped; one that answers stays', async (t) => {
  const clock = fakeClock();
  const it = await start(t, { clock, timings: { beatMs: 5_000, answerMs: 8_000 } });
  const client = await enter(t, it);
  const { signal } = await wish(it);
  for (let count = 0; count < 5; count++) {
    const id = (await next(client, SENT.keepAlive)).bytes(8);
    client.send(encodeFrame(0x04, id));
    await clock.advance(5_000);
  }
  await next(client, SENT.keepAlive);
  t.false(signal.aborted);
  await clock.advance(8_000);
  await client.gone();
  t.true(signal.aborted);
  await empty(it);
});

test('a client that does not acknowledge its login is dropped', async (t) => {
  const it = await start(t, { timings: { answerMs: 200 } });
  const client = await RawClient.open(t, it.port);
  client.send(handshake(774, 'login'), loginStart('Steve'));
  await client.packet();
  await client.gone();
  await empty(it);
  t.deepEqual(it.wishes, []);
});

for (const [what, bytes] of [
  ['an unexpected answer', encodeFrame(0x04, Buffer.alloc(8, 9))],
  ['half an answer', encodeFrame(0x04, Buffer.alloc(3))],
  ['an oversized packet', Buffer.from('ffff7f', 'hex')],
  ['too many packets', Buffer.concat(Array.from({ length: 70 }, () => encodeFrame(0x02, Buffer.alloc(1_000))))],
  ['an empty packet', Buffer.from('00', 'hex')],
] as const) {
  test(`${what} ends the wait`, async (t) => {
    const it = await start(t);
    const client = await enter(t, it);
    const { signal } = await wish(it);
    client.send(bytes);
    await client.gone();
    await until(() => signal.aborted);
    await empty(it);
  });
}

test('other client packets, sent byte by byte, are ignored', async (t) => {
  const it = await start(t);
  const client = await enter(t, it);
  const { signal } = await wish(it);
  const packets = [0x00, 0x01, 0x02, 0x03, 0x05, 0x06, 0x07, 0x09, 0x7f].map((id) => encodeFrame(id, Buffer.alloc(20)));
  for (const byte of Buffer.concat(packets)) client.send(Buffer.from([byte]));
  it.routes.set(HOST, { ...ROOM, motd: 'New' });
  await dialog(client, 'New');
  t.false(signal.aborted);
});

test('a closing proxy sends a message to waiting players and the cause to players in a failure dialog', async (t) => {
  const it = await start(t);
  const waiting = await enter(t, it);
  await wish(it);
  const reading = await enter(t, it, 'Alex');
  (await wish(it, 1)).refuse(new JoinRefused('No'));
  await dialog(reading, 'Back to the server list');
  const entering = await RawClient.open(t, it.port);
  entering.send(handshake(774, 'login'), loginStart('Sam'));
  await entering.packet();
  const stopped = it.stop();
  t.regex(await farewell(waiting), /restarting/);
  t.regex(await farewell(reading), /No/);
  t.regex(await farewell(entering), /restarting/);
  await stopped;
});

test('the wait times out with a message', async (t) => {
  const clock = fakeClock();
  const it = await start(t, { clock, timings: { maxHoldMs: 6_000 } });
  const client = await enter(t, it);
  const { signal } = await wish(it);
  await clock.advance(5_999);
  t.false(signal.aborted);
  await clock.advance(1);
  t.regex(await farewell(client), /still not up/);
  await empty(it);
});

test('a player refused before the waiting room, or finding it full, gets the reason during login', async (t) => {
  const it = await start(t, {
    limits: { exempt: [], holdsPerAddress: 1 },
    wake: {
      admit: (_serverId, { name }) => (name === 'Eve' ? Promise.reject(new JoinRefused('Banned')) : Promise.resolve()),
      wake: () => new Promise(() => undefined),
    },
  });
  const refused = async (name: string): Promise<string> => {
    const client = await RawClient.open(t, it.port);
    client.send(handshake(774, 'login'), loginStart(name));
    return client.kickText();
  };
  t.regex(await refused('Eve'), /Banned/);
  t.regex(await refused('ä'), /letters, digits and underscores/);
  await enter(t, it);
  t.regex(await refused('Alex'), /Too many players/);
});

const HELD: [what: string, change: Partial<Route>, protocol: number, host: string][] = [
  ['whose server has no waiting room', { waitingRoom: false }, 774, HOST],
  ['older than 1.21.6', {}, 770, HOST],
  ['newer than the known versions', {}, 778, HOST],
  ['with Forge', {}, 774, `${HOST}\0FORGE`],
  ['behind another proxy', {}, 774, `${HOST}\u0000203.0.113.9\u0000069a79f444e94726a5befca90e38aaf5`],
];
for (const [what, change, protocol, host] of HELD) {
  test(`a client ${what} is held during login`, async (t) => {
    const it = await start(t);
    it.routes.set(HOST, { ...ROOM, ...change });
    const client = await RawClient.open(t, it.port);
    client.send(handshake(protocol, 'login', host), loginStart('Steve'));
    const { id, reader } = await client.packet();
    t.is(id, 4);
    client.send(pluginAnswer(reader.varInt()));
    const { inLine, refuse } = await wish(it);
    t.is(inLine, undefined, 'it cannot be shown a line');
    refuse(new JoinRefused('No'));
    t.regex(await client.kickText(), /No/);
  });
}

test('a running server skips the waiting room', async (t) => {
  const game = await startGame(t, (socket) => socket.once('data', () => socket.write('greeting')));
  const it = await start(t);
  it.routes.set(HOST, running(game, { waitingRoom: true }));
  const client = await RawClient.open(t, it.port);
  client.send(handshake(774, 'login'), loginStart('Steve'));
  await until(() => client.received.includes('greeting'));
  t.is(client.received.toString(), 'greeting');
});
