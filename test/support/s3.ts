import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import { type AddressInfo, type Socket, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { fastDir } from './fast-dir.ts';
import { S3_SERVER } from './needs.ts';
import { freePort } from './service.ts';

/** An S3 store for tests: VersityGW, on a folder. */
export interface S3UnderTest {
  /** Its address. */
  endpoint: string;
  /** The folder that holds each bucket as a folder. */
  buckets: string;
  remove(): Promise<void>;
}

export const BUCKET = 'worlds';
/** The credentials, as environment variables. */
export const S3_ACCESS = { AWS_ACCESS_KEY_ID: 'tester', AWS_SECRET_ACCESS_KEY: 'tester-secret' };
const START_MS = 240_000;

/** Starts a store with an empty bucket, on a free port. */
export async function startS3(): Promise<S3UnderTest> {
  const folder = await mkdtemp(join(await fastDir(), 's3-'));
  const buckets = join(folder, 'buckets');
  const notes = join(folder, 'notes');
  for (const each of [join(buckets, BUCKET), notes]) await mkdir(each, { recursive: true });
  const port = await freePort();
  const credentials = ['--access', S3_ACCESS.AWS_ACCESS_KEY_ID, '--secret', S3_ACCESS.AWS_SECRET_ACCESS_KEY];
  // Some file systems of tests have no extended attributes, so metadata is stored in a folder beside the buckets.
  const given = [...credentials, '--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', notes, buckets];
  const server = spawn(S3_SERVER, given, { stdio: 'ignore' });
  const ended = once(server, 'exit');
  const endpoint = `http://127.0.0.1:${port}`;
  for (const end = Date.now() + START_MS; !(await answers(endpoint)); await delay(50))
    if (Date.now() > end || server.exitCode !== null) throw new Error('the S3 server did not start');
  return {
    endpoint,
    buckets,
    async remove() {
      server.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns an address that accepts connections and never answers. */
export async function silentStore(t: ExecutionContext): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => sockets.add(socket.on('error', () => {}).resume()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function answers(endpoint: string): Promise<boolean> {
  return await fetch(endpoint).then(
    () => true,
    () => false,
  );
}

/**
 * The fault of a request: none; a reset connection; an answer with a status; or a cut after this many bytes that it
 * sends or receives. With 0 received bytes, the cut replaces the answer.
 */
export type Fault = 'away' | { status: number } | { cutSent: number } | { cutReceived: number } | undefined;

/** A connection to a store on which faults occur. */
export interface BadLine {
  /** The address of the same store through this connection. */
  endpoint: string;
  /** Returns the fault of a request. */
  fault: (request: IncomingMessage) => Fault;
  /** Returns a promise that a request waits for, before any fault occurs. */
  held: (request: IncomingMessage) => Promise<void> | undefined;
  /** Method and path of each received request. */
  seen: string[];
}

/** Opens a connection without faults. A test sets `fault` later. */
export async function badLine(t: ExecutionContext, { endpoint }: { endpoint: string }): Promise<BadLine> {
  const target = new URL(endpoint);
  const server = createServer((from, to) => {
    line.seen.push(`${from.method} ${from.url}`);
    const held = line.held(from);
    if (held) void held.then(() => pass(from, to));
    else pass(from, to);
  });
  const pass = (from: IncomingMessage, to: ServerResponse): void => {
    const fault = line.fault(from);
    if (fault === 'away') return void from.socket.resetAndDestroy();
    if (fault && 'status' in fault) return refuse(from, to, fault.status);
    const { method, url: path, headers } = from;
    const onwards = request({ host: target.hostname, port: target.port, method, path, headers });
    onwards.on('error', () => from.destroy());
    onwards.on('response', (answer) => {
      if (fault && 'cutReceived' in fault && fault.cutReceived === 0) {
        answer.destroy();
        from.socket.resetAndDestroy();
      } else {
        to.writeHead(answer.statusCode ?? 502, answer.headers);
        passOn(answer, to, fault && 'cutReceived' in fault ? fault.cutReceived : Infinity, from);
      }
    });
    passOn(from, onwards, fault && 'cutSent' in fault ? fault.cutSent : Infinity, from);
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const line: BadLine = {
    endpoint: `http://127.0.0.1:${port}`,
    fault: () => undefined,
    held: () => undefined,
    seen: [],
  };
  return line;
}

/** Passes bytes on. After `bytes` of them it cuts the requester's connection. */
function passOn(from: IncomingMessage, to: NodeJS.WritableStream, bytes: number, asked: IncomingMessage): void {
  let left = bytes;
  from.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) {
      asked.socket.resetAndDestroy();
      from.destroy();
      to.end();
    } else if (!to.write(chunk)) {
      from.pause();
      to.once('drain', () => from.resume());
    }
  });
  from.on('end', () => to.end());
  from.on('error', () => to.end());
}

function refuse(from: IncomingMessage, to: ServerResponse, status: number): void {
  from.resume();
  from.on('end', () => {
    to.writeHead(status, { 'content-type': 'application/xml' });
    to.end(
      '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
    );
  });
}
