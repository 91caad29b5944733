import { once } from 'node:events';
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import mc from 'minecraft-protocol';
import { encodeFrame, encodeString, encodeVarInt } from '../../proxy/codec.ts';
import { type Address, JoinRefused } from '../../proxy/ports.ts';
import { loadVersion } from '../support/bot.ts';
import { isThorough } from '../support/needs.ts';
import { runs } from '../support/property.ts';
import { until } from '../support/until.ts';
import { fixtures } from './fixtures.ts';
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
} from './support.ts';

const text = (words: string): Buffer => encodeFrame(0, encodeString(JSON.stringify({ text: words })));

/** Starts a game that stores the bytes of each connection, and answers the first one with `greeting`. */
async function listener(
  t: ExecutionContext,
  greeting = Buffer.from('greeting'),
): Promise<Address & { heard: Buffer[]; sockets: Socket[] }> {
  const heard: Buffer[] = [];
  const sockets: Socket[] = [];
  const game = await startGame(t, (socket) => {
    const index = sockets.push(socket) - 1;
    heard.push(Buffer.alloc(0));
    socket.on('data', (chunk) => {
      if (heard[index]?.length === 0) socket.write(greeting);
      heard[index] = Buffer.concat([heard[index] ?? chunk, chunk]);
    });
    socket.on('end', () => socket.end());
  });
  return { host: game.host, port: game.port, heard, sockets };
}

/** Answers every plugin request until `stop`, and counts them. */
function answering(t: ExecutionContext, client: RawClient): { count: number; stop: () => void } {
  const state = { count: 0, stop: () => clearInterval(timer) };
  const timer = setInterval(() => {
    const at = client.received;
    // length, id 04, five bytes of VarInt, channel
    const length = at[0];
    if (length === undefined || at[1] !== 4 || at.length < length + 1) return;
    client.received = at.subarray(length + 1);
    state.count++;
    client.send(encodeFrame(2, at.subarray(2, 7), Buffer.from([0])));
  }, 2);
  t.teardown(state.stop);
  return state;
}

async function theWish({ wishes }: TestProxy): Promise<Wish> {
  // A bot loads its protocol data first, which takes seconds on a busy machine.
  await until(() => wishes.length > 0);
  const [wish] = wishes;
  if (!wish) throw new Error('no wish');
  return wish;
}

async function join(t: ExecutionContext, port: number, protocol = 767, name = 'Notch'): Promise<RawClient> {
  const client = await RawClient.open(t, port);
  return client.send(handshake(protocol, 'login'), loginStart(name, protocol >= 764));
}

interface Player {
  ready: Promise<void>;
  client: mc.Client;
}

/** Connects a minecraft-protocol client. `ready` resolves once it plays. */
function player(t: ExecutionContext, port: number, version: string, username: string): Player {
  // By default, the client leaves a game that is silent for 30 s, as on a busy machine. These tests do not cover that.
  const patient = { checkTimeoutInterval: 600_000 };
  const client = mc.createClient({ host: '127.0.0.1', port, version, username, auth: 'offline', ...patient });
  t.teardown(() => void client.socket.destroy());
  const ready = new Promise<void>((resolve, reject) => {
    // The client's own events differ by version. A packet of the play state is a reliable sign that it plays.
    client.on('keep_alive', () => resolve());
    client.on('error', reject);
    client.on('end', (reason) => {
      reject(new Error(reason));
      return Promise.resolve();
    });
  });
  ready.catch(() => undefined);
  return { ready, client };
}

/** Starts a minecraft-protocol server that sends each player a keep-alive at once. */
async function realGame(
  t: ExecutionContext,
  version: string,
): Promise<Address & { joined: string[]; server: mc.Server }> {
  const joined: string[] = [];
  const server = mc.createServer({ host: '127.0.0.1', port: 0, version, 'online-mode': false, keepAlive: false });
  await once(server, 'listening');
  const onJoin = (client: mc.ServerClient): void => {
    joined.push(client.username);
    client.write('keep_alive', { keepAliveId: version.startsWith('1.8') || version === '1.7' ? 1 : [0, 1] });
  };
  server.on('playerJoin' as 'login', onJoin);
  t.teardown(() => server.close());
  const { port } = (server as unknown as { socketServer: { address(): { port: number } } }).socketServer.address();
  return { host: '127.0.0.1', port, joined, server };
}

const VERSIONS = isThorough
  ? ['1.7', '1.8.8', '1.12.2', '1.16.5', '1.20.4', '1.21.11', '26.1']
  : ['1.7', '1.16.5', '26.1'];
const PLAYERS = runs(50);
// Load all versions first, so that no player is silent while another test's client is loaded.
for (const version of [...VERSIONS, '1.21.1']) loadVersion(version, Object.values(mc.states));

// minecraft-protocol bots, unlike the game, do not survive Set Compression(-1). Between 1.8 and 1.12 they are held for
// less than the first beat, which is the purpose of `compressionFirstBeatMs`. The raw clients below stay for the beats.
for (const version of VERSIONS) {
  test(`a real ${version} client waits for a server to wake and then plays`, async (t) => {
    const game = await realGame(t, version);
    const proxied = await startProxy(t, { timings: { beatMs: 60 } });
    proxied.routes.set('127.0.0.1', route());
    const { ready, client } = player(t, proxied.port, version, 'Steve');
    const wish = await theWish(proxied);
    t.like(wish.player, { name: 'Steve', ip: '127.0.0.1' });
    const heldAt = performance.now();
    await until(() => performance.now() - heldAt > 400);
    proxied.routes.set('127.0.0.1', running(game));
    wish.ready(game);
    await ready;
    t.deepEqual(game.joined, ['Steve']);
    t.is(proxied.wishes.length, 1);
    t.is(proxied.proxy.connections('one'), 1);
    client.end('leaving');
    await until(() => proxied.proxy.connections('one') === 0);
    t.false(wish.signal.aborted);
  });
}

test('dozens of players can wait for and join one server at once', async (t) => {
  const game = await realGame(t, '1.21.1');
  const proxied = await startProxy(t, { timings: { beatMs: 100 } });
  proxied.routes.set('127.0.0.1', route());
  const players = Array.from({ length: PLAYERS }, (_, index) => player(t, proxied.port, '1.21.1', `Player${index}`));
  await until(() => proxied.wishes.length === PLAYERS);
  t.is(proxied.proxy.stats().held, PLAYERS);
  for (const wish of proxied.wishes) wish.ready(game);
  await Promise.all(players.map(({ ready }) => ready));
  t.is(new Set(game.joined).size, PLAYERS);
  t.is(proxied.proxy.stats().piped, PLAYERS);
  t.is(proxied.proxy.stats().held, 0);
});

for (const recorded of fixtures.filter(({ expect }) => expect.intent === 'login' || expect.intent === 'transfer')) {
  test(`the game receives the client’s own bytes: ${recorded.title} (${recorded.bytes.length} bytes)`, async (t) => {
    const game = await listener(t);
    const proxied = await startProxy(t, { timings: { beatMs: 30, compressionFirstBeatMs: 30 } });
    const client = await RawClient.open(t, proxied.port);
    client.send(recorded.bytes);
    const answers = recorded.expect.protocol >= 393 ? answering(t, client) : undefined;
    const wish = await theWish(proxied);
    t.deepEqual(wish.player, {
      name: 'Notch',
      uuid: recorded.expect.uuid,
      ip: '127.0.0.1',
      protocol: recorded.expect.protocol,
    });
    if (answers) await until(() => answers.count > 2);
    else if (recorded.expect.protocol >= 47) await until(() => client.received.length >= 14);
    wish.ready(game);
    await until(() => client.received.includes('greeting'));
    answers?.stop();
    client.send(Buffer.from('more'));
    await until(() => game.heard[0]?.includes('more') === true);
    const expected = Buffer.from(recorded.bytes);
    if (recorded.expect.intent === 'transfer') expected[(recorded.packets[0]?.length ?? 0) - 1] = 2;
    t.deepEqual(game.heard, [Buffer.concat([expected, Buffer.from('more')])], 'no answer has leaked');
    if (!answers) {
      const beats = client.received.subarray(0, client.received.indexOf('greeting')).toString('hex');
      t.regex(beats, recorded.expect.protocol < 47 ? /^$/ : /^(0603ffffffff0f){2,}$/);
    }
  });
}

test('a login that ignores the challenge or leaves early wakes no server', async (t) => {
  const proxied = await startProxy(t, { timings: { answerMs: 150, dwellMs: 60_000 } });
  const scanner = await join(t, proxied.port);
  t.is((await scanner.packet()).id, 4);
  await scanner.gone();
  const old = await join(t, proxied.port, 47);
  await until(() => proxied.proxy.stats().held === 1);
  old.socket.destroy();
  await until(() => proxied.proxy.stats().unrouted === 0);
  t.is(proxied.wishes.length, 0);
  t.is(proxied.proxy.stats().held, 0);
  t.true(proxied.log.every(({ level }) => level === 'debug'));
});

test('unsolicited answers and unexpected packets end a hold', async (t) => {
  const proxied = await startProxy(t);
  for (const bytes of [pluginAnswer(7), encodeFrame(1, Buffer.alloc(4)), Buffer.from('ffffff', 'hex')]) {
    const client = await join(t, proxied.port);
    await client.packet();
    client.send(bytes);
    await client.gone();
  }
  const old = await join(t, proxied.port, 340);
  old.send(Buffer.from([1, 0]));
  await old.gone();
  t.is(proxied.wishes.length, 0);
});

test('a held player who stops answering is dropped, and the wake request is aborted', async (t) => {
  const proxied = await startProxy(t, { timings: { beatMs: 20, answerMs: 10_000 } });
  const client = await join(t, proxied.port);
  const answers = answering(t, client);
  const wish = await theWish(proxied);
  await until(() => answers.count > 5);
  t.false(wish.signal.aborted);
  answers.stop();
  await client.gone();
  t.true(wish.signal.aborted);
  t.is(proxied.proxy.stats().held, 0);
});

for (const protocol of [5, 47, 767]) {
  test(`a player of protocol ${protocol} who leaves while held aborts the wake request`, async (t) => {
    const proxied = await startProxy(t);
    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      proxied.wishes.length = 0;
      const client = await join(t, proxied.port, protocol);
      const answers = protocol >= 393 ? answering(t, client) : undefined;
      const wish = await theWish(proxied);
      answers?.stop();
      client.socket[leave]();
      await until(() => wish.signal.aborted);
      wish.refuse(new Error('too late to matter'));
    }
    await until(() => proxied.proxy.stats().unrouted === 0);
    t.is(proxied.proxy.stats().held, 0);
  });
}

const FORWARDED = `${HOST}\u0000198.51.100.7\u0000${'0'.repeat(32)}\u0000${'skin '.repeat(4_000)}`;

test('a handshake with forwarded data is held and reaches the game byte for byte', async (t) => {
  const game = await listener(t);
  const proxied = await startProxy(t);
  const { wishes, routes, port } = proxied;
  const bytes = Buffer.concat([handshake(47, 'login', FORWARDED), loginStart('.Some Guy', false)]);
  const asleep = await RawClient.open(t, port);
  for (let at = 0; at < bytes.length; at += 700) asleep.send(bytes.subarray(at, at + 700));
  const wish = await theWish(proxied);
  t.is(wish.player.name, '.Some Guy');
  routes.set(HOST, running(game));
  wish.ready(game);
  await until(() => asleep.received.includes('greeting'));
  const awake = await RawClient.open(t, port);
  awake.send(bytes, Buffer.from('more'));
  await until(() => awake.received.includes('greeting'));
  await until(() => game.heard[1]?.length === bytes.length + 4);
  t.deepEqual(game.heard, [bytes, Buffer.concat([bytes, Buffer.from('more')])]);
  t.is(wishes.length, 1);
});

test('a forwarded handshake for an unknown host is closed at the usual length limit', async (t) => {
  const { port } = await startProxy(t);
  const client = await RawClient.open(t, port);
  client.send(handshake(767, 'login', FORWARDED.replace(HOST, 'other.example.com')).subarray(0, 1024));
  await client.gone();
  t.is(client.received.length, 0);
});

test('player names with a Bedrock prefix or spaces wake a server', async (t) => {
  const { port, wishes } = await startProxy(t);
  for (const name of ['.Some_Guy', '*Some_Guy', 'Some Guy 12', 'BE_Some-Guy']) {
    await join(t, port, 47, name);
    await until(() => wishes.some(({ player: { name: woken } }) => woken === name));
  }
  t.is(wishes.length, 4);
});

test('a player who cannot join sees the reason', async (t) => {
  const proxied = await startProxy(t);
  const kicked = async (protocol: number, act?: (wish: Wish) => void, name = 'Notch'): Promise<unknown> => {
    proxied.wishes.length = 0;
    const client = await join(t, proxied.port, protocol, name);
    const answers = protocol >= 393 && act ? answering(t, client) : undefined;
    if (act) act(await theWish(proxied));
    answers?.stop();
    const words = await client.kickText();
    await client.gone();
    t.false(client.reset);
    return JSON.parse(words);
  };
  t.deepEqual(await kicked(767, ({ refuse }) => refuse(new JoinRefused('§cOut of "funds"'))), {
    text: '',
    extra: [{ text: 'Out of "funds"', color: 'red' }],
  });
  t.deepEqual(await kicked(47, ({ refuse }) => refuse(new JoinRefused('§cOut'))), { text: '§cOut' });
  t.regex(
    JSON.stringify(await kicked(5, ({ refuse }) => refuse(new Error('secret at 10.0.0.7')))),
    /could not be woken/,
  );
  t.regex(JSON.stringify(await kicked(340, undefined, 'Bäd Name')), /letters, digits and underscores/);
  proxied.routes.set(HOST, route({ refusal: 'You are banned' }));
  t.deepEqual(await kicked(767), { text: 'You are banned' });
  t.deepEqual(await kicked(4), { text: 'You are banned' });
  const { log, proxy } = proxied;
  t.like(proxy.stats().kicks, { refused: 4, failed: 1, badName: 1 });
  t.is(log.filter(({ level, message }) => level === 'info' && /^\w+ could not join /.test(message)).length, 5);
});

test('clients before 1.8 are asked early to join again, and every hold ends at the maximum time', async (t) => {
  const early = await startProxy(t, { timings: { silentHoldMs: 3_000 } });
  const late = await startProxy(t, { timings: { maxHoldMs: 3_000 } });
  const old = await join(t, early.port, 5);
  const young = await join(t, late.port, 47);
  const oldWish = await theWish(early);
  const wish = await theWish(late);
  t.regex(await old.kickText(), /join again/);
  await old.gone();
  t.false(oldWish.signal.aborted, 'the player was asked to come back');
  t.regex(await young.kickText(), /still not up/);
  await young.gone();
  t.true(wish.signal.aborted);
});

test('logins and waiting players per address are limited', async (t) => {
  const limits = { exempt: [], logins: { burst: 5, perSecond: 0.001 }, holdsPerAddress: 2, holdsPerServer: 3 };
  const proxied = await startProxy(t, { limits });
  await join(t, proxied.port, 47);
  await join(t, proxied.port, 47);
  await until(() => proxied.wishes.length === 2);
  t.regex(await (await join(t, proxied.port, 47)).kickText(), /Too many players/);
  proxied.wishes[0]?.refuse(new JoinRefused('no'));
  await until(() => proxied.proxy.stats().held === 1);
  await join(t, proxied.port, 47);
  await until(() => proxied.wishes.length === 3);
  await join(t, proxied.port, 47);
  t.regex(await (await join(t, proxied.port, 47)).kickText(), /Too many joins/);
});

test('a game that has just started and turns a player away is tried again while the player is held', async (t) => {
  let dials = 0;
  const heard: Buffer[] = [];
  const game = await startGame(t, (socket) => {
    const dial = ++dials;
    socket.once('data', (chunk) => {
      heard.push(chunk);
      if (dial === 1) return socket.end(text('Server is still starting!'));
      if (dial === 2) return socket.destroy();
      return socket.write(encodeFrame(3, encodeVarInt(256)));
    });
  });
  const proxied = await startProxy(t, { timings: { beatMs: 20, redialMs: 500, firstPacketMs: EVER_MS } });
  const client = await join(t, proxied.port);
  const answers = answering(t, client);
  const wish = await theWish(proxied);
  proxied.routes.set(HOST, running(game, { readyAt: Date.now() }));
  const before = answers.count;
  wish.ready(game);
  await until(() => dials >= 3);
  const { id, reader } = await client.packet();
  t.is(id, 3);
  t.is(reader.varInt(), 256);
  answers.stop();
  t.is(dials, 3);
  t.true(answers.count > before + 2);
  t.is(new Set(heard.map((bytes) => bytes.toString('hex'))).size, 1);
  t.is(proxied.wishes.length, 1);
});

test('a deliberate, repeated or late refusal by the game reaches the player', async (t) => {
  let dials = 0;
  let words = '';
  const game = await startGame(t, (socket) => {
    dials++;
    socket.once('data', () => socket.end(text(words)));
  });
  const proxied = await startProxy(t, { limits: { handOvers: 3 }, timings: { firstPacketMs: EVER_MS } });
  const refusal = async (readyAt: number, say: string): Promise<number> => {
    words = say;
    dials = 0;
    proxied.routes.set(HOST, running(game, { readyAt }));
    const client = await join(t, proxied.port, 47);
    t.is(JSON.parse(await client.kickText()).text, say);
    await client.gone();
    return dials;
  };
  t.is(await refusal(Date.now(), 'You are not white-listed on this server!'), 1);
  // This game stays young for the whole test.
  t.is(await refusal(Date.now() + 600_000, 'Wait'), 3);
  t.is(await refusal(Date.now() - 61_000, 'Wait'), 1);
});

test('an unreachable running game is tried for a while before the player is kicked with a message', async (t) => {
  const proxied = await startProxy(t, { limits: { handOvers: 3 }, timings: { redialMs: 60 } });
  const closed = { host: '127.0.0.1', port: 1 };
  proxied.routes.set(HOST, running(closed));
  t.regex(await (await join(t, proxied.port, 47)).kickText(), /could not be reached/);
  const game = await listener(t);
  const lucky = await join(t, proxied.port, 47);
  proxied.routes.set(HOST, running(game));
  await until(() => lucky.received.includes('greeting'));
  t.is(proxied.wishes.length, 0);
});

test('a server that falls asleep before the dial is woken, and a deletion kicks the waiting player', async (t) => {
  const proxied = await startProxy(t);
  proxied.routes.set(HOST, running({ host: '127.0.0.1', port: 1 }));
  const client = await join(t, proxied.port, 47);
  await until(() => proxied.proxy.stats().unrouted === 1);
  proxied.routes.set(HOST, route());
  const wish = await theWish(proxied);
  proxied.routes.delete(HOST);
  wish.ready({ host: '127.0.0.1', port: 1 });
  t.regex(await client.kickText(), /no longer at this address/);
});

test('after a wake the player is connected to the newest address of the game', async (t) => {
  const game = await listener(t);
  const proxied = await startProxy(t);
  const client = await join(t, proxied.port, 47);
  const wish = await theWish(proxied);
  proxied.routes.set(HOST, running(game));
  wish.ready({ host: '127.0.0.1', port: 1 });
  await until(() => client.received.includes('greeting'));
  t.is(game.sockets.length, 1);
});

test('a closing proxy kicks waiting players with a message, drops idle connections and drains joined players', async (t) => {
  const game = await listener(t);
  const proxied = await startProxy(t);
  const held = await join(t, proxied.port, 47);
  const wish = await theWish(proxied);
  const idle = await RawClient.open(t, proxied.port);
  proxied.routes.set('playing.example.com', running(game, { serverId: 'two' }));
  const playing = await RawClient.open(t, proxied.port);
  playing.send(handshake(47, 'login', 'playing.example.com'), loginStart('Alex', false));
  await until(() => playing.received.includes('greeting'));
  t.true(proxied.proxy.listening());
  const closed = proxied.proxy.close({ drainMs: EVER_MS });
  t.false(proxied.proxy.listening());
  t.regex(await held.kickText(), /restarting/);
  await idle.gone();
  await held.gone();
  t.true(wish.signal.aborted);
  playing.send(Buffer.from('still here'));
  await until(() => game.heard[0]?.includes('still here') === true);
  t.is(proxied.proxy.connections('two'), 1);
  playing.socket.end();
  await closed;
  t.is(proxied.proxy.stats().piped, 0);
  // A program that another thread starts also holds the listener until its exec.
  await until(() =>
    RawClient.open(t, proxied.port).then(
      () => false,
      ({ code }) => code === 'ECONNREFUSED',
    ),
  );
});

test('a client of an incompatible version wakes no server and sees which version to choose', async (t) => {
  const proxied = await startProxy(t);
  const { port, routes, wishes } = proxied;
  routes.set(HOST, route({ protocol: 765, versionName: '1.20.4' }));
  const newer = await RawClient.open(t, port);
  newer.send(handshake(774, 'login'), loginStart('Steve'));
  await newer.gone();
  t.regex(newer.received.toString(), /This server runs Minecraft 1\.20\.4, not your version/);
  t.is(wishes.length, 0);
  answering(t, await join(t, port, 765));
  await theWish(proxied);
});
