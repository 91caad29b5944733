import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type Server, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { closedAbove } from '../../src/engines/process/game-user.ts';
import { SANDBOX_ENTRY } from '../../src/engines/sandbox.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { fastDir } from './fast-dir.ts';
import { type FewTest, fewAtATime } from './few.ts';
import { endProxies } from './running-proxies.ts';

/** A Server record as the API gives it; the fields that flows look at. */
export interface ServerRecord {
  id: string;
  state: string;
  addr: string;
  startupPhase: string;
  startupPercent: number;
  startError: string;
  startErrorCode: string;
  startErrorSummary: string;
  bakedAt: string | null;
}

/** The whole service as its users run it: `src/main.ts` in a process of its own, with a data directory of its own. */
export interface Service {
  dataDir: string;
  /** Where players connect on 127.0.0.1. */
  playersPort: number;
  baseUrl: string;
  apiKey: string;
  /** What it logged, line by line as JSON. */
  log: Record<string, unknown>[];
  /** What it said besides, to whoever sits at its terminal. */
  said: string[];
  call<Reply = ServerRecord>(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Creates a sandbox server; `version` decides which clients can join. */
  create(name: string, version: string, more?: object): Promise<ServerRecord>;
  /** Polls until the server is in the state. */
  reach(id: string, state: string, withinMs?: number): Promise<ServerRecord>;
  /** SIGKILL, as a crash or power cut would; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM unless told otherwise; resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /**
   * Starts the process again on the same data and ports, with other settings, or as another program, if given; resolves when it
   * listens.
   */
  start(settings?: Record<string, string>, program?: string[]): Promise<void>;
  /** Runs one of the program's commands, such as `--stop`, on the same data with the same settings. */
  run(args: string[], settings?: Record<string, string>): Promise<{ code: number | null; said: string }>;
}

const ROOT = join(import.meta.dirname, '../..');
const LEASH = join(import.meta.dirname, 'leash.ts');
/** Longer than a service takes to end what it does, on the busiest machine. */
const ENDING_MS = 60_000;
/** Each look is a call, which costs more than what it waits for. */
const LOOK_MS = 250;
/** Without an assertion, on the busiest machine; what does not come is told of sooner by who waits for it. */
const TEST_MS = 600_000;
/** A service and its games are several processes: more of them at once would only be late together. */
const takePlace = fewAtATime(3);

/** Where a service runs: what a command line there begins with, and where its API then is. */
export interface Place {
  command: readonly string[];
  baseUrl: string;
}

/**
 * The test waits until fewer than three others of its file have a service, and has ten minutes from then on.
 * `program` is what Node runs, with its arguments; by default the service itself. `furnish` fills the data folder before the
 * first start, and gives the key of who may call. `place`: elsewhere than in this process's network.
 */
export async function startService(
  t: FewTest & { timeout(ms: number): void },
  env: Record<string, string> = {},
  program: string[] = ['src/start.js'],
  furnish: (dataDir: string) => Promise<string> = async () => '',
  place?: Place,
): Promise<Service> {
  t.timeout(TEST_MS);
  await takePlace(t);
  t.timeout(TEST_MS);
  const dataDir = await mkdtemp(join(env['ENGINE'] === 'docker' ? tmpdir() : await fastDir(), 'dormouse-service-'));
  const [httpPort, playersPort, sftpPort, extra] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(EXTRA_PORTS),
  ]);
  const trusted = await trust();
  const base = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    ...COMPILE_CACHE,
    DATA_DIR: dataDir,
    HTTP_PORT: String(httpPort),
    // One process less; what it is like beside the service, tests of its own show.
    PROXY: 'embedded',
    PROXY_PORT: String(playersPort),
    PROXY_HOST: '127.0.0.1',
    SFTP_PORT: String(sftpPort),
    // Elsewhere than those of other services on this machine.
    EXTRA_PORTS: `${extra}-${extra + EXTRA_PORTS - 1}`,
    ENGINE: 'process',
    ...trusted,
    // Nothing outside this machine is asked for anything.
    FABRIC_META_URL: 'http://127.0.0.1:9/',
    VERSION_MANIFEST_URL: 'http://127.0.0.1:9/',
    MOJANG_API_URL: 'http://127.0.0.1:9/',
    LOG_LEVEL: 'debug',
  };
  let child: ChildProcess | undefined;
  let over = false;

  const service: Service = {
    dataDir,
    playersPort,
    baseUrl: place?.baseUrl ?? `http://127.0.0.1:${httpPort}`,
    apiKey: await furnish(dataDir),
    log: [],
    said: [],
    async call<Reply>(method: string, path: string, body?: unknown): Promise<Reply> {
      const response = await fetch(`${service.baseUrl}${path}`, {
        method,
        headers: { 'x-api-key': service.apiKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const reply = (await response.json()) as Reply;
      if (response.status === 429 && JSON.stringify(reply).includes('RATE_LIMITED')) {
        // Refused before anything was done.
        await delay(Number(response.headers.get('retry-after')) * 1_000);
        return service.call(method, path, body);
      }
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(reply)}`);
      return reply;
    },
    create: (name, version, more = {}) =>
      service.call('POST', '/v1/servers', { name, type: 'sandbox', version, ramMb: 256, ...more }),
    async reach(id, state, withinMs = 240_000) {
      let seen = '';
      for (const end = Date.now() + withinMs; Date.now() < end; await delay(LOOK_MS)) {
        const server = await service.call('GET', `/v1/servers/${id}`).catch((error: unknown) => {
          seen = String(error);
        });
        if (server?.state === state) return server;
        if (server) seen = `${server.state} ${server.startErrorCode} ${server.startErrorSummary} ${server.startError}`;
      }
      throw new Error(`${id} is not ${state} after ${withinMs} ms but: ${seen}`);
    },
    async kill() {
      if (child === undefined || !lives(child)) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    async stop(signal = 'SIGTERM') {
      if (child === undefined || !lives(child)) return child?.exitCode ?? null;
      child.kill(signal);
      const [code] = (await once(child, 'exit')) as [number | null];
      return code;
    },
    async start(settings = env, started = program) {
      if (over) throw new Error('the test is over');
      const [command, ...args] = [...(place?.command ?? []), process.execPath, '--import', LEASH, ...started];
      child = spawn(command!, args, {
        cwd: ROOT,
        env: { ...base, ...settings },
        // Held open by this process alone: see `leash.ts`.
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      let complaint = '';
      child.stderr?.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
      const listening = Promise.withResolvers<void>();
      child.on('exit', (code) => listening.reject(new Error(`the service ended with ${code}: ${complaint}`)));
      createInterface({ input: child.stdout! }).on('line', (line) => {
        if (!line.startsWith('{')) {
          service.said.push(line);
          return;
        }
        const entry = JSON.parse(line) as Record<string, unknown>;
        service.log.push(entry);
        if (process.env['TEST_LOG']) process.stderr.write(`${line}\n`);
        if (entry['msg'] === 'ready') listening.resolve();
      });
      await listening.promise;
      if (service.apiKey === '') {
        const first = JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')) as { apiKey: string };
        service.apiKey = first.apiKey;
      }
    },
    async run(args, settings = {}) {
      const ran = spawn(process.execPath, ['--import', LEASH, ...program, ...args], {
        cwd: ROOT,
        env: { ...base, ...env, ...settings },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      let said = '';
      for (const stream of [ran.stdout, ran.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const [code] = (await once(ran, 'close')) as [number | null];
      return { code, said };
    },
  };

  await service.start();
  t.teardown(async () => {
    // Games outlive the service, so they are deleted through it.
    if (child === undefined || !lives(child)) await service.start().catch(() => undefined);
    const { servers } = await service
      .call<{ servers: ServerRecord[] }>('GET', '/v1/servers')
      .catch(() => ({ servers: [] }));
    for (const { id } of servers) await service.call('DELETE', `/v1/servers/${id}`).catch(() => undefined);
    for (let i = 0; i < 300 && (await erasing(service)); i++) await delay(100);
    // Whatever a test that ran out of time still does, it starts nothing any more.
    over = true;
    const late = setTimeout(() => void service.kill(), ENDING_MS);
    await service.stop();
    clearTimeout(late);
    await endProxies(service);
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });
  return service;
}

/**
 * In a checkout that other users cannot enter, such as one below root's home, root could not confine games. Servers of Java types,
 * whose programs are these tests' own, run there all the same.
 */
export async function trust(): Promise<Record<string, string>> {
  const closed = (await closedAbove(process.execPath)) ?? (await closedAbove(SANDBOX_ENTRY));
  return closed === undefined ? {} : { TRUST_TENANTS: 'true' };
}

function lives({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Whether games are still being removed: the folders go last. */
async function erasing({ dataDir }: Service): Promise<boolean> {
  return (await readdir(join(dataDir, 'servers')).catch(() => [])).length > 0;
}

const PORTS = { from: 12_000, blocks: 130, each: 100 };
/** Games of a service have so many to share. */
export const EXTRA_PORTS = 20;
let block: Promise<{ next: number; end: number }> | undefined;

/**
 * Each file of tests runs in a thread of its own and gets ports of its own, each of them once. A block of them is this thread's
 * for as long as it listens on the last one, whoever else tests on this machine.
 */
async function claimBlock(): Promise<{ next: number; end: number }> {
  const first = process.pid + threadId;
  for (let nth = 0; nth < PORTS.blocks; nth++) {
    const next = PORTS.from + ((first + nth) % PORTS.blocks) * PORTS.each;
    const end = next + PORTS.each - 1;
    const claim = createServer();
    if (await listens(claim, end)) {
      claim.unref();
      return { next, end };
    }
  }
  throw new Error('all blocks of ports are taken');
}

async function listens(server: Server, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    server.on('error', () => resolve(false));
    server.listen(port, '0.0.0.0', () => resolve(true));
  });
}

/**
 * Whether somebody listens. To try by listening would take the port for longer than that: a program that another thread is starting
 * at that moment keeps a copy of the listener for a while.
 */
async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * A port nobody listens on: below those that systems give to outgoing connections and to listeners that ask for any, and
 * below those of games, so that nobody takes it before the caller does, nor while the caller has stopped what listened. With
 * `count` the ones behind it are the caller's, too.
 */
export async function freePort(count = 1): Promise<number> {
  for (;;) {
    const held = (block ??= claimBlock());
    const mine = await held;
    const port = mine.next;
    if (port + count > mine.end) {
      if (block === held) block = undefined;
      continue;
    }
    mine.next += count;
    if (!(await accepts(port))) return port;
  }
}
