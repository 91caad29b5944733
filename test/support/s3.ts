import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import { type AddressInfo, type Socket, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { createOffSite, type OffSite } from '../../src/backups/offsite/offsite.ts';
import { createS3, type S3Options } from '../../src/backups/offsite/s3.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { fastDir } from './fast-dir.ts';
import { S3_SERVER } from './needs.ts';
import { freePort } from './service.ts';

/** A store of the tests' own that speaks S3: VersityGW, on a folder. */
export interface S3UnderTest {
  /** How to reach it. */
  options: S3Options;
  /** Each is a folder below this one. */
  buckets: string;
  /** Where new backups go in a test: a prefix of its own. */
  offSite(prefix: string): OffSite;
  remove(): Promise<void>;
}

export const BUCKET = 'worlds';
const ACCESS = { accessKeyId: 'tester', secretAccessKey: 'tester-secret' };
const START_MS = 240_000;

/** Starts one with an empty bucket, on a port of its own. */
export async function startS3(): Promise<S3UnderTest> {
  const folder = await mkdtemp(join(await fastDir(), 's3-'));
  const buckets = join(folder, 'buckets');
  const notes = join(folder, 'notes');
  for (const each of [join(buckets, BUCKET), notes]) await mkdir(each, { recursive: true });
  const port = await freePort();
  const credentials = ['--access', ACCESS.accessKeyId, '--secret', ACCESS.secretAccessKey];
  // Not every file system of a test keeps extended attributes.
  const given = [...credentials, '--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', notes, buckets];
  const server = spawn(S3_SERVER, given, { stdio: 'ignore' });
  const ended = once(server, 'exit');
  const endpoint = `http://127.0.0.1:${port}`;
  for (const end = Date.now() + START_MS; !(await answers(endpoint)); await delay(50))
    if (Date.now() > end || server.exitCode !== null) throw new Error('the S3 server did not start');
  const options = { ...ACCESS, endpoint, region: 'us-east-1', pathStyle: true, clock: systemClock };
  return {
    options,
    buckets,
    offSite: (prefix) => createOffSite(`s3://${BUCKET}/${prefix}`, createS3(options)),
    async remove() {
      server.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** An address that takes connections and never says anything on them. */
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
 * What befalls a request on its way: nothing; it does not get through; an answer with a status; or a cut after so many bytes of what
 * it sends or is sent, with 0 in place of the answer.
 */
export type Fault = 'away' | { status: number } | { cutSent: number } | { cutReceived: number } | undefined;

/** A way to a store on which things happen. */
export interface BadLine {
  /** The same store, at the other end of the line. */
  options: S3Options;
  /** Asked before each request. */
  fault: (request: IncomingMessage) => Fault;
  /** What a request waits for, before anything befalls it. */
  held: (request: IncomingMessage) => Promise<void> | undefined;
  /** Method and path of each request that has come. */
  seen: string[];
}

/** `fault` is nothing at first. */
export async function badLine(t: ExecutionContext, { options }: S3UnderTest): Promise<BadLine> {
  const target = new URL(options.endpoint);
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
    options: { ...options, endpoint: `http://127.0.0.1:${port}` },
    fault: () => undefined,
    held: () => undefined,
    seen: [],
  };
  return line;
}

/** Passes bytes on, and after so many of them cuts the connection of whoever asked. */
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
