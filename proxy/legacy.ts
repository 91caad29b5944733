import { type Parsed, ProtocolError } from './codec.ts';

/** The server list ping of clients before 1.7 (protocol: minecraft.wiki Server List Ping, "Legacy"). */
interface LegacyPing {
  /** The form of the answer. Clients before 1.4 have no field for a version. */
  form: 'beta' | 'extended';
  /** Null unless the client is 1.6 or newer: older ones do not name the server. */
  serverAddress: string | null;
  /** Whether the ping is complete. If not, more bytes of a longer form may follow. */
  complete: boolean;
}

/** The status fields that a client before 1.7 can show. */
export interface LegacyStatus {
  motd: string;
  versionName: string;
  online: number;
  max: number;
}

/** `serverAddress` is null for clients before 1.3. */
interface LegacyLogin {
  serverAddress: string | null;
}

const CHANNEL = utf16('MC|PingHost');
/** Offset of the rest in the 1.6 form: FE 01 FA, u16 length, channel, u16 length of the rest, u8, u16, host, i32. */
const REST_AT = 5 + CHANNEL.length;
const HOST_LENGTH_AT = REST_AT + 3;
const HOST_AT = HOST_LENGTH_AT + 2;
const HOST_UNITS = 255;
const NAME_UNITS = 16;
/** The protocol number that games report to clients too old for them. No release has it, so it never matches. */
const NO_PROTOCOL = 127;

/**
 * Reads the ping as received so far. Each longer form starts with the whole shorter one: the caller answers once the
 * ping is complete or the client stops sending. Throws ProtocolError.
 */
export function readLegacyPing(bytes: Buffer): LegacyPing {
  if (bytes.length === 1) return { form: 'beta', serverAddress: null, complete: false };
  const partial: LegacyPing = { form: 'extended', serverAddress: null, complete: false };
  expect(bytes, 1, Buffer.from([0x01]));
  expect(bytes, 2, Buffer.from([0xfa, 0x00, CHANNEL.length / 2]));
  expect(bytes, 5, CHANNEL);
  if (bytes.length < HOST_AT) return partial;
  const units = bytes.readUInt16BE(HOST_LENGTH_AT);
  if (units > HOST_UNITS || bytes.readUInt16BE(REST_AT) !== 7 + 2 * units) throw new ProtocolError('legacy ping');
  if (bytes.length < HOST_AT + 2 * units + 4) return partial;
  return { ...partial, serverAddress: fromUtf16(bytes.subarray(HOST_AT, HOST_AT + 2 * units)), complete: true };
}

/** Throws unless the bytes received at `offset` match the beginning of `expected`. */
function expect(bytes: Buffer, offset: number, expected: Buffer): void {
  const arrived = bytes.subarray(offset, offset + expected.length);
  if (!arrived.equals(expected.subarray(0, arrived.length))) throw new ProtocolError('legacy ping');
}

/** Reads the login of a client before 1.7: 02, u8 protocol, name, host, i32 port. Throws ProtocolError. */
export function readLegacyLogin(bytes: Buffer): Parsed<LegacyLogin> | undefined {
  if (bytes.length < 2) return undefined;
  // Before 1.3, the name came directly after the first byte, and no name has 256 or more characters.
  if (bytes[1] === 0) return { value: { serverAddress: null }, size: bytes.length };
  const name = readLegacyString(bytes, 2, NAME_UNITS);
  const host = name && readLegacyString(bytes, 2 + name.size, HOST_UNITS);
  if (!host || bytes.length < 2 + name.size + host.size + 4) return undefined;
  return { value: { serverAddress: host.value }, size: 2 + name.size + host.size + 4 };
}

function readLegacyString(bytes: Buffer, offset: number, maxUnits: number): Parsed<string> | undefined {
  if (bytes.length < offset + 2) return undefined;
  const units = bytes.readUInt16BE(offset);
  if (units > maxUnits) throw new ProtocolError('legacy login');
  const size = 2 + 2 * units;
  if (bytes.length < offset + size) return undefined;
  return { value: fromUtf16(bytes.subarray(offset + 2, offset + size)), size };
}

/** Encodes the answer to a ping in the form the client understands. */
export function encodeLegacyStatus(form: LegacyPing['form'], status: LegacyStatus): Buffer {
  const { motd, versionName, online, max } = status;
  if (form === 'beta') return encodeLegacyKick([motd.replaceAll('§', ''), online, max].join('§'));
  return encodeLegacyKick(['§1', NO_PROTOCOL, versionName, motd, online, max].map(withoutNul).join('\0'));
}

/** Encodes a disconnect packet that shows `text` on the client's screen. */
export function encodeLegacyKick(text: string): Buffer {
  const head = Buffer.alloc(3);
  head[0] = 0xff;
  head.writeUInt16BE(text.length, 1);
  return Buffer.concat([head, utf16(text)]);
}

function withoutNul(field: string | number): string {
  return String(field).replaceAll('\0', '');
}

function utf16(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16();
}

function fromUtf16(bytes: Buffer): string {
  return Buffer.from(bytes).swap16().toString('utf16le');
}
