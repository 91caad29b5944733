import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { handshake, loginStart } from '../proxy/support.ts';
import { proxyTo } from './always-awake.ts';
import { cpuMs, message, pinningNote, startRole } from './children.ts';
import { type Report, median } from './figures.ts';
import { HAS_HAPROXY, noHaproxyNote, startHaproxy } from './haproxy.ts';

const ROUNDS = 3;
const PLAYERS = 200;
/** Packets of one player: 20 a second up and 40 down. */
const UP_PER_SECOND = 20;
const UP_BYTES = 24;
const DOWN_BYTES = 60;
const SLOTS = 10;
const PACKETS_MS = 3_500;
const BULK_MS = 2_500;
const GIB = 2 ** 30;
const LOGIN = Buffer.concat([handshake(767, 'login'), loginStart('Notch')]);

interface Measured {
  microsPerPacket: number;
  secondsPerGib: number;
  gibPerSecond: number;
}

/** Measures the cost of relaying players' packets and bulk data, beside HAProxy on the same load if it is installed. */
export async function run({ row, progress }: Report): Promise<void> {
  const load = startRole(1, import.meta.filename, 'load');
  try {
    const gamePort = await message<number>(load);
    const note = [`median of ${ROUNDS} rounds`, pinningNote, noHaproxyNote].filter(Boolean).join('; ');
    // The two alternate, so that other work on the machine affects both alike.
    const own: Measured[] = [];
    const peer: Measured[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      progress(`round ${round} of ${ROUNDS}`);
      own.push(await measureOwn(load, gamePort));
      if (HAS_HAPROXY) peer.push(await measureHaproxy(load, gamePort));
    }
    const [ours, theirs] = [medians(own), medians(peer)];
    row({ figure: 'relay, CPU per packet', value: ours.microsPerPacket, unit: 'µs', note });
    row({ figure: 'relay in bulk, CPU per GiB', value: ours.secondsPerGib, unit: 's' });
    row({ figure: 'relay in bulk, one stream', value: ours.gibPerSecond, unit: 'GiB/s' });
    if (!HAS_HAPROXY) return;
    row({ figure: 'HAProxy, CPU per packet', value: theirs.microsPerPacket, unit: 'µs' });
    row({ figure: 'HAProxy in bulk, CPU per GiB', value: theirs.secondsPerGib, unit: 's' });
    row({ figure: 'HAProxy in bulk, one stream', value: theirs.gibPerSecond, unit: 'GiB/s' });
    row({ figure: 'relay ÷ HAProxy, CPU per packet', value: ours.microsPerPacket / theirs.microsPerPacket, unit: '1' });
    row({ figure: 'relay ÷ HAProxy, CPU in bulk', value: ours.secondsPerGib / theirs.secondsPerGib, unit: '1' });
  } finally {
    load.kill();
  }
}

function medians(all: readonly Measured[]): Measured {
  const of = (name: keyof Measured): number => median(all.map((each) => each[name]));
  return {
    microsPerPacket: of('microsPerPacket'),
    secondsPerGib: of('secondsPerGib'),
    gibPerSecond: of('gibPerSecond'),
  };
}

/** Starts a proxy of ours in front of the game at `gamePort`. Its first message is its port. */
export function startRelay(gamePort: number): ChildProcess {
  return startRole(0, import.meta.filename, 'proxy', String(gamePort));
}

async function measureOwn(load: ChildProcess, gamePort: number): Promise<Measured> {
  const proxy = startRelay(gamePort);
  try {
    return await measure(load, proxy, await message<number>(proxy));
  } finally {
    proxy.kill();
  }
}

async function measureHaproxy(load: ChildProcess, gamePort: number): Promise<Measured> {
  await using haproxy = await startHaproxy(gamePort);
  return await measure(load, haproxy.child, haproxy.port);
}

async function measure(load: ChildProcess, relay: ChildProcess, port: number): Promise<Measured> {
  const phase = async (kind: 'packets' | 'bulk'): Promise<{ cpu: number; amount: number; seconds: number }> => {
    load.send({ kind, port });
    await message(load);
    const [cpu, at] = [cpuMs(relay), performance.now()];
    load.send('start');
    const amount = await message<number>(load);
    return { cpu: cpuMs(relay) - cpu, amount, seconds: (performance.now() - at) / 1_000 };
  };
  // The first phase only warms up: a proxy runs for weeks, not for the seconds in which its code is still being compiled.
  await phase('packets');
  const packets = await phase('packets');
  const bulk = await phase('bulk');
  return {
    microsPerPacket: (packets.cpu * 1_000) / packets.amount,
    secondsPerGib: bulk.cpu / 1_000 / (bulk.amount / GIB),
    gibPerSecond: bulk.amount / GIB / bulk.seconds,
  };
}

async function beProxy(gamePort: number): Promise<void> {
  process.send?.(await proxyTo(gamePort));
}

/** Runs the game and its players in one process. Their cost is the same for every proxy. */
async function beLoad(): Promise<void> {
  const games: Socket[] = [];
  let received = 0;
  const game = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => games.push(socket));
    socket.resume();
  });
  game.listen(0, '127.0.0.1');
  await once(game, 'listening');
  process.send?.((game.address() as AddressInfo).port);

  for (;;) {
    const [{ kind, port }] = (await once(process, 'message')) as [{ kind: 'packets' | 'bulk'; port: number }];
    games.length = 0;
    received = 0;
    const players = Array.from({ length: kind === 'packets' ? PLAYERS : 1 }, () =>
      player(port, (bytes) => (received += bytes)),
    );
    while (games.length < players.length) await delay(10);
    process.send?.('ready');
    await once(process, 'message');
    const amount = kind === 'packets' ? await packets(players, games) : await bulk(games, () => received);
    process.send?.(amount);
    for (const socket of players) socket.destroy();
  }
}

function player(port: number, onBytes: (count: number) => void): Socket {
  const buffer = Buffer.alloc(256 * 1024);
  const onread = { buffer, callback: (count: number) => (onBytes(count), true) };
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread });
  socket.on('error', () => undefined);
  socket.write(LOGIN);
  return socket;
}

/** Sends packets both ways, and returns their number. */
async function packets(players: Socket[], games: Socket[]): Promise<number> {
  const [up, down] = [Buffer.alloc(UP_BYTES, 1), Buffer.alloc(DOWN_BYTES, 2)];
  const end = performance.now() + PACKETS_MS;
  const slotMs = 1_000 / UP_PER_SECOND / SLOTS;
  let sent = 0;
  for (let slot = 0, at = performance.now(); at < end; slot++, at += slotMs) {
    for (let index = slot % SLOTS; index < players.length; index += SLOTS) {
      players[index]?.write(up);
      games[index]?.write(down);
      games[(index + SLOTS / 2) % games.length]?.write(down);
      sent += 3;
    }
    await delay(Math.max(0, at + slotMs - performance.now()));
  }
  return sent;
}

/** Sends bulk data to the players, and returns the number of bytes that arrived. */
async function bulk(games: Socket[], received: () => number): Promise<number> {
  const chunk = Buffer.alloc(256 * 1024, 3);
  const end = performance.now() + BULK_MS;
  while (performance.now() < end) {
    for (const game of games) if (!game.write(chunk)) await once(game, 'drain');
  }
  return received();
}

const [, file, role, argument] = process.argv;
if (file === import.meta.filename && role === 'proxy') await beProxy(Number(argument));
if (file === import.meta.filename && role === 'load') await beLoad();
