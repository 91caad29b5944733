import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Route } from '../../proxy/ports.ts';
import { createLinkServer } from '../../src/joining/link/link-server.ts';
import { LinkedProxies } from '../../src/joining/link/linked-proxies.ts';
import { HOST, handshake, loginStart, route, running } from '../proxy/support.ts';
import { cpuMs, message, pinningNote, rssBytes, startChild } from './children.ts';
import { inFolder } from './control.ts';
import { type Report, median, quantile } from './figures.ts';

const SERVERS = 10_000;
const ROUNDS = 3;
const STATUS_BYTES = 1_024;
const SETTLE_MS = 3_000;
const PLAYERS = 50;
const EVERY_MS = 50;
const PHASE_MS = 3_000;
/** The service is busy for half of the time, 50 ms in a row. */
const BUSY_MS = 50;
const MAIN = join(import.meta.dirname, '../../proxy/main.ts');
const LOGIN = Buffer.concat([handshake(767, 'login'), loginStart('Notch')]);

/** What is said to the service's process, and what it says. */
type Order = { busy: boolean };
interface Linked {
  /** From the first word of the proxy until it knows all and listens. */
  wholeMs: number;
  /** The port players connect to. */
  listening: number;
}
/** What the service knows: one game at a port, and so many sleeping servers. */
interface Known {
  servers: number;
  port: number;
}

/**
 * A proxy as a process of its own: what it costs to tell it all sleeping servers, and what players notice of a service that is busy.
 */
export async function run(report: Report): Promise<void> {
  const port = await startGame();
  const empty: number[] = [];
  const full: { wholeMs: number; rss: number; cpu: number }[] = [];
  const added: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    report.progress(`round ${round} of ${ROUNDS}`);
    await linked({ servers: 0, port }, async (_service, proxy) => void empty.push(await settled(proxy)));
    await linked({ servers: SERVERS, port }, async (service, proxy, { wholeMs, cpu }) => {
      full.push({ wholeMs, cpu: cpuMs(service) - cpu, rss: await settled(proxy) });
    });
    await linked({ servers: 0, port }, async (service, _proxy, { listening }) => {
      service.send({ busy: false } satisfies Order);
      await roundTrips(listening);
      const idle = await roundTrips(listening);
      service.send({ busy: true } satisfies Order);
      added.push(quantile(await roundTrips(listening), 0.99) - quantile(idle, 0.99));
    });
  }
  const note = [`${SERVERS} servers with 1 KB of last status each, median of ${ROUNDS} processes`, pinningNote];
  const of = (name: 'wholeMs' | 'rss' | 'cpu'): number => median(full.map((each) => each[name]));
  report.row({
    figure: 'a new proxy knows all servers and listens',
    value: of('wholeMs'),
    unit: 'ms',
    note: note.filter(Boolean).join('; '),
  });
  report.row({ figure: 'telling it, CPU of the service', value: of('cpu'), unit: 'ms' });
  report.row({ figure: 'knowing it, RSS of the proxy', value: (of('rss') - median(empty)) / 2 ** 20, unit: 'MB' });
  const busy = `of ${PLAYERS} players; the service is not pinned to a core`;
  report.row({ figure: `p99 added by a service busy ${BUSY_MS} ms`, value: median(added), unit: 'ms', note: busy });
}

/** A service that knows `servers`, a proxy that it has told them, and the service's CPU time before that, ms. */
function linked(
  { servers, port }: Known,
  work: (service: ChildProcess, proxy: ChildProcess, known: Linked & { cpu: number }) => Promise<void>,
): Promise<void> {
  return inFolder(async (folder) => {
    const path = join(folder, 'link.sock');
    const args = [import.meta.filename, 'service', path, String(servers), String(port)];
    const service = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    let proxy: ChildProcess | undefined;
    try {
      await message(service);
      const cpu = cpuMs(service);
      const env = { PATH: process.env['PATH'], PROXY_LINK: path, PROXY_HOST: '127.0.0.1', PROXY_PORT: '0' };
      proxy = startChild(0, process.execPath, [MAIN], { env, stdio: ['ignore', 'ignore', 'inherit'] });
      await work(service, proxy, { ...(await message<Linked>(service)), cpu });
    } finally {
      proxy?.kill('SIGKILL');
      service.kill('SIGKILL');
    }
  });
}

async function settled(proxy: ChildProcess): Promise<number> {
  await delay(SETTLE_MS);
  return rssBytes(proxy);
}

/** Of packets that the game gives back, ms. */
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

/** A game that gives every byte back, in this process, as its players are. */
async function startGame(): Promise<number> {
  const game = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  game.listen(0, '127.0.0.1').unref();
  await once(game, 'listening');
  return (game.address() as AddressInfo).port;
}

/** The service's side of the link. */
async function beService(path: string, { servers, port }: Known): Promise<void> {
  const routes = new Map<string, Route>([[HOST, running({ host: '127.0.0.1', port })]]);
  for (let n = 0; n < servers; n++)
    routes.set(
      `server-${n}.example.com`,
      route({ serverId: `server-${n}`, name: `Server ${n}`, lastStatus: status(n) }),
    );
  const silent = (): void => undefined;
  let calledAt = 0;
  const proxies = new LinkedProxies({
    routes: {
      hosts: () => [...routes.keys()],
      at: (host) => routes.get(host),
      nameless: () => null,
      follow: () => silent,
    },
    bans: { all: () => [], of: () => [], follow: () => silent, look: silent },
    wake: { admit: async () => {}, wake: () => Promise.reject(new Error('always awake')) },
    presence: { changed: silent },
    log: { debug: silent, info: silent, warn: silent },
    logLevel: 'info',
    onChange() {
      const [view] = proxies.views();
      if (view?.listening)
        process.send?.({ wholeMs: performance.now() - calledAt, listening: view.listening.port } satisfies Linked);
    },
  });
  proxies.open();
  const timed = Object.create(proxies, {
    connect: {
      value: (...args: Parameters<LinkedProxies['connect']>) => {
        calledAt = performance.now();
        return proxies.connect(...args);
      },
    },
  }) as LinkedProxies;
  await createLinkServer(timed, '').listenAt(path);
  process.on('message', ({ busy }: Order) => busy && void stayBusy());
  process.send?.('ready');
}

function status(n: number): string {
  return JSON.stringify({ version: { name: '1.21.4', protocol: 769 }, favicon: `${n}`.padEnd(STATUS_BYTES - 60, 'x') });
}

async function stayBusy(): Promise<void> {
  for (;;) {
    for (const end = performance.now() + BUSY_MS; performance.now() < end;);
    await delay(BUSY_MS);
  }
}

const [, file, role, path = '', servers, port] = process.argv;
if (file === import.meta.filename && role === 'service')
  await beService(path, { servers: Number(servers), port: Number(port) });
