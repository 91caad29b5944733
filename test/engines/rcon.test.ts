import { once } from 'node:events';
import { type Server, type Socket, createServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createRconConsole } from '../../src/engines/console/rcon.ts';
import type { Address } from '../../src/kernel/address.ts';
import { fakeClock } from '../fakes/clock.ts';
import { chance } from '../support/random.ts';
import { turns } from '../support/turns.ts';
import { until } from '../support/until.ts';

interface Packet {
  id: number;
  type: number;
  text: string;
}

/** A console like vanilla's. It accepts one packet per read, and splits replies after 4 096 characters. */
interface FakeConsole {
  address: Address;
  connections: number;
  commands: string[];
  /** The number of packets that are neither a command nor a password. */
  unknown: number;
  server: Server;
}

type Answer = (command: string, socket: Socket, id: number) => string | Promise<string | undefined> | undefined;

/** The reaction to a packet that is neither a command nor a password. Vanilla answers it. */
type Unknown = 'answers' | 'hangs up' | 'ignores';

async function fakeConsole(t: ExecutionContext, answer: Answer, unknown: Unknown = 'answers'): Promise<FakeConsole> {
  const server = createServer((socket) => {
    fake.connections += 1;
    t.teardown(() => void socket.destroy());
    socket.on('error', () => undefined);
    socket.setNoDelay(true);
    let served = Promise.resolve();
    socket.on('data', (data) => {
      if (data.length < 14 || data.readInt32LE(0) !== data.length - 4) socket.destroy();
      const packet = {
        id: data.readInt32LE(4),
        type: data.readInt32LE(8),
        text: data.toString('utf8', 12, data.length - 2),
      };
      served = served.then(() => serve(socket, packet));
    });
  });
  async function serve(socket: Socket, { id, type, text }: Packet): Promise<void> {
    if (type !== 2 && type !== 3) fake.unknown += 1;
    if (type === 3) socket.write(encode(text === 'secret' ? id : -1, 2, ''));
    else if (type !== 2 && unknown === 'answers') socket.write(encode(id, 0, `Unknown request ${type.toString(16)}`));
    else if (type !== 2 && unknown === 'hangs up') socket.destroy();
    if (type !== 2) return;
    fake.commands.push(text);
    const reply = await answer(text, socket, id);
    if (reply === undefined) return;
    for (let at = 0; at === 0 || at < reply.length; at += 4096) {
      const packet = encode(id, 0, reply.slice(at, at + 4096));
      // Write in two parts, so that packets arrive in pieces.
      socket.write(packet.subarray(0, 7));
      await turns(3);
      socket.write(packet.subarray(7));
    }
  }
  const fake: FakeConsole = {
    address: { host: '127.0.0.1', port: 0 },
    connections: 0,
    commands: [],
    unknown: 0,
    server,
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  fake.address.port = (server.address() as { port: number }).port;
  t.teardown(() => void server.close());
  return fake;
}

function encode(id: number, type: number, text: string): Buffer {
  const payload = Buffer.from(text);
  const packet = Buffer.alloc(payload.length + 14);
  packet.writeInt32LE(payload.length + 10, 0);
  packet.writeInt32LE(id, 4);
  packet.writeInt32LE(type, 8);
  payload.copy(packet, 12);
  return packet;
}

/** Creates a client whose clock moves only if a test moves it, so that a slow machine causes no timeouts. */
function console(t: ExecutionContext, clock = fakeClock()) {
  const rcon = createRconConsole({ clock });
  t.teardown(() => rcon.close());
  return rcon;
}

test('RCON replies of any length arrive whole over one connection', async (t) => {
  const fake = await fakeConsole(t, (command) => 'é§x'.repeat(Number(command)).slice(0, Number(command)));
  const rcon = console(t);
  for (const length of [0, 1, 4095, 4096, 4097, 8192, 50_000]) {
    const expected = 'é§x'.repeat(length).slice(0, length);
    t.is(await rcon.run(fake.address, 'secret', String(length)), expected);
  }
  t.is(fake.connections, 1);
});

test('concurrent RCON commands are answered in order', async (t) => {
  const dice = chance(t);
  const fake = await fakeConsole(t, async (command) => {
    await turns(dice() * 5);
    return `did ${command}`;
  });
  const rcon = console(t);
  const names = Array.from({ length: 20 }, (_, n) => `c${n}`);
  const replies = await Promise.all(names.map((name) => rcon.run(fake.address, 'secret', name)));
  t.deepEqual(
    replies,
    names.map((name) => `did ${name}`),
  );
  t.deepEqual(fake.commands, names);
  t.is(fake.connections, 1);
});

test('a wrong RCON password is refused, and the right one works afterwards', async (t) => {
  const fake = await fakeConsole(t, () => 'ok');
  const rcon = console(t);
  await t.throwsAsync(rcon.run(fake.address, 'wrong', 'list'), { name: 'ConsoleError', message: /password/ });
  t.deepEqual(fake.commands, []);
  t.is(await rcon.run(fake.address, 'secret', 'list'), 'ok');
});

test('an RCON command of several lines or more than 1446 bytes is never sent', async (t) => {
  const rcon = console(t);
  const nowhere = { host: '127.0.0.1', port: 1 };
  for (const command of ['a\nb', 'a\rb', 'a\0b', 'é'.repeat(724)]) {
    t.like(await t.throwsAsync(rcon.run(nowhere, 'x', command)), { name: 'ConsoleError', reason: 'invalid' });
  }
  const fake = await fakeConsole(t, (command) => String(command.length));
  t.is(await rcon.run(fake.address, 'secret', 'x'.repeat(1446)), '1446');
});

test('RCON reports an absent, broken or silent game, and the next command reconnects', async (t) => {
  const fake = await fakeConsole(t, (command, socket, id) => {
    if (command === 'die') socket.write(encode(id, 0, 'half').subarray(0, 10), () => socket.destroy());
    if (command === 'garbage') socket.write(Buffer.from('HTTP/1.1 400 Bad Request\r\n'));
    if (command === 'endless') for (let n = 0; n < 300; n += 1) socket.write(encode(id, 0, 'x'.repeat(4096)));
    return command === 'list' ? 'none' : undefined;
  });
  const clock = fakeClock();
  const rcon = console(t, clock);
  const reason = async (address: Address, command: string) =>
    ((await t.throwsAsync(rcon.run(address, 'secret', command))) as { reason?: string }).reason;
  t.is(await reason({ host: '127.0.0.1', port: 1 }, 'list'), 'absent');
  t.is(await reason(fake.address, 'die'), 'unavailable');
  t.is(await rcon.run(fake.address, 'secret', 'list'), 'none');
  const silence = reason(fake.address, 'silence');
  await until(() => fake.commands.at(-1) === 'silence');
  await clock.advance(10_000);
  t.is(await silence, 'timeout');
  t.is(await rcon.run(fake.address, 'secret', 'list'), 'none');
  t.is(await reason(fake.address, 'garbage'), 'unavailable');
  t.is(await reason(fake.address, 'endless'), 'unavailable');
  t.is(await rcon.run(fake.address, 'secret', 'list'), 'none');
  t.is(fake.connections, 5);
});

test('RCON commands behind an unanswered one time out with it and are not sent later', async (t) => {
  const fake = await fakeConsole(t, (command) => (command === 'list' ? 'none' : undefined));
  const clock = fakeClock();
  const rcon = console(t, clock);
  const given = Array.from({ length: 5 }, (_, n) => rcon.run(fake.address, 'secret', `silence ${n}`));
  const settled = Promise.allSettled(given);
  await until(() => fake.commands.length > 0);
  await clock.advance(10_000);
  for (const one of await settled)
    t.like(one, { status: 'rejected', reason: { name: 'ConsoleError', reason: 'timeout' } });
  t.deepEqual(fake.commands, ['silence 0']);
  t.is(await rcon.run(fake.address, 'secret', 'list'), 'none');
  t.is(fake.connections, 2);
});

test('the RCON queue is limited, a released connection is reopened, and a closed console returns an error', async (t) => {
  let free: (() => void) | undefined;
  const latch = new Promise<void>((resolve) => (free = resolve));
  const fake = await fakeConsole(t, async () => {
    await latch;
    return 'ok';
  });
  const rcon = console(t);
  const waiting = Array.from({ length: 100 }, () => rcon.run(fake.address, 'secret', 'list'));
  t.like(await t.throwsAsync(rcon.run(fake.address, 'secret', 'list')), { reason: 'unavailable' });
  free!();
  t.is((await Promise.all(waiting)).length, 100);
  rcon.release(fake.address);
  t.is(await rcon.run(fake.address, 'secret', 'list'), 'ok');
  t.is(fake.connections, 2);
  rcon.close();
  t.like(await t.throwsAsync(rcon.run(fake.address, 'secret', 'list')), { reason: 'unavailable' });
});

test('RCON works with a game that ignores unknown packets or disconnects on them (Pumpkin)', async (t) => {
  for (const unknown of ['hangs up', 'ignores'] as const) {
    const fake = await fakeConsole(t, (command) => 'x'.repeat(Number(command)), unknown);
    const clock = fakeClock();
    const rcon = console(t, clock);
    for (const length of [0, 5, 3_999]) t.is((await rcon.run(fake.address, 'secret', String(length))).length, length);
    t.is(fake.connections, 1, unknown);
    const full = rcon.run(fake.address, 'secret', '4096');
    await until(() => fake.unknown > 0);
    if (unknown === 'ignores') await clock.advance(1_000);
    t.is((await full).length, 4096, unknown);
    t.is(await rcon.run(fake.address, 'secret', '2'), 'xx');
    t.deepEqual(fake.commands, ['0', '5', '3999', '4096', '2']);
  }
});

test.serial('RCON disconnects a game that sends unsolicited packets', async (t) => {
  const fake = await fakeConsole(t, () => 'ok');
  const cut = Promise.withResolvers<number>();
  fake.server.on('connection', (socket) => {
    const flood = encode(7, 0, 'x'.repeat(1_000));
    const pump = () => {
      while (!socket.destroyed && socket.write(flood));
    };
    socket.on('drain', pump);
    socket.on('close', () => cut.resolve(socket.bytesWritten));
    socket.once('data', () => setImmediate(pump));
  });
  const rcon = console(t);
  await rcon.run(fake.address, 'secret', 'list').catch(() => undefined);
  await cut.promise;
  t.pass();
});

test.serial('an endless stream of empty RCON packets fails the command', async (t) => {
  const fake = await fakeConsole(t, (_, socket, id) => {
    const empty = Buffer.concat(Array.from({ length: 1_000 }, () => encode(id + 1, 0, '')));
    const pump = () => {
      while (!socket.destroyed && socket.write(empty));
    };
    socket.on('drain', pump);
    pump();
    return undefined;
  });
  const rcon = console(t);
  t.like(await t.throwsAsync(rcon.run(fake.address, 'secret', 'list')), { reason: 'unavailable' });
});
