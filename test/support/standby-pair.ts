import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ExecutionContext } from 'ava';
import { COMPILE_CACHE } from './compile-cache.ts';
import { endProcess } from './end-process.ts';
import { fastDir } from './fast-dir.ts';
import { NO_SOURCES } from './no-sources.ts';
import { runningGames } from './running-games.ts';
import { endProxies } from './running-proxies.ts';
import { EXTRA_PORTS, type ServerRecord, freePort } from './service.ts';

/** One process of the service, which serves or is on standby. */
export interface Instance {
  child: ChildProcess;
  baseUrl: string;
  /** Its log entries. */
  said: Record<string, unknown>[];
  /** Its standard error. */
  complaint: string;
  /** Resolves with the first log entry that begins with `message`. Rejects if the process ends first. */
  says(message: string): Promise<Record<string, unknown>>;
  /** Resolves once the process waits for the lease, is ready, or has ended. */
  comes(): Promise<'waiting' | 'ready' | 'ended'>;
  /** Resolves with the exit code or the signal. */
  ended: Promise<number | NodeJS.Signals>;
}

/** Two services of one installation. Calls go to the one that serves. */
export interface Pair {
  dataDir: string;
  playersPort: number;
  /** The addresses of the two. */
  urls: readonly string[];
  baseUrl: string;
  apiKey: string;
  call<Reply = ServerRecord>(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Starts a process on one of the two ports. */
  start(place: 0 | 1, settings?: Record<string, string>): Instance;
  /** Sends further calls to this instance. */
  turnTo(instance: Instance): Promise<void>;
}

const ROOT = join(import.meta.dirname, '../..');
const LEASH = join(import.meta.dirname, 'leash.ts');
const OTHER_MACHINE = join(import.meta.dirname, '../fixtures/other-machine/replace.ts');

/**
 * The setting that makes an instance a separate container for the others, which cannot see whether it lives. Use a
 * different text for each.
 */
export const CONTAINER = 'TEST_CONTAINER';

/**
 * Creates an installation for two services. Everything it starts ends with the test. `program`: arguments of `node`.
 */
export async function standbyPair(t: ExecutionContext, env: Record<string, string>, program: string[]): Promise<Pair> {
  const dataDir = await mkdtemp(join(await fastDir(), 'dormouse-standby-'));
  const [one, two, playersPort, sftpPort] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const extra = await freePort(EXTRA_PORTS);
  const ports = [one, two];
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const instances: Instance[] = [];
  t.teardown(async () => {
    for (const { child, ended } of instances) {
      child.kill('SIGKILL');
      await ended;
    }
    await endProxies(pair);
    for (const { pid } of await runningGames(pair)) endProcess(pid);
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  const pair: Pair = {
    dataDir,
    playersPort,
    urls,
    baseUrl: urls[0]!,
    apiKey: '',
    async call<Reply>(method: string, path: string, body?: unknown): Promise<Reply> {
      const response = await fetch(`${pair.baseUrl}${path}`, {
        method,
        headers: { 'x-api-key': pair.apiKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const reply = (await response.json()) as Reply;
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(reply)}`);
      return reply;
    },
    start(place, settings = {}) {
      const instance = run(urls[place]!, program, {
        DATA_DIR: dataDir,
        STANDBY: 'wait',
        HTTP_PORT: String(ports[place]),
        PROXY_HOST: '127.0.0.1',
        PROXY_PORT: String(playersPort),
        SFTP_PORT: String(sftpPort),
        EXTRA_PORTS: `${extra}-${extra + EXTRA_PORTS - 1}`,
        ENGINE: 'process',
        // No request may leave this machine.
        ...NO_SOURCES,
        ...env,
        ...settings,
      });
      instances.push(instance);
      return instance;
    },
    async turnTo(instance) {
      pair.baseUrl = instance.baseUrl;
      if (pair.apiKey !== '') return;
      const first = JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')) as { apiKey: string };
      pair.apiKey = first.apiKey;
    },
  };
  return pair;
}

function run(baseUrl: string, program: string[], env: Record<string, string>): Instance {
  const child = spawn(process.execPath, ['--import', LEASH, '--import', OTHER_MACHINE, ...program], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...COMPILE_CACHE, ...env },
    // Only this process holds it open: see `leash.ts`.
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const waiting = new Set<() => void>();
  const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals);
  let isOver = false;
  const instance: Instance = {
    child,
    baseUrl,
    said: [],
    complaint: '',
    ended,
    async comes() {
      for (;;) {
        const said = instance.said.map(({ msg }) => String(msg));
        if (isOver) return 'ended';
        if (said.includes('ready')) return 'ready';
        if (said.some((msg) => msg.startsWith('standby: waiting for the lease'))) return 'waiting';
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    async says(message) {
      for (;;) {
        const found = instance.said.find(({ msg }) => String(msg).startsWith(message));
        if (found) return found;
        if (isOver) throw new Error(`it ended (${await ended}) without "${message}": ${instance.complaint}`);
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
  };
  const tell = () => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  child.stderr.on('data', (chunk: Buffer) => (instance.complaint += chunk.toString()));
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return;
    if (process.env['TEST_LOG']) process.stderr.write(`${line}\n`);
    instance.said.push(JSON.parse(line) as Record<string, unknown>);
    tell();
  });
  child.once('close', () => {
    isOver = true;
    tell();
  });
  return instance;
}
