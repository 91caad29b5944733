/**
 * Packets before compression and encryption (protocol: minecraft.wiki Java Edition protocol, "Packet format"). Reads
 * frames without copying them. Every length is checked against its bound before the bytes after it are read.
 */

/** The bytes violate the protocol. Never thrown just because more bytes are needed. */
export class ProtocolError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProtocolError';
  }
}

/** A value and the number of bytes it occupied. */
export interface Parsed<T> {
  value: T;
  size: number;
}

/** Parses the start of `bytes`. Returns undefined if more bytes are needed. Throws ProtocolError. */
export type Parse<T> = (bytes: Buffer) => Parsed<T> | undefined;

/** Frame lengths have at most three bytes (21 bits), values at most five. */
const FRAME_LENGTH_BYTES = 3;
const VAR_INT_BYTES = 5;

/**
 * Reads the two's complement VarInt at `offset`. Returns undefined while it is incomplete. Throws ProtocolError if
 * overlong.
 */
export function readVarInt(bytes: Buffer, offset = 0, maxBytes = VAR_INT_BYTES): Parsed<number> | undefined {
  let value = 0;
  for (let index = 0; index < maxBytes; index++) {
    const byte = bytes[offset + index];
    if (byte === undefined) return undefined;
    value |= (byte & 0x7f) << (7 * index);
    if (byte < 0x80) {
      if (index === VAR_INT_BYTES - 1 && byte > 0x0f) throw new ProtocolError('VarInt wider than 32 bits');
      return { value, size: index + 1 };
    }
  }
  throw new ProtocolError(`VarInt longer than ${maxBytes} bytes`);
}

/**
 * Returns the body (packet id and data) of the frame at the start of `bytes`, as a view; undefined while it is
 * incomplete. Throws ProtocolError as soon as the length is known to be 0 or above `maxLength` bytes.
 */
export function readFrame(bytes: Buffer, maxLength: number): Parsed<Buffer> | undefined {
  const length = readVarInt(bytes, 0, FRAME_LENGTH_BYTES);
  if (!length) return undefined;
  if (length.value === 0) throw new ProtocolError('empty frame');
  if (length.value > maxLength) throw new ProtocolError(`frame of ${length.value} bytes, at most ${maxLength} allowed`);
  const size = length.size + length.value;
  if (bytes.length < size) return undefined;
  return { value: bytes.subarray(length.size, size), size };
}

/** Reads the fields of one complete frame in order. Every method throws ProtocolError if the frame is too short. */
export class FrameReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Number of unread bytes. */
  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  varInt(): number {
    const parsed = readVarInt(this.#bytes, this.#offset);
    if (!parsed) throw new ProtocolError('frame ends inside a VarInt');
    this.#offset += parsed.size;
    return parsed.value;
  }

  bytes(count: number): Buffer {
    const at = this.#pass(count);
    return this.#bytes.subarray(at, at + count);
  }

  byte(): number {
    return this.#bytes[this.#pass(1)] ?? 0;
  }

  boolean(): boolean {
    return this.byte() !== 0;
  }

  unsignedShort(): number {
    return this.#bytes.readUInt16BE(this.#pass(2));
  }

  /** Reads a string of at most `maxUnits` UTF-16 units, each at most three bytes in UTF-8. */
  string(maxUnits: number): string {
    const length = this.varInt();
    if (length < 0 || length > maxUnits * 3) throw new ProtocolError(`string of ${length} bytes`);
    const at = this.#pass(length);
    const text = this.#bytes.toString('utf8', at, at + length);
    if (text.length > maxUnits) throw new ProtocolError(`string of ${text.length} characters`);
    return text;
  }

  /** Reads a UUID as 8-4-4-4-12, in lower case. */
  uuid(): string {
    const at = this.#pass(16);
    const hex = this.#bytes.toString('hex', at, at + 16);
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }

  /** Reads a byte array of at most `maxBytes`, preceded by its length. */
  byteArray(maxBytes: number): Buffer {
    const length = this.varInt();
    if (length > maxBytes) throw new ProtocolError(`byte array of ${length} bytes`);
    return this.bytes(length);
  }

  /** Returns the offset of the next `count` bytes and marks them as read. */
  #pass(count: number): number {
    if (count < 0 || count > this.remaining) throw new ProtocolError('field reaches beyond its frame');
    this.#offset += count;
    return this.#offset - count;
  }
}

/** Encodes `value` as an int32 in 1 to 5 bytes. */
export function encodeVarInt(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value >>> 0;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** Encodes `text` in UTF-8, preceded by its byte length. */
export function encodeString(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([encodeVarInt(bytes.length), bytes]);
}

/** Encodes a whole frame: length, packet id, fields. */
export function encodeFrame(packetId: number, ...fields: Buffer[]): Buffer {
  const id = encodeVarInt(packetId);
  let length = id.length;
  for (const field of fields) length += field.length;
  return Buffer.concat([encodeVarInt(length), id, ...fields]);
}
