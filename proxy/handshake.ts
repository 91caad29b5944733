import { FrameReader, type Parsed, ProtocolError, readFrame, readVarInt } from './codec.ts';
import { hostBefore } from './hostname.ts';

/** Protocol versions that changed something the proxy reads or writes. */
export const PROTOCOL = {
  V1_8: 47,
  V1_13: 393,
  V1_16: 735,
  V1_19: 759,
  V1_19_1: 760,
  V1_19_3: 761,
  V1_20_2: 764,
  V1_20_5: 766,
  V1_21_2: 768,
  V1_21_6: 771,
  V26_2: 776,
} as const;

/** The newest protocol with a known login and configuration state. */
export const NEWEST_KNOWN = 777;

/** The state the client asks for. `transfer` (since 1.20.5): a login redirected by another server. */
type Intent = 'status' | 'login' | 'transfer';

/** The first packet of every client since 1.7. `raw` is the whole frame as received. */
export interface Handshake {
  kind: 'handshake';
  protocol: number;
  serverAddress: string;
  /** The port the client connected to, which a forwarder may map to ours. */
  serverPort: number;
  intent: Intent;
  raw: Buffer;
}

/** The first byte of a client older than 1.7, or of a newer one's fallback ping. The byte is not consumed yet. */
type LegacyOpening = { kind: 'legacyPing' } | { kind: 'legacyLogin' };

/** `uuid` is the client's claim; null if the protocol has none. `raw` is the whole frame as received. */
export interface LoginStart {
  name: string;
  uuid: string | null;
  raw: Buffer;
}

/** A packet in the status state. `payload` is eight bytes to send back. */
type StatusPacket = { kind: 'request' } | { kind: 'ping'; payload: Buffer };

/** Most characters of a server address, as in the game. */
const SERVER_ADDRESS_UNITS = 32_767;

/**
 * Most bytes of each frame, from the game's own limits on its fields. `handshake` is enough for every client;
 * `forwarded` also holds the player's address, id and skin, which a proxy in front of this one appends to the server
 * address (BungeeCord's and Velocity's legacy forwarding, Floodgate).
 */
export const FRAME_LIMIT = {
  handshake: 1024,
  forwarded: 3 * SERVER_ADDRESS_UNITS + 16,
  loginStart: 8192,
  status: 16,
} as const;

const INTENTS: readonly (Intent | undefined)[] = [undefined, 'status', 'login', 'transfer'];
const NAME_UNITS = 16;
const KEY_BYTES = 512;
const SIGNATURE_BYTES = 4096;
const UUID_BYTES = 16;

/**
 * Parses the start of a new connection. Throws ProtocolError at the first byte that no client would send. Reads a frame
 * longer than a client sends only if `mayForward` accepts the host in its first `FRAME_LIMIT.handshake` bytes
 * (undefined if no forwarded data follows it), so that strangers cannot make the proxy buffer it.
 */
export function readOpening(
  bytes: Buffer,
  mayForward: (host: string | undefined) => boolean,
): Parsed<Handshake | LegacyOpening> | undefined {
  if (bytes[0] === 0xfe) return { value: { kind: 'legacyPing' }, size: 0 };
  if (bytes[0] === 0x02) return { value: { kind: 'legacyLogin' }, size: 0 };
  const length = readVarInt(bytes, 0, 3);
  // The packet id reveals HTTP, TLS, SSH and PROXY headers long before their bytes would complete a frame.
  if (length && bytes.length > length.size && bytes[length.size] !== 0) throw new ProtocolError('not a handshake');
  const isForwarded = length !== undefined && length.value > FRAME_LIMIT.handshake;
  if (isForwarded && bytes.length >= FRAME_LIMIT.handshake && !mayForward(hostAtStart(bytes, length.size)))
    throw new ProtocolError('long handshake for an unknown host');
  const frame = readFrame(bytes, isForwarded ? FRAME_LIMIT.forwarded : FRAME_LIMIT.handshake);
  return frame && { value: parseHandshake(frame.value, bytes.subarray(0, frame.size)), size: frame.size };
}

/** Returns the host at the start of a handshake; undefined if no forwarded data follows it. */
function hostAtStart(bytes: Buffer, offset: number): string | undefined {
  const reader = new FrameReader(bytes.subarray(offset, FRAME_LIMIT.handshake));
  // Packet id, protocol version and the length of the address.
  for (let field = 0; field < 3; field++) reader.varInt();
  return hostBefore(reader.bytes(reader.remaining).toString('utf8'));
}

function parseHandshake(body: Buffer, raw: Buffer): Handshake {
  const reader = new FrameReader(body);
  if (reader.varInt() !== 0) throw new ProtocolError('not a handshake');
  const protocol = reader.varInt();
  const serverAddress = reader.string(SERVER_ADDRESS_UNITS);
  const serverPort = reader.unsignedShort();
  // Exactly one byte, although a VarInt may be longer: `asLogin` rewrites it in place.
  const intent = INTENTS[reader.byte()];
  if (!intent || reader.remaining > 0) throw new ProtocolError('handshake without a known intent');
  return { kind: 'handshake', protocol, serverAddress, serverPort, intent, raw };
}

/**
 * Returns the frame with a transfer changed to a login, because games refuse transfers by default. Other frames are
 * unchanged.
 */
export function asLogin(handshake: Handshake): Buffer {
  if (handshake.intent !== 'transfer') return handshake.raw;
  const bytes = Buffer.from(handshake.raw);
  bytes[bytes.length - 1] = INTENTS.indexOf('login');
  return bytes;
}

/** Reads a Login Start in the form of `protocol`. Protocols newer than the known ones are read like the newest one. */
export function readLoginStart(bytes: Buffer, protocol: number): Parsed<LoginStart> | undefined {
  const frame = readFrame(bytes, FRAME_LIMIT.loginStart);
  if (!frame) return undefined;
  const reader = new FrameReader(frame.value);
  if (reader.varInt() !== 0) throw new ProtocolError('not a login start');
  const name = reader.string(NAME_UNITS);
  return { value: { name, uuid: claimedUuid(reader, protocol), raw: bytes.subarray(0, frame.size) }, size: frame.size };
}

function claimedUuid(reader: FrameReader, protocol: number): string | null {
  // Newer protocols may add fields after the UUID; only the game reads them.
  if (protocol >= PROTOCOL.V1_20_2) return reader.remaining >= UUID_BYTES ? reader.uuid() : null;
  if (protocol < PROTOCOL.V1_19) return null;
  if (protocol < PROTOCOL.V1_19_3 && reader.boolean()) {
    reader.bytes(8);
    reader.byteArray(KEY_BYTES);
    reader.byteArray(SIGNATURE_BYTES);
  }
  return protocol >= PROTOCOL.V1_19_1 && reader.boolean() ? reader.uuid() : null;
}

/** Reads a packet of the status exchange. */
export function readStatusPacket(bytes: Buffer): Parsed<StatusPacket> | undefined {
  const frame = readFrame(bytes, FRAME_LIMIT.status);
  if (!frame) return undefined;
  const reader = new FrameReader(frame.value);
  const id = reader.varInt();
  if (id === 0 && reader.remaining === 0) return { value: { kind: 'request' }, size: frame.size };
  if (id === 1 && reader.remaining === 8)
    return { value: { kind: 'ping', payload: reader.bytes(8) }, size: frame.size };
  throw new ProtocolError('unknown packet in the status state');
}
