import { createHash, timingSafeEqual } from 'node:crypto';
import { type Server, type Socket, createServer } from 'node:net';
import type { Log } from './log.ts';

/** Types of packets in the Source RCON protocol. A reply to a login has the type of a command. */
const TYPE_LOGIN = 3;
const TYPE_COMMAND = 2;
const TYPE_REPLY = 0;
const BODY_PER_PACKET = 4_096;
const MAX_REQUEST_BYTES = 4_096 + 10;
const MAX_CONNECTIONS = 16;
const LOGIN_TIMEOUT_MS = 10_000;

/** One packet of the Source RCON protocol. */
interface RconPacket {
  id: number;
  type: number;
  body: Buffer;
}

export interface RconOptions {
  host: string | undefined;
  port: number;
  password: string;
  /** Runs a command and returns its reply. */
  run: (command: string) => string;
  log: Log;
}

/**
 * Starts the remote console (Source RCON), and resolves once it listens. Replies are sent in packets of at most 4096
 * bytes.
 */
export function startRcon({ host, port, password, run, log }: RconOptions): Promise<Server> {
  const server = createServer((socket) => {
    const client = `Thread RCON Client /${(socket.remoteAddress ?? '').replace(/^::ffff:/, '')}`;
    log.info(`${client} started`, 'RCON Listener #1');
    socket.on('close', () => log.info(`${client} shutting down`, 'RCON Listener #1'));
    serve(socket, password, run);
  });
  server.maxConnections = MAX_CONNECTIONS;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      server.on('error', (error) => log.warn(`RCON: ${error.message}`, 'RCON Listener #1'));
      resolve(server);
    });
  });
}

function serve(socket: Socket, password: string, run: (command: string) => string): void {
  let pending: Buffer = Buffer.alloc(0);
  let loggedIn = false;
  const deadline = setTimeout(() => socket.destroy(), LOGIN_TIMEOUT_MS);
  const send = (id: number, type: number, body: Buffer) => socket.write(encodePacket({ id, type, body }));
  const answer = ({ id, type, body }: RconPacket) => {
    if (type === TYPE_LOGIN) {
      loggedIn = equal(body.toString(), password);
      send(loggedIn ? id : -1, TYPE_COMMAND, Buffer.alloc(0));
      if (loggedIn) clearTimeout(deadline);
    } else if (type !== TYPE_COMMAND) {
      send(id, TYPE_REPLY, Buffer.from(`Unknown request ${type.toString(16)}`));
    } else if (loggedIn) {
      for (const part of parts(Buffer.from(run(body.toString())))) send(id, TYPE_REPLY, part);
    } else {
      send(-1, TYPE_COMMAND, Buffer.alloc(0));
    }
  };
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('close', () => clearTimeout(deadline));
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 4 && !socket.destroyed) {
      const length = pending.readInt32LE(0);
      if (length < 10 || length > MAX_REQUEST_BYTES) socket.destroy();
      if (pending.length < length + 4) break;
      answer({ id: pending.readInt32LE(4), type: pending.readInt32LE(8), body: pending.subarray(12, length + 2) });
      pending = pending.subarray(length + 4);
    }
  });
}

function encodePacket({ id, type, body }: RconPacket): Buffer {
  const packet = Buffer.alloc(14 + body.length);
  packet.writeInt32LE(10 + body.length, 0);
  packet.writeInt32LE(id, 4);
  packet.writeInt32LE(type, 8);
  body.copy(packet, 12);
  return packet;
}

/** Splits a reply into at least one part. No part ends inside a character. */
function* parts(reply: Buffer): Generator<Buffer> {
  let rest = reply;
  do {
    let length = Math.min(rest.length, BODY_PER_PACKET);
    while (length < rest.length && (rest[length]! & 0xc0) === 0x80) length--;
    yield rest.subarray(0, length);
    rest = rest.subarray(length);
  } while (rest.length > 0);
}

/** Compares two secrets in constant time. */
export function equal(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
