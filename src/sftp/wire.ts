import { KIB } from '../kernel/units.ts';

/**
 * The SSH File Transfer Protocol, version 3 (draft-ietf-secsh-filexfer-02, the version that clients use), with the
 * extensions in OpenSSH's file PROTOCOL. The codec of our SSH library is not used: it can neither announce nor answer
 * extensions, and lets a client send requests faster than they are answered.
 */

/** The client's requests: SSH_FXP_*, §3. */
export const REQUEST = {
  init: 1,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  extended: 200,
} as const;

/** The replies: SSH_FXP_*, §3. */
export const REPLY = {
  version: 2,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  attrs: 105,
  extended: 201,
} as const;

/** SSH_FX_*, §7. */
export const STATUS = {
  ok: 0,
  eof: 1,
  noSuchFile: 2,
  permissionDenied: 3,
  failure: 4,
  badMessage: 5,
  unsupported: 8,
} as const;

export type Status = keyof typeof STATUS;

/** SSH_FXF_*, §6.3. */
export const OPEN = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 } as const;

/** Most bytes of a read or a write, the same as in OpenSSH's own server. */
export const MOST_DATA_BYTES = 255 * KIB;
/** Most bytes of a packet after its length, in either direction. */
export const MOST_PACKET_BYTES = 256 * KIB;

/** A packet that no valid client sends. The bytes after it cannot be parsed either. */
export class BadPacket extends Error {
  override name = 'BadPacket';
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads the fields of one packet in order. Throws BadPacket if the packet ends within a field. */
export class Fields {
  readonly #packet: Buffer;
  #at: number;

  constructor(packet: Buffer, at = 0) {
    this.#packet = packet;
    this.#at = at;
  }

  get left(): number {
    return this.#packet.length - this.#at;
  }

  skip(count: number): void {
    this.#take(count);
  }

  byte(): number {
    return this.#packet.readUInt8(this.#take(1));
  }

  uint32(): number {
    return this.#packet.readUInt32BE(this.#take(4));
  }

  /**
   * Reads 64 bits. Throws BadPacket for a value beyond the safe integers of JavaScript, which no file offset reaches.
   */
  uint64(): number {
    const value = this.#packet.readBigUInt64BE(this.#take(8));
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new BadPacket(`${value} is beyond any file`);
    return Number(value);
  }

  /** A view of the packet, not a copy. */
  bytes(): Buffer {
    const length = this.uint32();
    const start = this.#take(length);
    return this.#packet.subarray(start, start + length);
  }

  /** Returns undefined if the bytes are not UTF-8. */
  text(): string | undefined {
    const bytes = this.bytes();
    try {
      return UTF8.decode(bytes);
    } catch {
      return undefined;
    }
  }

  #take(count: number): number {
    const start = this.#at;
    if (count > this.left) throw new BadPacket(`a field of ${count} bytes exceeds the remaining ${this.left}`);
    this.#at = start + count;
    return start;
  }
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

export function uint64(value: number | bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

/** A string field: its length, then its bytes. */
export function string(value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([uint32(bytes.length), bytes]);
}
