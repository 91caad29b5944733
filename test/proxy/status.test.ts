import { type Socket, connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import mc from 'minecraft-protocol';
import { encodeFrame, encodeString } from '../../proxy/codec.ts';
import { pingStatus } from '../../proxy/ping.ts';
import type { Timings } from '../../proxy/settings.ts';
import { ASLEEP_ICON, asleepStatus } from '../../proxy/status.ts';
import { loadVersion } from '../support/bot.ts';
import { until } from '../support/until.ts';
import { fixture, fixtures } from './fixtures.ts';
import {
  EVER_MS,
  HOST,
  RawClient,
  handshake,
  route,
  running,
  startGame,
  startProxy,
  statusPing,
  statusRequest,
} from './support.ts';

const ICON = 'data:image/png;base64,iVBORw0KGgo=';
const LAST = JSON.stringify({
  version: { name: 'Paper 1.21.1', protocol: 767 },
  players: { max: 60, online: 7, sample: [{ name: 'Notch', id: '069a79f4-44e9-4726-a5be-fca90e38aaf5' }] },
  description: 'live words',
  favicon: ICON,
  enforcesSecureChat: true,
  forgeData: { fmlNetworkVersion: 3, d: 'abc' },
});

interface Status {
  version: { name: string; protocol: number };
  players: { max: number; online: number; sample?: unknown };
  description: unknown;
  favicon?: string;
  forgeData?: unknown;
}

const answer = (json: string): Buffer => encodeFrame(0, encodeString(json));
const bothPackets = (socket: Socket, json: string): void => void socket.on('data', () => socket.end(answer(json)));

// Load all versions first, so that no player is silent while another test's client is loaded.
for (const version of ['1.8.8', '1.12.2', '1.16.5', '1.21.1'])
  loadVersion(version, [mc.states.HANDSHAKING, mc.states.STATUS]);

for (const recorded of fixtures.filter(({ expect }) => expect.intent === 'status')) {
  test(`a sleeping server answers a status ping sent whole or byte by byte: ${recorded.title}`, async (t) => {
    const { port, wishes, log, proxy } = await startProxy(t);
    const { protocol } = recorded.expect;
    const whole = await RawClient.open(t, port);
    whole.send(recorded.bytes);
    const single = await RawClient.open(t, port);
    for (const byte of recorded.bytes) {
      single.send(Buffer.from([byte]));
      await turn();
    }
    for (const client of [whole, single]) {
      const { id, reader } = await client.packet();
      t.is(id, 0);
      const status = JSON.parse(reader.string(32_767)) as Status;
      t.is(status.version.protocol, protocol);
      t.deepEqual(status.players, { max: 20, online: 0 });
      const pong = await client.packet();
      t.is(pong.id, 1);
      t.deepEqual(pong.reader.bytes(8), recorded.bytes.subarray(-8));
      await client.gone();
      t.false(client.reset);
    }
    t.is(wishes.length, 0);
    t.is(proxy.stats().statusAnswers, 2);
    t.true(log.every(({ level }) => level === 'debug'));
  });
}

test('a sleeping server’s status is based on its last live one, without players', (t) => {
  const asleep = JSON.parse(asleepStatus(route({ lastStatus: LAST, motd: '§6Gold\nsecond' }), 767)) as Status;
  t.deepEqual(asleep, {
    version: { name: 'Paper 1.21.1', protocol: 767 },
    players: { max: 60, online: 0 },
    description: {
      text: '',
      extra: [
        { text: 'Gold\n', color: 'gold' },
        { text: 'Asleep: ', color: 'gray' },
        { text: 'join to wake', color: 'white' },
      ],
    },
    enforcesSecureChat: true,
    favicon: ICON,
    forgeData: { fmlNetworkVersion: 3, d: 'abc' },
  } as Status);
  const words = (change: Parameters<typeof route>[0], protocol = 47): string =>
    ((JSON.parse(asleepStatus(route(change), protocol)) as Status).description as { text: string }).text;
  t.is(words({}), 'A Minecraft server\n§7Asleep: §fjoin to wake');
  const starting = { state: 'starting', phase: 'Preparing\n§cspawn', percent: 41.6, etaSeconds: 12.2 } as const;
  t.is(words(starting), 'A Minecraft server\n§6Starting§7: Preparing spawn 42 %, about 13 s');
  t.is(
    words({ state: 'installing', percent: 400, etaSeconds: 300 }),
    'A Minecraft server\n§6Installing§7: 100 %, about 5 min',
  );
  const line = (change: Parameters<typeof route>[0]) => words({ state: 'starting', ...change }).split('\n')[1];
  t.is(line({ phase: 'starting' }), '§6Starting');
  t.is(line({ phase: 'starting', etaSeconds: 9 }), '§6Starting§7: about 9 s');
  t.is(line({ phase: 'loading_mods' }), '§6Starting§7: loading mods');
  t.is(line({ phase: 'generating_world', percent: 34 }), '§6Starting§7: preparing the world 34 %');
  t.is(line({ phase: 'starting', percent: -1 }), '§6Starting');
  t.is(words({ state: 'stopping', motd: '§aHi' }), '§aHi\n§7Saving and going to sleep');
  t.is(words({ state: 'install_failed' }), 'A Minecraft server\n§cThis server needs its owner');
  t.is(words({ state: 'hibernated', refusal: 'Out of funds' }), 'A Minecraft server\n§7Not available right now');
  t.is(words({ state: 'running' }), 'A Minecraft server');
  const other = JSON.parse(asleepStatus(route({ lastStatus: LAST, versionName: '1.20.4' }), -1)) as Status;
  t.deepEqual(other.version, { name: '1.20.4', protocol: 767 });
});

test('a sleeping server’s status stays valid for clients, whatever the owner or the game wrote', (t) => {
  const motd = '","x":{"\u0000\u2028\ud800' + 'é§l'.repeat(5_000);
  const status = asleepStatus(route({ motd, lastStatus: '{"players":', versionName: 'v'.repeat(9_999) }), 767);
  t.true(status.length < 32_767);
  t.deepEqual(Object.keys(JSON.parse(status) as Status), ['version', 'players', 'description', 'favicon']);
  const huge = {
    ...(JSON.parse(LAST) as Status),
    forgeData: { d: 'd'.repeat(20_000) },
    favicon: ICON + 'A'.repeat(12_000),
  };
  const fitted = asleepStatus(route({ lastStatus: JSON.stringify(huge), motd: '§a"'.repeat(500) }), 767);
  t.true(fitted.length <= 32_767);
  const kept = JSON.parse(fitted) as Status;
  t.deepEqual(kept.forgeData, huge.forgeData);
  t.is(kept.favicon, ASLEEP_ICON);
  const deep = `{"players":{"max":60},"forgeData":${'['.repeat(15_000)}${']'.repeat(15_000)}}`;
  t.is((JSON.parse(asleepStatus(route({ lastStatus: deep }), 767)) as Status).players.online, 0);
  const bad = { ...huge, forgeData: null, favicon: 'https://example.com/x.png' };
  t.is((JSON.parse(asleepStatus(route({ lastStatus: JSON.stringify(bad) }), 767)) as Status).favicon, ASLEEP_ICON);
});

test('a sleeping server’s status keeps all fields for modded clients except players, up to 32 KiB', (t) => {
  const fields = {
    favicon: `${ICON}\n${'A'.repeat(14_000)}\r\n`,
    preventsChatReports: true,
    isModded: true,
    modpackData: { projectID: 1, name: 'Pack', version: '3.2.1', isMetadata: true },
    modinfo: { type: 'FML', modList: [{ modid: 'old', version: '1' }] },
    forgeData: { d: 'd'.repeat(17_500) },
    'better-list:extra': [1],
  };
  const last = (more: object) =>
    JSON.stringify({ ...(JSON.parse(LAST) as Status), description: undefined, ...fields, ...more });
  const asleepWith = (more: object) => JSON.parse(asleepStatus(route({ lastStatus: last(more) }), 767)) as Status;
  t.like(asleepWith({}), { ...fields, players: { max: 60, online: 0 } });
  const rumours = 'x'.repeat(32_767 - last({ rumours: '' }).length);
  const crowded = asleepWith({ rumours });
  t.like(crowded, fields);
  t.false('rumours' in crowded);
});

test('bytes that a mod appends to the status JSON reach the client, awake and asleep', async (t) => {
  const tail = Buffer.from('00ff10', 'hex');
  const json = JSON.stringify({ version: { name: 'Fabric', protocol: 767 }, players: { max: 9, online: 1 } });
  const game = await startGame(t, (socket) => {
    socket.on('data', () => socket.end(encodeFrame(0, encodeString(json), tail)));
  });
  const rest = async (port: number) => {
    const client = await RawClient.open(t, port);
    client.send(handshake(767, 'status'), statusRequest);
    const { reader } = await client.packet();
    reader.string(32_767);
    return reader.bytes(reader.remaining);
  };
  const { port, routes } = await startProxy(t);
  routes.set(HOST, running(game));
  t.deepEqual(await rest(port), tail);
  routes.set(HOST, route({ lastStatus: `${json}\n${tail.toString('base64')}` }));
  t.deepEqual(await rest(port), tail);
});

test('a sleeping server without an icon shows the small default icon', (t) => {
  const { favicon = '' } = JSON.parse(asleepStatus(route({}), 767)) as Status;
  t.is(favicon, ASLEEP_ICON);
  const png = Buffer.from(favicon.replace('data:image/png;base64,', ''), 'base64');
  t.is(png.subarray(1, 4).toString(), 'PNG');
  t.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [64, 64], 'clients take no other size');
  t.true(png.length <= 2_048);
});

test('real clients see each server state within one ping', async (t) => {
  const { port, routes, wishes } = await startProxy(t);
  const ask = async (version: string): Promise<string> =>
    JSON.stringify(await mc.ping({ host: '127.0.0.1', fakeHost: HOST, port, version } as mc.PingOptions));
  routes.set('127.0.0.1', route({ motd: 'A' }));
  t.regex(await ask('1.21.1'), /join to wake/);
  t.regex(await ask('1.8.8'), /join to wake/);
  routes.set('127.0.0.1', route({ state: 'starting', percent: 42 }));
  t.regex(await ask('1.16.5'), /42 %/);
  routes.set('127.0.0.1', route({ state: 'stopping' }));
  t.regex(await ask('1.12.2'), /going to sleep/);
  t.is(wishes.length, 0);
});

test('a running game’s status is fetched once per protocol, and a stale one is served while it is busy', async (t) => {
  let asked = 0;
  let isBusy = false;
  const game = await startGame(t, (socket) => {
    asked++;
    if (isBusy) socket.destroy();
    else bothPackets(socket, LAST);
  });
  const ask = ({ port }: { port: number }, protocol = 767): Promise<{ raw: string }> =>
    pingStatus({ host: '127.0.0.1', port }, { protocol, host: HOST, timeoutMs: EVER_MS });
  const content = await startProxy(t, { timings: { statusFreshMs: EVER_MS } });
  content.routes.set(HOST, running(game));
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(content)));
  t.true(answers.every(({ raw }) => raw === LAST));
  t.is(asked, 1);
  await ask(content, 47);
  t.is(asked, 2);
  const curious = await startProxy(t, { timings: { statusFreshMs: 0, statusStaleMs: EVER_MS } });
  curious.routes.set(HOST, running(game));
  t.is((await ask(curious)).raw, LAST);
  isBusy = true;
  t.is((await ask(curious)).raw, LAST);
  t.is(asked, 4);
  curious.routes.set(HOST, running(game, { readyAt: 1 }));
  t.regex((await ask(curious)).raw, /A Minecraft server/, 'an answer of an earlier run does not stand in');
});

test('a silent game delays pings by its timeout only once', async (t) => {
  let asked = 0;
  const game = await startGame(t, () => asked++);
  const { port, routes } = await startProxy(t, { timings: { pingMs: 80, statusFreshMs: EVER_MS } });
  routes.set(HOST, running(game, { lastStatus: LAST }));
  const ask = (): Promise<{ playersMax: number }> =>
    pingStatus({ host: '127.0.0.1', port }, { protocol: 767, host: HOST, timeoutMs: EVER_MS });
  t.is((await ask()).playersMax, 60);
  t.is((await ask()).playersMax, 60);
  t.is(asked, 1);
});

test('pingStatus reads an answer in any pieces, and rejects anything else in time', async (t) => {
  const pieces = await startGame(t, (socket) => {
    const pieces = async (): Promise<void> => {
      for (const byte of answer(LAST)) {
        socket.write(Buffer.from([byte]));
        if (byte % 8 === 0) await turn();
      }
    };
    socket.once('data', () => void pieces());
  });
  t.like(await pingStatus(pieces, { timeoutMs: EVER_MS }), {
    playersOnline: 7,
    playersMax: 60,
    protocol: 767,
    raw: LAST,
  });
  const bad: Record<string, (socket: Socket) => void> = {
    closed: (socket) => socket.destroy(),
    silent: () => undefined,
    'no JSON': (socket) => bothPackets(socket, '{'),
    'no object': (socket) => bothPackets(socket, '3'),
    'other packet': (socket) => socket.write(encodeFrame(1, Buffer.alloc(8))),
    'too long': (socket) => socket.write(Buffer.from('ffff7f', 'hex')),
    'no frame': (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
  };
  for (const [name, serve] of Object.entries(bad)) {
    const game = await startGame(t, serve);
    await t.throwsAsync(pingStatus(game, { timeoutMs: 150 }), undefined, name);
  }
  await t.throwsAsync(pingStatus({ host: '127.0.0.1', port: 1 }, { timeoutMs: EVER_MS }), { code: 'ECONNREFUSED' });
});

test('legacy pings are answered whether they arrive whole or in pieces', async (t) => {
  // The proxy recognizes the end of the longest form. After the others it waits for more bytes.
  const patient = await startProxy(t, { timings: { legacyTailMs: EVER_MS } });
  const slow = await startProxy(t, { timings: { legacyTailMs: 4_000 } });
  const { port, routes } = await startProxy(t, { timings: { legacyTailMs: 250 } });
  for (const each of [patient.routes, slow.routes, routes])
    each.set(HOST, route({ motd: '§aHello', versionName: '1.21.1' }));
  const replies: [string, RegExp][] = [
    ['b1.8', /^[^§|]+§0§0$/],
    ['1.4 to 1.5: ping', /^§1\|127\|\|[^|]+\|0\|0$/],
    ['1.6', /^§1\|127\|1\.21\.1\|Hello: Asleep: join to wake\|0\|20$/],
  ];
  for (const [title, expected] of replies) {
    for (const inPieces of [false, true]) {
      const client = await RawClient.open(t, title === '1.6' ? patient.port : inPieces ? slow.port : port);
      const { bytes } = fixture(title);
      for (const piece of inPieces ? bytes.toString('latin1') : [bytes.toString('latin1')]) {
        client.send(Buffer.from(piece, 'latin1'));
        await turn();
      }
      await client.gone();
      t.is(client.received[0], 0xff);
      t.is(client.received.readUInt16BE(1) * 2, client.received.length - 3);
      t.regex(Buffer.from(client.received.subarray(3)).swap16().toString('utf16le').replaceAll('\0', '|'), expected);
    }
  }
  const old = await RawClient.open(t, port);
  old.send(fixture('1.3 to 1.6: login').bytes);
  await old.gone();
  t.regex(old.received.subarray(3).swap16().toString('utf16le'), /too old/);
  routes.clear();
  for (const title of ['1.6', '1.3 to 1.6: login']) {
    const stranger = await RawClient.open(t, port);
    stranger.send(fixture(title).bytes);
    await stranger.gone();
    t.is(stranger.received.length, 0, 'unknown hosts get nothing');
  }
});

test('a legacy ping without a host reaches the server that needs no name', async (t) => {
  const { port, proxy, routes } = await startProxy(t, { timings: { legacyTailMs: 250 } });
  routes.set('localhost', route({ motd: 'Hello', maxPlayers: 7 }));
  for (const [title, expected] of [
    ['b1.8', /^Hello.*§0§7$/],
    ['1.4 to 1.5: ping', /^§1\|127\|1\.21\.1\|Hello: Asleep: join to wake\|0\|7$/],
  ] as const) {
    const client = await RawClient.open(t, port);
    client.send(fixture(title).bytes);
    await client.gone();
    const text = Buffer.from(client.received.subarray(3)).swap16().toString('utf16le');
    t.regex(text.replaceAll('\0', '|'), expected);
  }
  t.is(proxy.stats().statusAnswers, 2);
});

test('a legacy ping of a running game returns its live text and players', async (t) => {
  const live = {
    description: { text: '', extra: [{ text: 'Hello', color: 'red' }, ' you\nthere'] },
    players: { online: 3, max: 9 },
  };
  const game = await startGame(t, (socket) => bothPackets(socket, JSON.stringify(live)));
  const { port, routes } = await startProxy(t);
  routes.set(HOST, running(game, { versionName: '1.21.1' }));
  const client = await RawClient.open(t, port);
  client.send(fixture('1.6').bytes);
  await client.gone();
  const text = Buffer.from(client.received.subarray(3)).swap16().toString('utf16le');
  t.deepEqual(text.split('\0'), ['§1', '127', '1.21.1', 'Hello you', '3', '9']);
});

test('a connection that sends more bytes than any login is closed', async (t) => {
  const { port, proxy } = await startProxy(t);
  const client = await RawClient.open(t, port);
  client.send(handshake(767, 'status'), statusRequest);
  await client.packet();
  client.send(Buffer.alloc(4_000_000, 9));
  await client.gone();
  await until(() => proxy.stats().unrouted === 0);
  t.is(client.received.length, 0);
});

test('a listener reports a port in use, and a proxy can have several listeners', async (t) => {
  const { proxy, port } = await startProxy(t);
  await t.throwsAsync(proxy.listen('::', port), { code: 'EADDRINUSE' });
  const second = await proxy.listen('127.0.0.1', 0);
  t.is((await pingStatus(second, { host: HOST, timeoutMs: EVER_MS })).playersMax, 20);
});

test('internet noise is closed without a byte and logged only at debug level', async (t) => {
  const noise: Record<string, Buffer[]> = {
    http: [Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    tls: [Buffer.from('1603010200010001fc0303', 'hex')],
    'proxy v1': [Buffer.from('PROXY TCP4 203.0.113.7 203.0.113.8 1 2\r\n')],
    'proxy v2': [Buffer.from('0d0a0d0a000d0a515549540a', 'hex')],
    '2 MiB': [Buffer.from('ffff7f00', 'hex')],
    negative: [Buffer.from('ffffffff0f', 'hex')],
    'five bytes': [Buffer.from('8080808001', 'hex')],
    empty: [Buffer.from('00', 'hex')],
    'unknown host': [handshake(767, 'status', 'other.example.com'), statusRequest],
    'unknown host, login': [handshake(767, 'login', 'other.example.com'), encodeFrame(0, encodeString('Notch'))],
    'no intent': [handshake(767, 'status').subarray(0, -1), Buffer.from([4])],
    'long login': [handshake(767, 'login'), Buffer.from('ffff01', 'hex')],
    'wrong packet': [handshake(767, 'status'), encodeFrame(5)],
  };
  const unfinished: Record<string, Buffer[]> = {
    'nothing at all': [],
    'handshake and no more': [handshake(767, 'login')],
    'half a handshake': [handshake(767, 'login').subarray(0, 9)],
    'half a legacy login': [Buffer.from('023d0005', 'hex')],
  };
  const close = async (sent: typeof noise, timings: Partial<Timings>): Promise<void> => {
    const { port, log, wishes, proxy } = await startProxy(t, { timings });
    await Promise.all(
      Object.entries(sent).map(async ([name, bytes]) => {
        const client = await RawClient.open(t, port);
        client.send(...bytes);
        await client.gone();
        t.is(client.received.length, 0, name);
      }),
    );
    await until(() => proxy.stats().unrouted === 0);
    t.is(wishes.length, 0);
    t.true(log.length > 0);
    t.true(log.every(({ level }) => level === 'debug'));
  };
  // Input that can no longer become valid is cut off without a wait.
  await close(noise, {});
  await close(unfinished, { firstByteMs: 150, openingMs: 300, statusMs: 400 });
});

test('a slow loris is cut off in time even if it keeps sending', async (t) => {
  const { port } = await startProxy(t, { timings: { firstByteMs: 100, openingMs: 250, statusMs: 400 } });
  const bytes = Buffer.concat([handshake(767, 'status', 'x'.repeat(200)), statusRequest]);
  const client = await RawClient.open(t, port);
  let sent = 0;
  const drip = setInterval(() => client.socket.write(bytes.subarray(sent, ++sent)), 20);
  t.teardown(() => clearInterval(drip));
  await client.gone();
  t.true(sent < bytes.length);
  const answered = await startProxy(t, { timings: { statusMs: 3_000 } });
  const idle = await RawClient.open(t, answered.port);
  idle.send(handshake(767, 'status'), statusRequest);
  await idle.packet();
  await idle.gone();
});

test('after a pause of the proxy, data that arrived meanwhile is read before any cut-off', async (t) => {
  const { port, proxy } = await startProxy(t, { timings: { firstByteMs: 300, openingMs: 600, sweepMs: 20 } });
  const client = await RawClient.open(t, port);
  // The client sends in the turn in which it was accepted, whatever else this thread does.
  while (proxy.stats().accepted === 0) await turn();
  client.send(handshake(767, 'status'), statusRequest);
  for (const resumesAt = performance.now() + 400; performance.now() < resumesAt;);
  t.is((await client.packet()).id, 0);
});

test('an address with too many connections or open sockets is refused, and others are not', async (t) => {
  const limits = { exempt: [], connections: { burst: 4, perSecond: 0.001 }, unroutedPerAddress: 3 };
  const { port, proxy } = await startProxy(t, { limits });
  const held = await Promise.all(Array.from({ length: 3 }, () => RawClient.open(t, port)));
  await until(() => proxy.stats().unrouted === 3);
  const fourth = await RawClient.open(t, port);
  await fourth.gone();
  for (const client of held) client.socket.destroy();
  await until(() => proxy.stats().unrouted === 0);
  const fifth = await RawClient.open(t, port);
  await fifth.gone();
  const other = await RawClient.open(t, port, '127.0.0.1', '127.0.0.2');
  other.send(handshake(767, 'status'), statusRequest, statusPing);
  t.is((await other.packet()).id, 0);
});

test('the proxy still answers after 200 sockets are reset on connect', async (t) => {
  const { port, proxy } = await startProxy(t);
  for (let round = 0; round < 200; round++) {
    const socket = connect({ host: '127.0.0.1', port });
    socket.on('error', () => undefined).on('connect', () => socket.resetAndDestroy());
  }
  t.is((await pingStatus({ host: '127.0.0.1', port }, { host: HOST, timeoutMs: EVER_MS })).playersMax, 20);
  await until(() => proxy.stats().unrouted === 0);
});

test('the proxy still answers with a thousand idle sockets open, and later closes them', async (t) => {
  const { port, proxy } = await startProxy(t, { timings: { firstByteMs: 3_000 } });
  const sockets = Array.from({ length: 1_000 }, () =>
    connect({ host: '127.0.0.1', port }).on('error', () => undefined),
  );
  t.teardown(() => sockets.forEach((socket) => socket.destroy()));
  await until(() => proxy.stats().accepted === 1_000);
  t.is((await pingStatus({ host: '127.0.0.1', port }, { host: HOST, timeoutMs: EVER_MS })).playersMax, 20);
  await until(() => proxy.stats().unrouted === 0);
});

test('a sleeping server’s status shows its version in red only to incompatible clients', (t) => {
  const shown = (protocol: number | null) =>
    (JSON.parse(asleepStatus(route({ protocol, versionName: '1.20.4' }), 774)) as Status).version;
  t.deepEqual(shown(765), { name: '1.20.4', protocol: 765 });
  t.deepEqual(shown(null), { name: '1.20.4', protocol: 774 });
});
