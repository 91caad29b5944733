import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Duplex } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { createManagement } from '../../src/engines/console/management.ts';
import type { Address } from '../../src/kernel/address.ts';
import { fakeClock } from '../fakes/clock.ts';
import { until } from '../support/until.ts';

// Tests with malicious or broken games. Tests with a well-behaved game: test/conformance/management.test.ts.

interface Port {
  address: Address;
  sockets: Set<Duplex>;
  /** The number of connections so far. */
  connections: number;
}

type Act = (socket: Duplex, id: number) => void;

/** A management port that accepts every connection and handles each request with `act`. */
async function port(t: ExecutionContext, act: Act, accept = acceptOf): Promise<Port> {
  const server = createServer();
  const made: Port = { address: { host: '127.0.0.1', port: 0 }, sockets: new Set(), connections: 0 };
  server.on('upgrade', (request, socket) => {
    made.connections += 1;
    made.sockets.add(socket);
    t.teardown(() => void socket.destroy());
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => made.sockets.delete(socket));
    const key = request.headers['sec-websocket-key'] ?? '';
    const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';
    socket.write(`${head}Sec-WebSocket-Accept: ${accept(key)}\r\n\r\n`);
    socket.on('data', (data: Buffer) => {
      for (const text of unmasked(data)) {
        if (text.startsWith('{')) act(socket, (JSON.parse(text) as { id: number }).id);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  made.address.port = (server.address() as { port: number }).port;
  t.teardown(() => void server.close());
  return made;
}

function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}

/** Yields the texts of complete short frames. */
function* unmasked(data: Buffer): Generator<string> {
  for (let rest = data; rest.length > 0; rest = rest.subarray(6 + (rest[1]! & 0x7f))) {
    const [mask, payload] = [rest.subarray(2, 6), rest.subarray(6, 6 + (rest[1]! & 0x7f))];
    yield Buffer.from(payload.map((byte, at) => byte ^ mask[at & 3]!)).toString();
  }
}

function frame(payload: string | Buffer, first = 0x81): Buffer {
  const bytes = Buffer.from(payload as string);
  const header = Buffer.alloc(bytes.length > 0xffff ? 10 : 4);
  header[0] = first;
  header[1] = bytes.length > 0xffff ? 127 : 126;
  if (bytes.length > 0xffff) header.writeBigUInt64BE(BigInt(bytes.length), 2);
  else header.writeUInt16BE(bytes.length, 2);
  return Buffer.concat([header, bytes]);
}

const answer = (id: number, result: unknown) => JSON.stringify({ jsonrpc: '2.0', id, result });
const steve = { id: '069a79f4-44e9-4726-a5be-fca90e38aaf5', name: 'Steve' };
const good: Act = (socket, id) => socket.write(frame(answer(id, [steve])));

/** Creates a client whose clock moves only if a test moves it, so that a slow machine causes no timeouts. */
function management(t: ExecutionContext, clock = fakeClock()) {
  const made = createManagement({ clock });
  t.teardown(() => made.close());
  return made;
}

/** Games whose requests end only by their deadline. */
const SILENT: Record<string, Act> = {
  'sends nothing': () => {},
  'never finishes its answer': (socket, id) => void socket.write(frame(answer(id, [steve])).subarray(0, 20)),
};

const BAD: Record<string, Act> = {
  'hangs up': (socket) => socket.destroy(),
  'disconnects in the middle of its answer': (socket, id) => socket.end(frame(answer(id, [steve])).subarray(0, 20)),
  closes: (socket) => void socket.write(Buffer.from([0x88, 0])),
  'does not send JSON': (socket) => void socket.write(frame('hello')),
  'does not send JSON-RPC': (socket) => void socket.write(frame('[1]')),
  'answers with bytes': (socket, id) => void socket.write(frame(answer(id, [steve]), 0x82)),
  'masks its frames': (socket) => void socket.write(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0])),
  'uses an extension': (socket, id) => void socket.write(frame(answer(id, []), 0xc1)),
  'announces gigabytes': (socket) => void socket.write(Buffer.from([0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0])),
  'announces more bytes than a number can hold': (socket) => void socket.write(Buffer.alloc(10, 0xff).fill(0x81, 0, 1)),
  'sends too large an answer': (socket, id) => void socket.write(frame(answer(id, 'x'.repeat(300_000)))),
  'sends endless fragments': (socket) => {
    socket.write(frame('', 0x01));
    for (let nth = 0; nth < 1_000; nth++) socket.write(frame('', 0x00));
  },
  'speaks without end': (socket) => {
    for (let nth = 0; nth < 4_000; nth++) socket.write(frame('{"jsonrpc":"2.0","method":"minecraft:notification"}'));
  },
  'pings without end': (socket) => {
    for (let nth = 0; nth < 4_000; nth++) socket.write(Buffer.from([0x89, 0]));
  },
};

for (const [what, act] of Object.entries({ ...SILENT, ...BAD })) {
  test(`a game that ${what} is disconnected, and the next request reconnects`, async (t) => {
    let isBad = true;
    const wasAsked = Promise.withResolvers<void>();
    const fake = await port(t, (socket, id) => {
      (isBad ? act : good)(socket, id);
      wasAsked.resolve();
    });
    const clock = fakeClock();
    const asked = management(t, clock);
    const refused = t.throwsAsync(asked.players(fake.address, 'secret'), { name: 'ManagementError' });
    await wasAsked.promise;
    if (what in SILENT) {
      await clock.advance(2_999);
      t.is(fake.sockets.size, 1, 'the game has 3 s to answer');
      await clock.advance(1);
    }
    await refused;
    await until(() => fake.sockets.size === 0);
    isBad = false;
    t.deepEqual(await asked.players(fake.address, 'secret'), [{ uuid: steve.id, name: 'Steve' }]);
    t.is(fake.connections, 2);
  });
}

test('a port that does not speak the management protocol returns an error', async (t) => {
  const asked = management(t);
  const error = { name: 'ManagementError' };
  await t.throwsAsync(asked.started({ host: '127.0.0.1', port: 1 }, 'x'), error);
  const impostor = await port(t, good, () => 'wrong');
  await t.throwsAsync(asked.started(impostor.address, 'x'), error);
  const site = createServer((_, response) => response.end('hello'));
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  t.teardown(() => void site.close());
  await t.throwsAsync(
    asked.started({ host: '127.0.0.1', port: (site.address() as { port: number }).port }, 'x'),
    error,
  );
});

test('an error or a malformed answer fails only its own management request', async (t) => {
  const replies: ((id: number) => string)[] = [
    (id) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } }),
    (id) => answer(id, [{ name: 'Steve' }]),
    (id) => answer(id, { players: [] }),
    (id) => answer(id, 'x'.repeat(100_000)),
    (id) => answer(id + 100, [steve]),
  ];
  const fake = await port(t, (socket, id) => {
    const reply = replies.shift();
    if (reply) socket.write(frame(reply(id)));
    if (!reply || replies.length === 0) good(socket, id);
  });
  const asked = management(t);
  for (let nth = 0; nth < 4; nth++)
    await t.throwsAsync(asked.players(fake.address, 'secret'), { name: 'ManagementError' });
  t.is((await asked.players(fake.address, 'secret')).length, 1, 'an answer to an unknown request is ignored');
  t.is(fake.connections, 1);
});

test('management answers may arrive in pieces, out of order and between notifications, and pings are answered', async (t) => {
  const waiting: number[] = [];
  let changes = 0;
  const ponged = Promise.withResolvers<void>();
  const fake = await port(t, (socket, id) => {
    waiting.push(id);
    if (waiting.length < 3) return;
    socket.on('data', (data: Buffer) => void (data[0] === 0x8a && ponged.resolve()));
    const joined = JSON.stringify({ jsonrpc: '2.0', method: 'minecraft:notification/players/joined', params: [steve] });
    const saved = JSON.stringify({ jsonrpc: '2.0', method: 'minecraft:notification/server/saved' });
    const whole = answer(waiting[0]!, [steve]);
    const all = Buffer.concat([
      frame(joined),
      frame(saved),
      frame(answer(waiting[2]!, [])),
      frame(answer(waiting[1]!, [steve, steve])),
      frame(whole.slice(0, 5), 0x01),
      Buffer.from([0x89, 1, 7]),
      frame(whole.slice(5), 0x80),
    ]);
    for (const byte of all) socket.write(Buffer.from([byte]));
  });
  const asked = management(t);
  asked.watch(fake.address, () => void (changes += 1));
  const counts = await Promise.all([1, 2, 3].map(async () => (await asked.players(fake.address, 's')).length));
  t.deepEqual(counts, [1, 2, 0]);
  t.is(changes, 1);
  await ponged.promise;
  t.is(fake.connections, 1);
});

test('at most 16 management requests wait at a time', async (t) => {
  const fake = await port(t, () => {});
  const clock = fakeClock();
  const asked = management(t, clock);
  const waiting = Array.from({ length: 16 }, () => t.throwsAsync(asked.players(fake.address, 's')));
  await t.throwsAsync(asked.players(fake.address, 's'), { message: /Too many/ });
  await clock.advance(3_000);
  await Promise.all(waiting);
});
