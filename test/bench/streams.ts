import { once } from 'node:events';
import { type AddressInfo, type Socket, connect } from 'node:net';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import Koa from 'koa';
import type { LogLine, LogQuery } from '../../src/engines/engine.ts';
import { createAccessChanges } from '../../src/http/access-changes.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { FULL_SCOPES } from '../../src/http/scopes.ts';
import { dataFrame, sendEvents } from '../../src/http/sse.ts';
import { createLogStreams } from '../../src/insight/log-streams.ts';
import { createLog } from '../../src/kernel/log.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { mintKey } from '../../src/access/keys.ts';
import { insertKey } from '../../src/access/key-rows.ts';
import { insertAccount, insertUser } from '../../src/accounts/rows.ts';
import { serverRow } from '../support/world.ts';
import { message, rssBytes, startChild } from './children.ts';
import { BENCH, inFolder, openControl, readyGames } from './control.ts';
import { type Report, median } from './figures.ts';
import { startService } from './service.ts';

const IDLE = 1_000;
/** The open streams of one account, of one of its keys, and of one address (well below its limit). */
const PER_ACCOUNT = 10;
const PER_KEY = 3;
const PER_ADDRESS = 100;
const SETTLE_MS = 3_000;

const LOG_BYTES = 200 * 1024 * 1024;
const BYTES_A_SECOND = 10 * 1024 * 1024;
const LINE = `[12:34:56] [Server thread/INFO]: ${'x'.repeat(95)}`;
const ONCE_A_LINE = '/'.charCodeAt(0);
const THE_END = 'the end';
const LINES = Math.floor(LOG_BYTES / (LINE.length + 1));
/** Lines printed at once. */
const BURST = 500;
const READERS = 9;
const LEFT_OUT = 'data: [left out]\n\n';

/** Measures event streams that wait, and a fast log on ten streams, including one that is never read. */
export async function run(report: Report): Promise<void> {
  await idle(report);
  await pour(report);
}

async function idle(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    const streams = await prepareStreams(folder);
    const service = await startService(0, folder);
    const sockets: Socket[] = [];
    try {
      const open = async (some: typeof streams) => {
        for (const { key, serverId } of some) {
          const localAddress = `127.0.1.${1 + Math.floor(sockets.length / PER_ADDRESS)}`;
          sockets.push(await openStream(service.httpPort, pathOf(serverId), { key, localAddress }));
        }
      };
      // The first streams include one-time costs.
      await open(streams.slice(0, PER_ACCOUNT));
      await delay(SETTLE_MS);
      const before = rssBytes(service.child);
      await open(streams.slice(PER_ACCOUNT));
      await delay(SETTLE_MS);
      const grown = rssBytes(service.child) - before;
      const value = grown / 1_024 / (streams.length - PER_ACCOUNT);
      report.row({ figure: 'idle event stream, RSS', value, unit: 'KB', note: `${IDLE} of them` });
    } finally {
      for (const socket of sockets) socket.destroy();
      await service.stop();
    }
  });
}

/**
 * Creates a database with enough accounts, servers and keys that each stream is within the limits. Returns the streams
 * to open.
 */
async function prepareStreams(folder: string): Promise<{ key: string; serverId: string }[]> {
  const control = await openControl(folder, readyGames({ host: '127.0.0.1', port: 1 }));
  const createdAt = Date.now();
  const streams: { key: string; serverId: string }[] = [];
  for (let nth = 0; nth < IDLE / PER_ACCOUNT; nth++) {
    const [accountId, userId, serverId] = [`acc_${nth}`, `usr_${nth}`, `server-${nth}`];
    const wanted = { name: 'bench', userId, accountId, scopes: FULL_SCOPES, expiresAt: null, createdAt };
    const keys = Array.from({ length: Math.ceil(PER_ACCOUNT / PER_KEY) }, () => mintKey(wanted));
    const user = { id: userId, email: `${nth}@localhost`, emailVerified: true, passwordHash: '', operator: false };
    await control.store.write(async (tx) => {
      await insertAccount(tx, { id: accountId, name: 'bench', createdAt });
      await insertUser(tx, { ...user, accountId, createdAt });
      for (const { row } of keys) await insertKey(tx, row);
    });
    await control.servers.create(serverRow(serverId, accountId), BENCH);
    for (let stream = 0; stream < PER_ACCOUNT; stream++)
      streams.push({ key: keys[Math.floor(stream / PER_KEY)]!.key, serverId });
  }
  await control.close();
  return streams;
}

function pathOf(serverId: string): string {
  return `/v1/servers/${serverId}/events/stream`;
}

/**
 * Resolves with the socket once the stream has begun. It discards further data, unless the caller pauses the socket.
 */
async function openStream(port: number, path: string, { key = '', localAddress = '127.0.0.1' } = {}): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${key}\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  if (!first.toString().startsWith('HTTP/1.1 200')) throw new Error(`answered: ${first.toString().slice(0, 200)}`);
  // The server closes first, so errors are ignored.
  return socket.on('error', () => {}).resume();
}

async function pour(report: Report): Promise<void> {
  const child = startChild(0, process.execPath, ['--expose-gc', import.meta.filename, 'pour']);
  const sockets: Socket[] = [];
  try {
    const port = await message<number>(child);
    const stuck = await openStream(port, '/log');
    stuck.pause();
    sockets.push(stuck);
    const done: Promise<number>[] = [];
    for (let reader = 0; reader < READERS; reader++) {
      const socket = await openStream(port, '/log');
      sockets.push(socket);
      done.push(linesUntil(socket, LINES));
    }
    const before = rssBytes(child);
    let most = before;
    const looks = setInterval(() => (most = Math.max(most, rssBytes(child))), 100);
    const begun = performance.now();
    child.send('go');
    const heapBefore = await message<number>(child);
    const lines = await Promise.all(done);
    const seconds = (performance.now() - begun) / 1_000;
    clearInterval(looks);
    const note = `${READERS} that read and one that never does, ${Math.round(BYTES_A_SECOND / 2 ** 20)} MB printed a second at most`;
    const missed = lines.map((count) => ((LINES - count) * 100) / LINES);
    report.row({ figure: '200 MB of log through 10 streams', value: seconds, unit: 's', note });
    report.row({ figure: 'lines that readers miss, median', value: median(missed), unit: '%' });
    report.row({ figure: 'lines that readers miss, most', value: Math.max(...missed), unit: '%' });
    report.row({ figure: 'memory meanwhile, garbage included', value: (most - before) / 2 ** 20, unit: 'MB' });
    const kept = (await message<number>(child)) - heapBefore;
    report.row({ figure: 'memory that stays, the stuck stream open', value: kept / 2 ** 20, unit: 'MB' });
  } finally {
    for (const socket of sockets) socket.destroy();
    child.kill();
  }
}

/** Counts the received lines of the log, until its last line or the end of the stream. */
function linesUntil(socket: Socket, last: number): Promise<number> {
  return new Promise((resolve) => {
    let lines = 0;
    socket.on('close', () => resolve(lines));
    socket.on('data', (chunk) => {
      for (let at = chunk.indexOf(ONCE_A_LINE); at >= 0; at = chunk.indexOf(ONCE_A_LINE, at + 1)) lines++;
      if (lines >= last || chunk.includes(THE_END)) resolve(lines);
    });
  });
}

/** Serves a log of one server, which begins at a message from the parent. */
async function bePour(): Promise<void> {
  const go = once(process, 'message');
  async function* logs(_: string, { follow }: LogQuery = {}): AsyncGenerator<LogLine> {
    if (follow) yield* pouring();
    else yield { position: '0', text: 'begins' };
  }
  async function* pouring(): AsyncGenerator<LogLine> {
    await go;
    process.send?.(heapBytes());
    for (let nth = 1; nth <= LINES; nth++) {
      yield { position: String(nth), text: LINE };
      // The rate is capped, so that a reader that was delayed for a moment does not face a backlog.
      if (nth % BURST === 0) await delay((BURST * (LINE.length + 1) * 1_000) / BYTES_A_SECOND);
    }
    yield { position: 'end', text: THE_END };
    await delay(SETTLE_MS);
    process.send?.(heapBytes());
    await new Promise(() => {});
  }
  const log = createLog({ level: 'silent' });
  const streams = createLogStreams({ logs }, dataFrame, log);
  const watcher = {
    principal: {
      kind: 'key',
      keyId: 'key',
      userId: 'usr',
      accountId: 'acc',
      operator: false,
      serverIds: null,
    } as const,
    check: async () => {},
  };
  const services = { clock: systemClock, accessChanges: createAccessChanges() };
  const app = new Koa().use(async (ctx) => {
    const follow = await streams.open('server');
    const source = { play: (sink: Parameters<typeof follow>[0]) => follow(sink, 100), overflow: () => LEFT_OUT };
    sendEvents(ctx, source, { ...watcher, principal: { ...watcher.principal, scopes: new Set() } }, services);
  });
  // Disconnected clients need no log.
  app.silent = true;
  const server = createHttpServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
}

function heapBytes(): number {
  global.gc?.();
  return process.memoryUsage().heapUsed;
}

const [, file, role] = process.argv;
if (file === import.meta.filename && role === 'pour') await bePour();
