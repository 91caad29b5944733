import { type Hash, createHash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { encodeFrame, encodeString } from '../../proxy/codec.ts';
import { spanText } from '../../proxy/text.ts';
import type { Joined, Presence } from '../../proxy/ports.ts';
import { type FakeClock, fakeClock } from '../fakes/clock.ts';
import { until } from '../support/until.ts';
import {
  EVER_MS,
  HOST,
  RawClient,
  type TestProxy,
  handshake,
  loginStart,
  running,
  startGame,
  startProxy,
} from './support.ts';

const LOGIN = Buffer.concat([handshake(767, 'login'), loginStart('Notch')]);

/** Joins a player to a game, and returns both ends. The game's end has already read the login. */
async function joined(
  t: ExecutionContext,
  lingerMs = EVER_MS,
  presence: Presence = { changed: () => {} },
): Promise<{ client: RawClient; game: Socket; proxied: TestProxy; clock: FakeClock }> {
  const sockets: Socket[] = [];
  const clock = fakeClock();
  const address = await startGame(t, (socket) => sockets.push(socket));
  const proxied = await startProxy(t, { presence, clock, timings: { lingerMs, stallMs: 2 * lingerMs } });
  proxied.routes.set(HOST, running(address));
  const client = await RawClient.open(t, proxied.port);
  client.send(LOGIN);
  await until(() => proxied.proxy.connections('one') === 1 && sockets.length === 1);
  const game = sockets[0];
  if (!game) throw new Error('no game');
  let login = 0;
  while (login < LOGIN.length) {
    const chunk = game.read() as Buffer | null;
    login += chunk?.length ?? 0;
    if (!chunk) await delay(1);
  }
  return { client, game, proxied, clock };
}

test('the service is notified when a player knocks, joins and leaves', async (t) => {
  const told: Joined[] = [];
  const presence = { changed: (id: string, joined: Joined) => void (id === 'one' && told.push(joined)) };
  const { client, game, proxied } = await joined(t, EVER_MS, presence);
  t.deepEqual(told, [{ inside: 0, knocking: 1 }]);
  game.write(Buffer.alloc(64 * 1024));
  await until(() => told.length === 2);
  // A game that reads notices that its player has left, and leaves too.
  game.once('end', () => game.end()).resume();
  client.socket.destroy();
  await until(() => proxied.proxy.connections('one') === 0);
  t.deepEqual(told.slice(1), [
    { inside: 1, knocking: 0 },
    { inside: 0, knocking: 0 },
  ]);
  const said = proxied.log.filter(({ level }) => level === 'info').map(({ message }) => message);
  t.is(said[0], 'Notch joined one');
  t.regex(said[1] ?? '', /^Notch left one after \d+ s$/);
});

test('durations are written in their largest relevant units', (t) => {
  t.deepEqual([400, 59_400, 720_000, 7_500_000].map(spanText), ['0 s', '59 s', '12 min', '2 h 5 min']);
});

test('a player refused by the game never counts as joined', async (t) => {
  const told: Joined[] = [];
  const { game, proxied } = await joined(t, EVER_MS, { changed: (_, joined) => void told.push(joined) });
  game.end(encodeFrame(0, encodeString('{"text":"You are not white-listed on this server!"}')));
  game.resume();
  await until(() => proxied.proxy.connections('one') === 0);
  t.deepEqual(told, [
    { inside: 0, knocking: 1 },
    { inside: 0, knocking: 0 },
  ]);
});

/** Counts and hashes the bytes that arrive at `socket`. */
function sink(socket: Socket): { bytes: number; hash: Hash; ended: boolean } {
  const state = { bytes: 0, hash: createHash('sha1'), ended: false };
  socket.on('data', (chunk: Buffer) => {
    state.bytes += chunk.length;
    state.hash.update(chunk);
  });
  socket.on('end', () => (state.ended = true));
  return state;
}

/** Writes `chunks` of random bytes of many sizes, as fast as the socket accepts them. */
async function pour(socket: Socket, chunks: number, maxBytes: number): Promise<{ bytes: number; hash: Hash }> {
  const hash = createHash('sha1');
  const noise = randomBytes(maxBytes);
  let bytes = 0;
  for (let index = 0; index < chunks; index++) {
    const chunk = Buffer.from(noise.subarray(0, 1 + ((index * 7919) % maxBytes)));
    chunk.writeUInt8(index & 0xff);
    hash.update(chunk);
    bytes += chunk.length;
    if (!socket.write(chunk)) await new Promise((resolve) => void socket.once('drain', resolve));
  }
  return { bytes, hash };
}

/** Pauses after each piece, and always resumes, however busy the machine is. */
function readSlowly(socket: Socket, restMs: number): void {
  socket.on('data', () => {
    socket.pause();
    setTimeout(() => socket.resume(), restMs);
  });
}

for (const [name, chunks, maxBytes] of [
  ['packets', 4_000, 300],
  ['bulk', 600, 200_000],
] as const) {
  test(`every byte arrives in both directions at once: ${name}`, async (t) => {
    const { client, game, proxied } = await joined(t);
    client.socket.removeAllListeners('data');
    const [atClient, atGame] = [sink(client.socket), sink(game)];
    const [down, up] = await Promise.all([pour(game, chunks, maxBytes), pour(client.socket, chunks, maxBytes)]);
    await until(() => atClient.bytes === down.bytes && atGame.bytes === up.bytes);
    t.is(atClient.hash.digest('hex'), down.hash.digest('hex'));
    t.is(atGame.hash.digest('hex'), up.hash.digest('hex'));
    const stats = proxied.proxy.stats();
    t.is(stats.bytesDown, down.bytes);
    t.is(stats.bytesUp, up.bytes + LOGIN.length);
  });
}

test('a slow player makes a fast game wait, and every byte arrives in order', async (t) => {
  const { client, game } = await joined(t);
  client.socket.removeAllListeners('data');
  client.socket.pause();
  const pouring = pour(game, 1_500, 60_000);
  let before = -1;
  // Stuck: the kernel's buffers are full, and the proxy has filled only its own small ones.
  while (before !== game.bytesWritten - game.writableLength) {
    before = game.bytesWritten - game.writableLength;
    await delay(150);
  }
  t.true(before < 20_000_000, `${before} bytes are in flight`);
  const atClient = sink(client.socket);
  readSlowly(client.socket, 3);
  client.socket.resume();
  const { bytes, hash } = await pouring;
  await until(() => atClient.bytes === bytes);
  t.is(atClient.hash.digest('hex'), hash.digest('hex'));
});

test('many slow and fast connections at once do not mix up their data', async (t) => {
  await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const { client, game } = await joined(t);
      client.socket.removeAllListeners('data');
      const atClient = sink(client.socket);
      readSlowly(client.socket, index);
      const { bytes, hash } = await pour(game, 120, 150_000);
      game.end();
      await until(() => atClient.ended);
      t.is(atClient.bytes, bytes);
      t.is(atClient.hash.digest('hex'), hash.digest('hex'));
    }),
  );
});

test('a slow game makes a fast player wait, and every byte still arrives', async (t) => {
  const { client, game } = await joined(t);
  game.pause();
  const pouring = pour(client.socket, 1_000, 60_000);
  let before = -1;
  while (before !== client.socket.bytesWritten - client.socket.writableLength) {
    before = client.socket.bytesWritten - client.socket.writableLength;
    await delay(150);
  }
  t.true(before < 20_000_000, `${before} bytes are in flight`);
  const atGame = sink(game);
  game.resume();
  const { bytes, hash } = await pouring;
  await until(() => atGame.bytes === bytes);
  t.is(atGame.hash.digest('hex'), hash.digest('hex'));
});

test('when one side ends its stream, the end is forwarded and the other side can still finish', async (t) => {
  const { client, game, proxied } = await joined(t);
  const atGame = sink(game);
  client.send(Buffer.from('last words')).socket.end();
  await until(() => atGame.ended);
  t.is(atGame.bytes, 10);
  t.false(client.closed);
  const { bytes } = await pour(game, 300, 50_000);
  game.end();
  await client.gone();
  t.is(client.received.length, bytes);
  await until(() => proxied.proxy.connections('one') === 0);
});

test('the final data of a game reaches a player who is still sending', async (t) => {
  for (let round = 0; round < 20; round++) {
    const { client, game } = await joined(t);
    const chatter = setInterval(() => client.socket.writable && client.socket.write(Buffer.alloc(2_000)), 1);
    t.teardown(() => clearInterval(chatter));
    await delay(5);
    const words = Buffer.alloc(150_000, round);
    game.end(words);
    await until(() => client.received.length === words.length || client.closed);
    t.is(client.received.length, words.length);
    client.socket.destroy();
    clearInterval(chatter);
  }
});

test('a reset of one side closes the other side too', async (t) => {
  const first = await joined(t);
  first.client.socket.resetAndDestroy();
  await new Promise(
    (resolve) =>
      void first.game
        .resume()
        .once('close', resolve)
        .once('end', () => first.game.end()),
  );
  await until(() => first.proxied.proxy.stats().piped === 0);
  const second = await joined(t);
  second.game.resetAndDestroy();
  await second.client.gone();
  await until(() => second.proxied.proxy.stats().piped === 0);
  t.true(second.client.reset || second.client.received.length === 0);
});

test('a side that stops reading, or never ends after the other, is cut off', async (t) => {
  const isCutOff = ({ clock, proxied }: Awaited<ReturnType<typeof joined>>) =>
    until(async () => {
      await clock.advance(50);
      return proxied.proxy.connections('one') === 0;
    });
  const first = await joined(t, 150);
  const { client, game } = first;
  const deaf = client.socket;
  deaf.pause();
  game.write(Buffer.alloc(8_000_000));
  game.end();
  await isCutOff(first);
  const half = await joined(t, 150);
  half.client.socket.end();
  half.game.resume();
  await isCutOff(half);
  await until(() => half.game.destroyed || half.game.readableEnded);
  t.pass();
});

test('data that a game sends before the join reaches the player, even if the game closes at once', async (t) => {
  const huge = Buffer.concat([Buffer.from('ffff7f', 'hex'), randomBytes(200_000)]);
  const overlong = Buffer.alloc(100, 0xff);
  const wide = Buffer.concat([Buffer.from('05ffffffff7f', 'hex'), randomBytes(90)]);
  for (const words of [huge, overlong, wide, Buffer.from('ff'), Buffer.from('HTTP/1.1 400 Bad Request\r\n')]) {
    const game = await startGame(t, (socket) => socket.end(words));
    const proxied = await startProxy(t, { limits: { handOvers: 1 } });
    for (const readyAt of [Date.now(), 0]) {
      proxied.routes.set(HOST, running(game, { readyAt }));
      const client = await RawClient.open(t, proxied.port);
      client.send(LOGIN);
      await client.gone();
      t.deepEqual(client.received, words);
    }
  }
});

test('a game that has just started may send any bytes first', async (t) => {
  const first = [...Array(60).keys()].map(() => randomBytes(40));
  first.push(Buffer.from('ffffffffff', 'hex'), Buffer.from('80808080', 'hex'), Buffer.from('0000', 'hex'));
  let index = 0;
  const game = await startGame(t, (socket) => {
    const words = first[index++ % first.length] ?? Buffer.alloc(1);
    socket.once('data', () => socket.write(words));
  });
  const proxied = await startProxy(t, { limits: { handOvers: 2 }, timings: { firstPacketMs: 50, redialMs: 5 } });
  proxied.routes.set(HOST, running(game, { readyAt: Date.now() }));
  for (const _ of first) {
    const client = await RawClient.open(t, proxied.port);
    client.send(LOGIN);
    await until(() => client.received.length > 0);
    client.socket.destroy();
  }
  t.is(proxied.proxy.stats().joins, first.length);
});
