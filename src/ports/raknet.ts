/**
 * RakNet's offline messages: the ping of a server list, and the two requests that begin a connection. Sources:
 * RakNet's MessageIdentifiers.h and RakPeer.cpp, and https://wiki.bedrock.dev/servers/raknet.
 */

/** Begins the body of every offline message. */
const MAGIC = Buffer.from('00ffff00fefefefefdfdfdfd12345678', 'hex');
const ID = { ping: 0x01, openPing: 0x02, request1: 0x05, reply1: 0x06, request2: 0x07, pong: 0x1c } as const;
/** A reply to the first request is this long. Shorter requests get none, so that no answer is longer than its question. */
const REPLY_1_BYTES = 32;
/** IPv4 and UDP headers, which count in the MTU that a client probes. */
const HEADER_BYTES = 28;
/** Limits of the texts in a pong, in UTF-16 units. */
const LINE_CHARS = 60;
const VERSION_CHARS = 20;

/** A message of a client that has no connection yet. */
export type OfflineMessage =
  | { type: 'ping'; time: Buffer }
  | { type: 'request1'; mtu: number }
  | { type: 'request2'; cookie: number };

/** The entry of a server in a Bedrock server list. */
export interface BedrockStatus {
  /** Name and state. `§` codes are allowed. */
  lines: readonly [string, string];
  /** Protocol and version of the Bedrock edition. Clients with another protocol may refuse to join. */
  protocol: number;
  version: string;
  maxPlayers: number;
  /** The public port. */
  port: number;
}

/** Parses a datagram. Returns undefined for other messages, and for those too short to be answered. */
export function readOffline(datagram: Buffer): OfflineMessage | undefined {
  const id = datagram[0];
  if (id === ID.ping || id === ID.openPing) {
    const isWhole = datagram.length >= 25 && datagram.subarray(9, 25).equals(MAGIC);
    return isWhole ? { type: 'ping', time: datagram.subarray(1, 9) } : undefined;
  }
  if (datagram.length < REPLY_1_BYTES || !datagram.subarray(1, 17).equals(MAGIC)) return undefined;
  if (id === ID.request1) return { type: 'request1', mtu: datagram.length + HEADER_BYTES };
  return id === ID.request2 ? { type: 'request2', cookie: datagram.readUInt32BE(17) } : undefined;
}

/** Returns the answer to a ping. `guid`: 8 bytes that identify the server. */
export function pong(time: Buffer, guid: Buffer, status: BedrockStatus): Buffer {
  const [name, state] = status.lines.map((line) => plain(line, LINE_CHARS));
  const { protocol, maxPlayers, port } = status;
  const version = plain(status.version, VERSION_CHARS);
  const id = guid.readBigUInt64BE();
  const text = Buffer.from(
    `MCPE;${name};${protocol};${version};0;${maxPlayers};${id};${state};Survival;1;${port};${port};`,
  );
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length);
  return Buffer.concat([Buffer.of(ID.pong), time, guid, MAGIC, length, text]);
}

/** Returns the answer to the first request. A client proves its address by returning the cookie. */
export function reply1(guid: Buffer, cookie: number, mtu: number): Buffer {
  const rest = Buffer.alloc(7);
  rest.writeUInt8(1);
  rest.writeUInt32BE(cookie, 1);
  rest.writeUInt16BE(Math.min(mtu, 1_492), 5);
  return Buffer.concat([Buffer.of(ID.reply1), MAGIC, guid, rest]);
}

/** Returns a ping. */
export function ping(): Buffer {
  return Buffer.concat([Buffer.of(ID.ping), Buffer.alloc(8), MAGIC, Buffer.alloc(8)]);
}

/** Returns protocol and version of the pong of a running game; undefined for other datagrams. */
export function readPong(datagram: Buffer): Pick<BedrockStatus, 'protocol' | 'version'> | undefined {
  if (datagram[0] !== ID.pong || datagram.length < 35 || !datagram.subarray(17, 33).equals(MAGIC)) return undefined;
  const [edition, , protocol = '', version = ''] = datagram.subarray(35).toString().split(';', 4);
  const isBedrock = edition === 'MCPE' && /^\d{1,5}$/.test(protocol) && /^[\w.]{1,20}$/.test(version);
  return isBedrock ? { protocol: Number(protocol), version } : undefined;
}

/** Returns a text without the separator of a pong's fields and without control characters. */
function plain(text: string, chars: number): string {
  return text
    .replaceAll(/[;\p{Cc}]+/gu, ' ')
    .slice(0, chars)
    .trim();
}
