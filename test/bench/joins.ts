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

const ROUNDS = 5;
/**
 * A proxy runs for weeks. V8 keeps compiling until some 15 000 joins: after 10 000, that still takes a quarter of the
 * time. Of the rest, 44 % is the kernel (connecting to the game, closing, writing), 38 % Node's own streams and
 * handles, 11 % the code of `proxy/`, and 5 % garbage collection.
 */
const WARM_UP = 20_000;
/** Joins before the memory is measured. */
const FEW = 500;
const JOINS = 2_000;
const AT_ONCE = 8;
const PLAYERS = 1_500;
const SETTLE_MS = 2_000;
const LOGIN = Buffer.concat([handshake(767, 'login'), loginStart('Notch')]);
const WELCOME = Buffer.alloc(64, 1);

interface Work {
  port: number;
  joins: number;
  /** Whether the players stay, idle. */
  stay: boolean;
}

interface Started extends AsyncDisposable {
  child: ChildProcess;
  port: number;
}

/**
 * Measures a join of a running game (connect, login, first byte of the game, leave), and the memory of idle players.
 */
export async function run({ row, progress }: Report): Promise<void> {
  const load = startRole(1, import.meta.filename, 'load');
  try {
    const gamePort = await message<number>(load);
    const starts = [() => startOwn(gamePort), ...(HAS_HAPROXY ? [() => startHaproxy(gamePort)] : [])];
    const [micros = NaN, theirMicros = NaN] = await measureJoins(load, starts, progress);
    progress('players who stay');
    const kilobytes: number[] = [];
    for (const start of starts) kilobytes.push(await measureMemory(load, start));
    const [own = NaN, theirs = NaN] = kilobytes;
    const note = [`median of ${ROUNDS} rounds`, pinningNote, noHaproxyNote].filter(Boolean).join('; ');
    row({ figure: 'join, CPU of the proxy each', value: micros, unit: 'µs', note });
    row({ figure: 'joined player who is idle, RSS', value: own, unit: 'KB', note: `${PLAYERS} of them` });
    if (!HAS_HAPROXY) return;
    row({ figure: 'join ÷ HAProxy, CPU', value: micros / theirMicros, unit: '1' });
    row({ figure: 'idle player ÷ HAProxy, RSS', value: own / theirs, unit: '1' });
  } finally {
    load.kill();
  }
}

async function startOwn(gamePort: number): Promise<Started> {
  const child = startRelay(gamePort);
  return { child, port: await message<number>(child), [Symbol.asyncDispose]: async () => void child.kill() };
}

/**
 * Returns the CPU time of a join for each proxy, µs. The proxies alternate, so that other work on the machine affects
 * all alike.
 */
async function measureJoins(
  load: ChildProcess,
  starts: (() => Promise<Started>)[],
  progress: Report['progress'],
): Promise<number[]> {
  await using stack = new AsyncDisposableStack();
  const all: { started: Started; micros: number[] }[] = [];
  progress('warming up');
  for (const start of starts) {
    const started = stack.use(await start());
    await work(load, { port: started.port, joins: all.length === 0 ? WARM_UP : FEW, stay: false });
    all.push({ started, micros: [] });
  }
  for (let round = 1; round <= ROUNDS; round++) {
    progress(`round ${round} of ${ROUNDS}`);
    for (const { started, micros } of all) {
      const cpu = cpuMs(started.child);
      await work(load, { port: started.port, joins: JOINS, stay: false });
      micros.push(((cpuMs(started.child) - cpu) * 1_000) / JOINS);
    }
  }
  return all.map(({ micros }) => median(micros));
}

/** Returns the memory of each player who stays, in KB. */
async function measureMemory(load: ChildProcess, start: () => Promise<Started>): Promise<number> {
  await using started = await start();
  const { child, port } = started;
  await work(load, { port, joins: FEW, stay: false });
  await delay(SETTLE_MS);
  const before = rssBytes(child);
  await work(load, { port, joins: PLAYERS, stay: true });
  await delay(SETTLE_MS);
  return (rssBytes(child) - before) / 1_024 / PLAYERS;
}

async function work(load: ChildProcess, wanted: Work): Promise<void> {
  load.send(wanted);
  await message(load);
}

/** Runs the game and its players in one process. Their cost is the same for every proxy. */
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
