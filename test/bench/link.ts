import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Route } from '../../proxy/ports.ts';
import { createLinkServer } from '../../src/joining/link/link-server.ts';
import { LinkedProxies } from '../../src/joining/link/linked-proxies.ts';
import { HOST, route, running } from '../proxy/support.ts';
import { cpuMs, message, pinningNote, rssBytes, startChild } from './children.ts';
import { inFolder } from './control.ts';
import { type Report, median } from './figures.ts';
import { followOrders } from './orders.ts';

const SERVERS = 10_000;
const ROUNDS = 3;
const STATUS_BYTES = 1_024;
const SETTLE_MS = 3_000;
const MAIN = join(import.meta.dirname, '../../proxy/main.ts');

/** The message of the service's process. */
interface Linked {
  /** The time from the proxy's connection until it knows all servers and listens. */
  wholeMs: number;
  /** The port to which players connect. */
  listening: number;
}
/** The service's data: one game at a port, and this many sleeping servers. */
interface Known {
  servers: number;
  port: number;
}

/** Measures a proxy as a process of its own: the cost of sending it all sleeping servers. */
export async function run(report: Report): Promise<void> {
  const empty: number[] = [];
  const full: { wholeMs: number; rss: number; cpu: number }[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    report.progress(`round ${round} of ${ROUNDS}`);
    await linked({ servers: 0, port: 1 }, async (_service, proxy) => void empty.push(await settled(proxy)));
    await linked({ servers: SERVERS, port: 1 }, async (service, proxy, { wholeMs, cpu }) => {
      full.push({ wholeMs, cpu: cpuMs(service) - cpu, rss: await settled(proxy) });
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
}

/**
 * Runs `work` with a service that has `servers`, a proxy that knows them, and the service's CPU time before the link,
 * ms.
 */
export function linked(
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

/** Runs the service's side of the link. */
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
    bans: { all: () => [], of: () => [], follow: () => silent, refresh: silent },
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
  followOrders();
  process.send?.('ready');
}

function status(n: number): string {
  return JSON.stringify({ version: { name: '1.21.4', protocol: 769 }, favicon: `${n}`.padEnd(STATUS_BYTES - 60, 'x') });
}

const [, file, role, path = '', servers, port] = process.argv;
if (file === import.meta.filename && role === 'service')
  await beService(path, { servers: Number(servers), port: Number(port) });
