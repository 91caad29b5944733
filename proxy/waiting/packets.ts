import { randomBytes } from 'node:crypto';
import { FrameReader, ProtocolError, encodeFrame, encodeString, encodeVarInt } from '../codec.ts';
import { PROTOCOL } from '../handshake.ts';
import { type TextComponent, toComponent } from '../text.ts';

/**
 * The packets that keep a logged-in client in the configuration state and transfer it. Their ids and fields have not
 * changed since they were introduced: dialogs in 1.21.6, all others in 1.20.5. minecraft-data confirms this up to 26.1;
 * 26.2 changed only the login success.
 */
const FROM_US = {
  customPayload: 0x01,
  disconnect: 0x02,
  keepAlive: 0x04,
  transfer: 0x0b,
  clearDialog: 0x11,
  showDialog: 0x12,
} as const;
const FROM_CLIENT = { keepAlive: 0x04, customClick: 0x08 } as const;
const LOGIN_SUCCESS = 0x02;
const LOGIN_ACKNOWLEDGED = 0x03;
const BRAND_CHANNEL = 'minecraft:brand';
const ID_UNITS = 32_767;

/** The relevant packets of the configuration state. */
type ClientPacket = { kind: 'keepAlive'; id: bigint } | { kind: 'click'; id: string } | { kind: 'other' };

/** Encodes the packet that completes the login under the claimed name and UUID. The caller encrypts it if necessary. */
export function loginSuccess(uuid: string, name: string, protocol: number): Buffer {
  const fields = [Buffer.from(uuid.replaceAll('-', ''), 'hex'), encodeString(name), encodeVarInt(0)];
  // "Strict error handling".
  if (protocol >= PROTOCOL.V1_20_5 && protocol < PROTOCOL.V1_21_2) fields.push(Buffer.from([0]));
  // Session id.
  if (protocol >= PROTOCOL.V26_2) fields.push(randomBytes(16));
  return encodeFrame(LOGIN_SUCCESS, ...fields);
}

/** Reports whether this is the answer to Login Success, after which the configuration state begins. */
export function isAcknowledgement(body: Buffer): boolean {
  return body.length === 1 && body[0] === LOGIN_ACKNOWLEDGED;
}

export function brand(name: string): Buffer {
  return encodeFrame(FROM_US.customPayload, encodeString(BRAND_CHANNEL), encodeString(name));
}

export function keepAlive(id: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(id);
  return encodeFrame(FROM_US.keepAlive, bytes);
}

/** Replaces the open dialog. */
export function showDialog(dialog: NbtCompound): Buffer {
  return encodeFrame(FROM_US.showDialog, encodeNbt(dialog));
}

export function clearDialog(): Buffer {
  return encodeFrame(FROM_US.clearDialog);
}

/** Makes the client reconnect to `host` and `port`. Its handshake then has the intent `transfer`. */
export function transfer(host: string, port: number): Buffer {
  return encodeFrame(FROM_US.transfer, encodeString(host), encodeVarInt(port));
}

/** Ends the connection and shows a text on the client's screen; `§` codes are allowed. */
export function disconnect(text: string, protocol: number): Buffer {
  return encodeFrame(FROM_US.disconnect, encodeNbt(componentNbt(toComponent(text, protocol))));
}

/** Encodes a text component for packets of this state. */
export function componentNbt({ extra, ...own }: TextComponent): NbtCompound {
  return { ...own, extra: extra?.map(componentNbt) };
}

/** Reads a client packet. Throws ProtocolError if it is shorter than its fields. */
export function readClientPacket(body: Buffer): ClientPacket {
  const reader = new FrameReader(body);
  switch (reader.varInt()) {
    case FROM_CLIENT.keepAlive: {
      const id = reader.bytes(8).readBigInt64BE();
      if (reader.remaining > 0) throw new ProtocolError('keep-alive with more than its id');
      return { kind: 'keepAlive', id };
    }
    case FROM_CLIENT.customClick:
      return { kind: 'click', id: reader.string(ID_UNITS) };
    default:
      return { kind: 'other' };
  }
}

/**
 * The values that the proxy writes as NBT: text, 32-bit integers, booleans, lists of one type, and compounds. Undefined
 * fields of compounds are omitted.
 */
export type Nbt = string | number | boolean | readonly Nbt[] | NbtCompound;

export interface NbtCompound {
  readonly [name: string]: Nbt | undefined;
}

const TAG = { end: 0, byte: 1, int: 3, string: 8, list: 9, compound: 10 } as const;
const STRING_BYTES = 0xffff;

/**
 * Encodes `root` as in packets since 1.20.2: type and content, without a name. Throws RangeError if a string or number
 * is too large, and TypeError if a list mixes types.
 */
export function encodeNbt(root: NbtCompound): Buffer {
  const parts: Buffer[] = [Buffer.from([TAG.compound])];
  writeContent(root, parts);
  return Buffer.concat(parts);
}

function tagOf(value: Nbt): number {
  if (typeof value === 'string') return TAG.string;
  if (typeof value === 'boolean') return TAG.byte;
  if (typeof value === 'number') return TAG.int;
  return Array.isArray(value) ? TAG.list : TAG.compound;
}

function writeContent(value: Nbt, parts: Buffer[]): void {
  if (typeof value === 'string') writeString(value, parts);
  else if (typeof value === 'boolean') parts.push(Buffer.from([value ? 1 : 0]));
  else if (typeof value === 'number') parts.push(int(value));
  else if (isList(value)) writeList(value, parts);
  else writeFields(value, parts);
}

function isList(value: readonly Nbt[] | NbtCompound): value is readonly Nbt[] {
  return Array.isArray(value);
}

function writeList(items: readonly Nbt[], parts: Buffer[]): void {
  const [first] = items;
  const tag = first === undefined ? TAG.end : tagOf(first);
  parts.push(Buffer.from([tag]), int(items.length));
  for (const item of items) {
    if (tagOf(item) !== tag) throw new TypeError('a list with items of different types');
    writeContent(item, parts);
  }
}

function writeFields(fields: NbtCompound, parts: Buffer[]): void {
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    parts.push(Buffer.from([tagOf(value)]));
    writeString(name, parts);
    writeContent(value, parts);
  }
  parts.push(Buffer.from([TAG.end]));
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function writeString(text: string, parts: Buffer[]): void {
  const bytes = modifiedUtf8(text);
  if (bytes.length > STRING_BYTES) throw new RangeError(`a string of ${bytes.length} bytes`);
  parts.push(Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes);
}

/** Encodes Java's modified UTF-8: each UTF-16 unit separately, without zero bytes. */
function modifiedUtf8(text: string): Buffer {
  const bytes: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0 && unit < 0x80) bytes.push(unit);
    else if (unit < 0x800) bytes.push(0xc0 | (unit >> 6), 0x80 | (unit & 0x3f));
    else bytes.push(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f));
  }
  return Buffer.from(bytes);
}
