import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { type Ended, runHere } from './in-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'src/cli/main.ts');

/** A running command. */
export interface Running {
  child: ChildProcessWithoutNullStreams;
  /** Resolves with the words once either stream contains them. Rejects at the end of the program or on a timeout. */
  says(words: string | RegExp, withinMs?: number): Promise<string>;
  ended: Promise<Ended>;
}

/** The program with a fresh home folder. */
export interface Program {
  home: string;
  credentials: string;
  start(args: string[], options?: { env?: Record<string, string>; argv?: string[] }): Running;
  /** Runs a command with `input` and waits for its end. It runs within this process, or as a process of `argv`. */
  run(args: string[], options?: { input?: string; env?: Record<string, string>; argv?: string[] }): Promise<Ended>;
  /** Runs a command with `--json` and returns its document. Fails unless it exits with 0 and prints no error. */
  json<Reply>(...args: string[]): Promise<Reply>;
}

export async function newProgram(t: ExecutionContext, url?: string): Promise<Program> {
  // Each command may be a process, and processes are slow on a busy machine.
  t.timeout(300_000);
  const home = await mkdtemp(join(tmpdir(), 'dormouse-cli-'));
  const running = new Set<ChildProcessWithoutNullStreams>();
  t.teardown(async () => {
    for (const child of running) child.kill('SIGKILL');
    await rm(home, { recursive: true, force: true });
  });

  const environment = (more: Record<string, string>) => ({
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    ...(url === undefined ? {} : { DORMOUSE_URL: url }),
    ...more,
  });

  const program: Program = {
    home,
    credentials: join(home, 'config', 'dormouse', 'credentials.json'),
    start(args, { env = {}, argv = [MAIN] } = {}) {
      const child = spawn(process.execPath, [...argv, ...args], {
        env: { PATH: process.env['PATH'], ...COMPILE_CACHE, ...environment(env) },
      });
      running.add(child);
      return follow(child, () => running.delete(child));
    },
    async run(args, { input = '', env = {}, argv } = {}) {
      if (argv === undefined) return runHere(args, environment(env), input);
      const { child, ended } = program.start(args, { env, argv });
      child.stdin.end(input);
      return ended;
    },
    async json<Reply>(...args: string[]) {
      const { code, out, err } = await program.run([...args, '--json']);
      t.is(code, 0, err);
      t.is(err, '');
      return JSON.parse(out) as Reply;
    },
  };
  return program;
}

/** Collects the output of a process. Calls `gone` at its end. */
export function follow(child: ChildProcessWithoutNullStreams, gone: () => void): Running {
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text));
  // The program may end before it has read all of its input.
  child.stdin.on('error', () => {});
  const ended = once(child, 'close').then(([code]): Ended => {
    gone();
    return { code: code as number | null, ...said };
  });
  return {
    child,
    ended,
    async says(words, withinMs = 240_000) {
      const found = () => {
        const all = said.out + said.err;
        return typeof words === 'string' ? (all.includes(words) ? words : undefined) : words.exec(all)?.[0];
      };
      const heard = Promise.withResolvers<string>();
      const listen = () => {
        const there = found();
        if (there !== undefined) heard.resolve(there);
      };
      const late = () => heard.reject(new Error(`not said: ${words}, but: ${said.out}${said.err}`));
      const timer = setTimeout(late, withinMs);
      child.stdout.on('data', listen);
      child.stderr.on('data', listen);
      child.on('close', late);
      listen();
      try {
        return await heard.promise;
      } finally {
        clearTimeout(timer);
        child.stdout.off('data', listen);
        child.stderr.off('data', listen);
        child.off('close', late);
      }
    },
  };
}

/** A received request. */
export interface Asked {
  method: string;
  /** The path with its query. */
  path: string;
  key: string | undefined;
  lastEventId: string | undefined;
  body: unknown;
  at: number;
}

/** A small HTTP server in place of a service. It records its requests. */
export interface StandIn {
  url: string;
  asked: Asked[];
}

/** Starts a stand-in. `answer` returns a status and a body, or writes the response itself and returns undefined. */
export async function startStandIn(
  t: ExecutionContext,
  answer: (asked: Asked, response: ServerResponse) => [status: number, body: unknown, headers?: object] | undefined,
): Promise<StandIn> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void readAll(request).then((body) => {
      const { method = '', url = '', headers } = request;
      const [key, lastEventId] = ['x-api-key', 'last-event-id'].map((name) => headers[name] as string | undefined);
      const one = { method, path: url, key, lastEventId, body, at: Date.now() };
      asked.push(one);
      const answered = answer(one, response);
      if (answered === undefined) return;
      const [status, reply, more = {}] = answered;
      const isText = typeof reply === 'string';
      response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...more });
      response.end(isText ? reply : JSON.stringify(reply));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

async function readAll(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return text === '' ? undefined : JSON.parse(text);
}
