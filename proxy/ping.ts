import { connect } from 'node:net';
import { encodeFrame, encodeString, encodeVarInt, FrameReader, readFrame, readVarInt } from './codec.ts';
import type { Address } from './ports.ts';

/** A game's status. Missing or invalid fields are 0 and ''; players are 0 to 2^31 - 1. */
export interface StatusAnswer {
  playersOnline: number;
  playersMax: number;
  versionName: string;
  protocol: number;
  /** The status JSON as the game sent it. */
  raw: string;
  /** The bytes that a mod added after the JSON, in the same packet. */
  tail: Buffer;
}

/** The longest status JSON a client accepts, in UTF-16 units (protocol: Status Response). */
export const STATUS_JSON_UNITS = 32_767;

export const FRAME_BYTES = STATUS_JSON_UNITS * 3 + 8;
const UNKNOWN_PROTOCOL = -1;
const NO_BYTES = Buffer.alloc(0);
const MOST = 2 ** 31 - 1;

/**
 * Requests a game's status as a client's server list does. Rejects with a socket error, a ProtocolError, a SyntaxError
 * if the JSON is invalid, or a timeout. Memory is bounded by the longest answer that a client would accept.
 *
 * `timeoutMs` limits the whole exchange, including name lookup. `protocol`: the version of the request; by default,
 * games answer with their own. `host`: the server address in the handshake.
 */
export function pingStatus(
  address: Address,
  {
    protocol = UNKNOWN_PROTOCOL,
    host = address.host,
    timeoutMs,
  }: { protocol?: number; host?: string; timeoutMs: number },
): Promise<StatusAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...address, noDelay: true });
    const finish = (outcome: () => void): void => {
      clearTimeout(timer);
      socket.destroy();
      outcome();
    };
    const fail = (error: Error): void => finish(() => reject(error));
    const timer = setTimeout(() => fail(new Error(`no status within ${timeoutMs} ms`)), timeoutMs);
    const chunks: Buffer[] = [];
    let received = 0;
    let needed = 1;
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('closed before the status was complete')));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      received += chunk.length;
      // Joins the chunks only when the answer may be complete: joining at every chunk would copy all bytes each time.
      if (received < needed) return;
      try {
        const bytes = Buffer.concat(chunks.splice(0));
        const answer = parseAnswer(bytes);
        if (answer) return finish(() => resolve(answer));
        chunks.push(bytes);
        const length = readVarInt(bytes, 0, 3);
        needed = length ? length.size + length.value : received + 1;
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)));
      }
    });
    socket.write(statusRequest(protocol, host, address.port));
  });
}

function statusRequest(protocol: number, host: string, port: number): Buffer {
  const portBytes = Buffer.alloc(2);
  portBytes.writeUInt16BE(port);
  const handshake = encodeFrame(0, encodeVarInt(protocol), encodeString(host), portBytes, encodeVarInt(1));
  return Buffer.concat([handshake, encodeFrame(0)]);
}

function parseAnswer(bytes: Buffer): StatusAnswer | undefined {
  const frame = readFrame(bytes, FRAME_BYTES);
  if (!frame) return undefined;
  const reader = new FrameReader(frame.value);
  const id = reader.varInt();
  if (id !== 0) throw new Error(`packet ${id} in place of a status`);
  const raw = reader.string(STATUS_JSON_UNITS);
  return parseStatus(raw, reader.bytes(reader.remaining));
}

/** Parses the parts of a status JSON that the service reads. Throws SyntaxError if it is not a JSON object. */
export function parseStatus(raw: string, tail: Buffer = NO_BYTES): StatusAnswer {
  const status: unknown = JSON.parse(raw);
  if (typeof status !== 'object' || status === null) throw new SyntaxError('a status that is not an object');
  const players = field(status, 'players');
  const version = field(status, 'version');
  return {
    playersOnline: count(field(players, 'online')),
    playersMax: count(field(players, 'max')),
    versionName: text(field(version, 'name')),
    protocol: integer(field(version, 'protocol')),
    raw,
    tail,
  };
}

/** Returns a property of a JSON value of unknown shape; undefined if it has no such property. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** Limits a count from a game or plugin to the int range of Java clients and of the API. */
function count(value: unknown): number {
  return Math.min(Math.max(0, integer(value)), MOST);
}

function integer(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
