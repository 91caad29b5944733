import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { handshake, loginStart } from '../proxy/support.ts';
import { cpuMs, message, pinningNote, rssBytes, startRole } from './children.ts';
import { type Report, median } from './figures.ts';
import { HAS_HAPROXY, noHaproxyNote, startHaproxy } from './haproxy.ts';
import { startRelay } from './relay.ts';

const ROUNDS = 3;
/** A proxy runs for weeks, not for the seconds in which its code is still being compiled. */
const WARM_UP = 5_000;
const JOINS = 3_000;
const AT_ONCE = 8;
const PLAYERS = 1_500;
const SETTLE_MS = 2_000;
const LOGIN = Buffer.concat([handshake(767, 'login'), loginStart('Notch')]);
const WELCOME = Buffer.alloc(64, 1);

interface Measured {
  microsPerJoin: number;
  kilobytesPerPlayer: number;
}

interface Work {
  port: number;
  joins: number;
  /** They stay, and do nothing. */
  stay: boolean;
}

/** A join of a game that is up (connect, login, first byte of the game, leave), and the memory of players who are in and idle. */
export async function run({ row, progress }: Report): Promise<void> {
  const load = startRole(1, import.meta.filename, 'load');
  try {
    const gamePort = await message<number>(load);
    const own: Measured[] = [];
    const peer: Measured[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      progress(`round ${round} of ${ROUNDS}`);
      const proxy = startRelay(gamePort);
      try {
        own.push(await measure(load, proxy, await message<number>(proxy)));
      } finally {
        proxy.kill();
      }
      if (!HAS_HAPROXY) continue;
      await using haproxy = await startHaproxy(gamePort);
      peer.push(await measure(load, haproxy.child, haproxy.port));
    }
    const note = [`median of ${ROUNDS} rounds`, pinningNote, noHaproxyNote].filter(Boolean).join('; ');
    const of = (all: Measured[], name: keyof Measured): number => median(all.map((each) => each[name]));
    const [micros, kilobytes] = [of(own, 'microsPerJoin'), of(own, 'kilobytesPerPlayer')];
    row({ figure: 'join, CPU of the proxy each', value: micros, unit: 'µs', note });
    row({ figure: 'joined player who is idle, RSS', value: kilobytes, unit: 'KB', note: `${PLAYERS} of them` });
    if (!HAS_HAPROXY) return;
    row({ figure: 'join ÷ HAProxy, CPU', value: micros / of(peer, 'microsPerJoin'), unit: '1' });
    row({ figure: 'idle player ÷ HAProxy, RSS', value: kilobytes / of(peer, 'kilobytesPerPlayer'), unit: '1' });
  } finally {
    load.kill();
  }
}

async function measure(load: ChildProcess, proxy: ChildProcess, port: number): Promise<Measured> {
  const work = async (joins: number, stay: boolean): Promise<void> => {
    load.send({ port, joins, stay } satisfies Work);
    await message(load);
  };
  await work(WARM_UP, false);
  const cpu = cpuMs(proxy);
  await work(JOINS, false);
  const microsPerJoin = ((cpuMs(proxy) - cpu) * 1_000) / JOINS;
  await delay(SETTLE_MS);
  const before = rssBytes(proxy);
  await work(PLAYERS, true);
  await delay(SETTLE_MS);
  return { microsPerJoin, kilobytesPerPlayer: (rssBytes(proxy) - before) / 1_024 / PLAYERS };
}

/** The game and its players in one process: their cost is the same whoever relays. */
async function beLoad(): Promise<void> {
  const game = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(WELCOME));
    socket.resume();
  });
  game.listen(0, '127.0.0.1');
  await once(game, 'listening');
  process.send?.((game.address() as AddressInfo).port);
  for (;;) {
    const [{ port, joins, stay }] = (await once(process, 'message')) as [Work];
    let left = joins;
    const some = async (): Promise<void> => {
      while (left-- > 0) {
        const socket = await join(port);
        if (!stay) socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, some));
    process.send?.('done');
  }
}

async function join(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  socket.write(LOGIN);
  await once(socket, 'data');
  return socket.on('error', () => undefined);
}

const [, file, role] = process.argv;
if (file === import.meta.filename && role === 'load') await beLoad();
