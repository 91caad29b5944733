import { type Socket, createSocket } from 'node:dgram';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { createPlayerFiles } from '../../src/game/players/files.ts';
import { createJoinPolicy, openWakePolicies } from '../../src/joining/join-policy.ts';
import { Routing } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { openBedrockWakes } from '../../src/ports/bedrock-wakes.ts';
import { ServerPorts } from '../../src/ports/ports.ts';
import { ping, pong, readOffline, readPong, reply1 } from '../../src/ports/raknet.ts';
import type { Shared } from '../../src/servers/shared.ts';
import * as fc from '../support/property.ts';
import { turns } from '../support/turns.ts';
import { world } from '../support/world.ts';

const MAGIC = Buffer.from('00ffff00fefefefefdfdfdfd12345678', 'hex');
const REQUEST_1 = Buffer.concat([Buffer.of(5), MAGIC, Buffer.of(11), Buffer.alloc(1_400)]);
/** The end of a second request: no challenge, address, MTU and client id. */
const REST = Buffer.from('000480fffffe4e1f05d41fe24263d6727b4f', 'hex');
const request2 = (cookie: Buffer) => Buffer.concat([Buffer.of(7), MAGIC, cookie, REST]);
const cookieIn = (reply: Buffer) => reply.subarray(26, 30);

async function udp(t: ExecutionContext, port = 0): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => void closed(socket));
  return socket;
}

/** Closes a socket that may be closed already. */
async function closed(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => socket.once('close', resolve).close()).catch(() => {});
}

/** Systems assign ports from 32768 on, so no other test is given these. Each process begins at its own. */
let nextPort = 20_000 + (process.pid % 1_000) * 10;

/** A sleeping server `abc` with a port that wakes. */
async function bedrock(t: ExecutionContext) {
  const it = await world(t);
  const { store, clock, servers, dataDir } = it;
  const log = createLog({ level: 'silent' });
  const policies = await openWakePolicies(store);
  const joinPolicy = createJoinPolicy({ files: createPlayerFiles(dataDir), policies, clock, store });
  const routing = new Routing({ servers, clock, log, joinPolicy, publicHost: 'play.example', sleepers: [] });
  t.teardown(() => routing.close());
  const from = nextPort++;
  const range = { from, to: from };
  const isFree = async (each: number) => each === from;
  const ports = await ServerPorts.open({ store, range, onThisMachine: false, own: [], isFree });
  const closes: (() => void)[] = [];
  const shared = { ...it, log, onClose: (close: () => void) => void closes.push(close) } as Partial<Shared> as Shared;
  openBedrockWakes(shared, ports, routing.bedrock);
  t.teardown(() => closes.forEach((close) => close()));
  await it.create('abc', { name: 'Castle', motd: 'Our castle' });
  const wanted = { containerPort: 19_132, proto: 'udp' as const, label: '', wakes: true };
  await ports.add('abc', wanted, async () => {});
  const client = await udp(t);
  /** Sends a datagram, again until an answer arrives: the listener opens shortly after a change. */
  async function ask(datagram: Buffer): Promise<Buffer> {
    let answer: Buffer | undefined;
    client.once('message', (message: Buffer) => (answer = message));
    await it.until(async () => {
      client.send(datagram, from, '127.0.0.1');
      await turns(50);
      // A port that is taken for a moment is tried again.
      if (answer === undefined) await it.clock.advance(2_000);
      return answer !== undefined;
    });
    return answer!;
  }
  return {
    ...it,
    ports,
    port: from,
    client,
    ask,
    policies,
    listed: async () => (await ask(ping())).subarray(35).toString().split(';'),
    /** Joins as a client does. */
    async join() {
      client.send(request2(cookieIn(await ask(REQUEST_1))), from, '127.0.0.1');
    },
    stateOf: async () => (await servers.get('abc'))?.state,
  };
}

test('a Bedrock server list shows a sleeping server, and its player wakes it only after proving the address', async (t) => {
  const it = await bedrock(t);
  t.deepEqual((await it.listed()).slice(0, 2), ['MCPE', 'Our castle']);
  t.is((await it.listed())[7], '§7Asleep: §fjoin to wake');
  // A forged sender never sees the cookie.
  it.client.send(request2(Buffer.from('deadbeef', 'hex')), it.port, '127.0.0.1');
  await it.listed();
  t.is(await it.stateOf(), 'hibernated');
  await it.join();
  await it.reach('abc', 'running');
  const { cause, played } = (await it.servers.get('abc'))!.context;
  t.deepEqual([cause.kind, cause.id, played], ['player', 'A Bedrock player', false], 'an unclaimed wake is free');
});

test('the port is free for the game from its start on, and answers again once the server sleeps', async (t) => {
  const it = await bedrock(t);
  await it.listed();
  await it.join();
  await it.until(async () => (await it.stateOf()) === 'starting');
  const geyser = await udp(t, it.port);
  t.is(geyser.address().port, it.port);
  await it.reach('abc', 'running');
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  // The ended game holds the port for a moment.
  await closed(geyser);
  await it.clock.advance(2_000);
  t.is((await it.listed())[1], 'Our castle');
});

test('a server that not everyone may wake stays asleep, and its entry says so', async (t) => {
  const it = await bedrock(t);
  const policy = { mode: 'whitelist' as const, maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' };
  await it.policies.set('abc', policy, async () => {});
  await it.join();
  await it.until(async () => (await it.listed())[7] === 'Asleep. A Java player must wake it');
  t.is(await it.stateOf(), 'hibernated');
  await it.clock.advance(31_000);
  t.is((await it.listed())[7], '§7Asleep: §fjoin to wake');
});

test('the version that the running game reports is shown while it sleeps', async (t) => {
  const it = await bedrock(t);
  t.is((await it.listed())[2], '860');
  await it.ports.noteBedrock('abc', { protocol: 901, version: '1.26.10' });
  t.deepEqual((await it.listed()).slice(2, 4), ['901', '1.26.10']);
});

test('a deleted server’s port is not opened again for a new server of its id', async (t) => {
  const it = await bedrock(t);
  await it.listed();
  await it.command('abc', 'DELETE');
  await it.reach('abc', 'gone');
  await it.ports.forget('abc');
  await it.create('abc', { name: 'Castle' });
  const free = await udp(t, it.port);
  t.is(free.address().port, it.port);
});

test('a port that is closed stops answering, and a second port that wakes is refused', async (t) => {
  const it = await bedrock(t);
  const second = { containerPort: 19_133, proto: 'udp' as const, label: '', wakes: true };
  t.like(await t.throwsAsync(it.ports.add('abc', second, async () => {})), { reason: 'PORT_EXISTS' });
  await it.listed();
  await it.ports.remove('abc', 0, async () => {});
  await it.until(() =>
    udp(t, it.port).then(
      () => true,
      () => false,
    ),
  );
  t.pass();
});

test('no answer before a proof is longer than its question, except a bounded pong', (t) => {
  const guid = Buffer.alloc(8, 1);
  const status = { protocol: 99_999, version: 'v'.repeat(99), maxPlayers: 2_147_483_647, port: 65_535 };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1_500 }), fc.string(), fc.string(), (body, name, state) => {
      for (const id of [1, 2, 5, 7]) {
        for (const rest of [Buffer.from(body), Buffer.concat([MAGIC, body]), Buffer.concat([guid, MAGIC, body])]) {
          const datagram = Buffer.concat([Buffer.of(id), rest]);
          const message = readOffline(datagram);
          if (message?.type === 'request1') t.true(reply1(guid, 0xdeadbeef, message.mtu).length <= datagram.length);
          if (message?.type !== 'ping') continue;
          const answer = pong(message.time, guid, { ...status, lines: [name, state] });
          t.true(answer.length <= 35 + 2 * 4 * 60 + 100);
          t.is(answer.subarray(35).toString().split(';').length, 13);
        }
      }
    }),
  );
});

test('a pong is read back, and datagrams that are none are not', (t) => {
  const status = { lines: ['a;b', 'c'] as const, protocol: 844, version: '1.21.111', maxPlayers: 20, port: 19_132 };
  const answer = pong(Buffer.alloc(8), Buffer.alloc(8), status);
  t.deepEqual(readPong(answer), { protocol: 844, version: '1.21.111' });
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => t.is(readPong(Buffer.from(bytes)), undefined)));
  t.is(readPong(ping()), undefined);
});
