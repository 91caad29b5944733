import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { handshake, loginStart } from '../proxy/support.ts';
import { proxyTo } from './always-awake.ts';
import { message, startRole } from './children.ts';
import { type Report, median, quantile } from './figures.ts';
import { linked } from './link.ts';
import { BUSY_MS, type Order, followOrders } from './orders.ts';

const ROUNDS = 5;
const PLAYERS = 50;
const EVERY_MS = 50;
const PHASE_MS = 2_000;
const LOGIN = Buffer.concat([handshake(767, 'login'), loginStart('Notch')]);

/** The 99th percentile of round trips, ms. */
interface Delays {
  idle: number;
  busy: number;
}

/**
 * Measures the delay that players notice when the service is busy and the proxy is a process of its own. In alternation
 * it measures a proxy inside the service, which shows that the bench detects such delays.
 */
export async function run({ row, progress }: Report): Promise<void> {
  const gamePort = await startGame();
  const apart: Delays[] = [];
  const part: Delays[] = [];
  await linked({ servers: 0, port: gamePort }, async (service, _proxy, { listening }) => {
    const embedded = startRole(0, import.meta.filename, 'embedded', String(gamePort));
    try {
      const port = await message<number>(embedded);
      await roundTrips(listening);
      await roundTrips(port);
      for (let round = 1; round <= ROUNDS; round++) {
        progress(`round ${round} of ${ROUNDS}`);
        apart.push(await delays(service, listening));
        part.push(await delays(embedded, port));
      }
    } finally {
      embedded.kill('SIGKILL');
    }
  });
  const added = (all: Delays[]): number => median(all.map(({ idle, busy }) => busy - idle));
  const note = `${PLAYERS} players, median of ${ROUNDS} rounds; the service is not pinned to a core`;
  row({ figure: 'round trip (p99), idle service', value: median(apart.map(({ idle }) => idle)), unit: 'ms', note });
  row({ figure: `added by a service busy ${BUSY_MS} ms at a time`, value: added(apart), unit: 'ms' });
  row({ figure: 'the same where the proxy is a part of it', value: added(part), unit: 'ms' });
}

async function delays(service: ChildProcess, port: number): Promise<Delays> {
  const idle = await roundTrips(port);
  service.send({ busy: true } satisfies Order);
  const busy = await roundTrips(port);
  service.send({ busy: false } satisfies Order);
  return { idle: quantile(idle, 0.99), busy: quantile(busy, 0.99) };
}

/** Returns the round trips of packets that the game sends back, ms. */
async function roundTrips(port: number): Promise<number[]> {
  const all: number[] = [];
  const sockets = await Promise.all(Array.from({ length: PLAYERS }, () => enter(port)));
  for (const [index, socket] of sockets.entries()) {
    let sentAt = 0;
    socket.on('data', () => all.push(performance.now() - sentAt));
    const send = (): void => {
      sentAt = performance.now();
      socket.write('0123456789abcdef');
    };
    setTimeout(
      () => {
        const timer = setInterval(send, EVERY_MS);
        socket.once('close', () => clearInterval(timer));
      },
      (index * EVERY_MS) / PLAYERS,
    );
  }
  await delay(PHASE_MS);
  for (const socket of sockets) socket.destroy();
  return all;
}

async function enter(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  socket.on('error', () => undefined);
  socket.write(LOGIN);
  await once(socket, 'data');
  return socket;
}

/** Starts a game that sends every byte back. It runs in this process, as its players do. */
async function startGame(): Promise<number> {
  const game = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  game.listen(0, '127.0.0.1').unref();
  await once(game, 'listening');
  return (game.address() as AddressInfo).port;
}

/** Runs a service that relays its players itself. */
async function beEmbedded(gamePort: number): Promise<void> {
  followOrders();
  process.send?.(await proxyTo(gamePort));
}

const [, file, role, argument] = process.argv;
if (file === import.meta.filename && role === 'embedded') await beEmbedded(Number(argument));
