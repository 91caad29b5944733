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
import { NO_SOURCES } from './no-sources.ts';
import { endProxies } from './running-proxies.ts';

/** A server record of the API, with the fields that flows read. */
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

/** The whole service as its users run it, in a process of its own, with a data directory of its own. */
export interface Service {
  dataDir: string;
  /** The port on 127.0.0.1 to which players connect. */
  playersPort: number;
  baseUrl: string;
  apiKey: string;
  /** Log entries, parsed from JSON lines. */
  log: Record<string, unknown>[];
  /** Other lines of standard output, meant for a terminal. */
  said: string[];
  call<Reply = ServerRecord>(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Creates a sandbox server; `version` decides which clients can join. */
  create(name: string, version: string, more?: object): Promise<ServerRecord>;
  /** Polls until the server is in the state. */
  reach(id: string, state: string, withinMs?: number): Promise<ServerRecord>;
  /** Sends SIGKILL, as a crash or power cut would. Resolves when the process has ended. */
  kill(): Promise<void>;
  /** Sends a signal, by default SIGTERM. Resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /**
   * Starts the process again on the same data and ports, if given with other settings or as another program. Resolves
   * when it listens.
   */
  start(settings?: Record<string, string>, program?: string[]): Promise<void>;
  /** Runs one of the program's commands, such as `--stop`, on the same data with the same settings. */
  run(args: string[], settings?: Record<string, string>): Promise<{ code: number | null; said: string }>;
}

const ROOT = join(import.meta.dirname, '../..');
const LEASH = join(import.meta.dirname, 'leash.ts');
/** The longest wait for a service to end its work, enough for the busiest machine. */
const ENDING_MS = 60_000;
/** The pause between two polls. Each poll is a call, which costs more than the change it waits for. */
const LOOK_MS = 250;
/**
 * The timeout of a test, enough for the busiest machine. Functions that wait for something report its absence sooner.
 */
const TEST_MS = 600_000;
/** A service and its games are several processes. More of them at once would only slow each other down. */
const takePlace = fewAtATime(3);

/** The place where a service runs: the beginning of commands there, and the URL of its API. */
export interface Place {
  command: readonly string[];
  baseUrl: string;
}

/**
 * Starts a service. The test waits until fewer than three others of its file have one, and then has ten minutes.
 * `program` is what Node runs, with its arguments. Default: the service itself. `furnish` fills the data folder before
 * the first start, and returns the caller's API key. `place` runs the service outside this process's network.
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
  const [httpPort, playersPort, sftpPort, extra, network] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(EXTRA_PORTS),
    freePort(NETWORK_PORTS),
  ]);
  const trusted = await trust();
  const base = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    ...COMPILE_CACHE,
    DATA_DIR: dataDir,
    HTTP_PORT: String(httpPort),
    // This saves a process. Other tests cover the proxy beside the service.
    PROXY: 'embedded',
    PROXY_PORT: String(playersPort),
    PROXY_HOST: '127.0.0.1',
    SFTP_PORT: String(sftpPort),
    // These ports differ from those of other services on this machine.
    EXTRA_PORTS: `${extra}-${extra + EXTRA_PORTS - 1}`,
    NETWORK_PORTS: `${network}-${network + NETWORK_PORTS - 1}`,
    ENGINE: 'process',
    ...trusted,
    // No request may leave this machine.
    ...NO_SOURCES,
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
        // The call was refused before it had any effect.
        await delay(Number(response.headers.get('retry-after')) * 1_000);
        return service.call(method, path, body);
      }
      if (!response.ok) {
        const why = response.status < 500 ? '' : await loggedFor(service, response.headers.get('x-request-id'));
        throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(reply)}${why}`);
      }
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
        // Only this process holds it open: see `leash.ts`.
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
    // A test that ran out of time may still run, but it can start no further process.
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
 * Returns the setting for a checkout that other users cannot enter, such as one below root's home. Root cannot confine
 * games there. The setting still lets servers of Java types run, whose programs belong to these tests.
 */
export async function trust(): Promise<Record<string, string>> {
  const closed = (await closedAbove(process.execPath)) ?? (await closedAbove(SANDBOX_ENTRY));
  return closed === undefined ? {} : { TRUST_TENANTS: 'true' };
}

/** Returns what the service logged about a request. Answers do not contain the causes of failures. */
async function loggedFor(service: Service, requestId: string | null): Promise<string> {
  await delay(LOOK_MS);
  const entries = service.log.filter((entry) => entry['requestId'] === requestId);
  return entries.map((entry) => `\n${JSON.stringify(entry)}`).join('');
}

function lives({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Returns whether games are still being removed. Their folders are removed last. */
async function erasing({ dataDir }: Service): Promise<boolean> {
  return (await readdir(join(dataDir, 'servers')).catch(() => [])).length > 0;
}

const PORTS = { from: 12_000, blocks: 130, each: 100 };
/** The number of extra ports that the games of a service share. */
export const EXTRA_PORTS = 20;
/** The number of ports for private backends. */
const NETWORK_PORTS = 3;
let block: Promise<{ next: number; end: number }> | undefined;

/**
 * Claims a block of ports for this thread. Each test file runs in a thread of its own and uses each port once. The
 * block belongs to the thread for as long as it listens on the last port, whatever other tests run on this machine.
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
 * Returns whether a program listens on the port. An attempt to listen would occupy the port for longer: a program that
 * another thread starts at that moment keeps a copy of the listener for a while.
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
 * Returns a free port. It is below the ports that systems assign to outgoing connections and to listeners on any port,
 * and below those of games. So no other program takes it before the caller listens, or while the caller's listener is
 * stopped. With `count`, the ports after it are also the caller's.
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
