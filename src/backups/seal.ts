import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { KIB } from '../kernel/units.ts';
import { ArchiveCorrupt } from './errors.ts';

/**
 * The format of encrypted archives: a header, then the bytes in pieces of 64 KiB, each encrypted with AES-256-GCM (NIST
 * SP 800-38D) and followed by its tag. A piece's nonce contains its number and whether it is the last (STREAM, Hoang et
 * al. 2015), so that changed, missing, repeated, moved or truncated pieces are detected. Each archive has its own key,
 * derived by HKDF-SHA-256 (RFC 5869) from the operator's key and a random salt. An empty archive is one empty piece.
 *
 *     header   16 bytes `dormouse-seal-01`, 8 bytes id of the operator's key, 32 bytes salt
 *     key      HKDF-SHA-256(operator's key, salt, info = the first 24 bytes of the header, 32 bytes)
 *     nonce    7 zero bytes, the piece's number from 0 in 4 bytes (big endian), 1 for the last piece and 0 for others
 */
const MAGIC = Buffer.from('dormouse-seal-01');
const KEY_ID_BYTES = 8;
const SALT_BYTES = 32;
const HEADER_BYTES = MAGIC.length + KEY_ID_BYTES + SALT_BYTES;
const PIECE_BYTES = 64 * KIB;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** An encryption key of the operator. */
export interface SealKey {
  /** 16 hex digits that identify the key and reveal nothing about it. */
  id: string;
  bytes: Buffer;
}

/** Returns a key of 32 bytes with its id. */
export function sealKeyOf(bytes: Buffer): SealKey {
  const id = createHash('sha256').update('dormouse key id\0').update(bytes).digest('hex');
  return { id: id.slice(0, 2 * KEY_ID_BYTES), bytes };
}

/** Returns the encrypted size of an archive. */
export function sealedBytes(bytes: number): number {
  return HEADER_BYTES + bytes + TAG_BYTES * piecesOf(bytes);
}

/** Encrypts an archive. */
export async function* sealed(chunks: AsyncIterable<Buffer>, key: SealKey): AsyncGenerator<Buffer> {
  const head = Buffer.concat([MAGIC, Buffer.from(key.id, 'hex'), randomBytes(SALT_BYTES)]);
  const own = ownKey(key, head);
  yield head;
  let held: Buffer = Buffer.alloc(0);
  let number = 0;
  for await (let rest of chunks) {
    const out: Buffer[] = [];
    // The last piece is recognised by the end of the stream. Only a piece split over two chunks is copied.
    while (held.length + rest.length > PIECE_BYTES) {
      const missing = PIECE_BYTES - held.length;
      const head = rest.subarray(0, missing);
      out.push(...sealPiece(own, number++, held.length === 0 ? head : Buffer.concat([held, head]), false));
      held = Buffer.alloc(0);
      rest = rest.subarray(missing);
    }
    held = held.length === 0 ? rest : Buffer.concat([held, rest]);
    if (out.length > 0) yield Buffer.concat(out);
  }
  yield Buffer.concat(sealPiece(own, number, held, true));
}

/** The source of an encrypted archive. */
export interface Sealed {
  /** The size of the decrypted archive. */
  sizeBytes: number;
  /** Reads encrypted bytes, both ends inclusive. */
  read: (range: { start: number; end: number }) => AsyncIterable<Buffer>;
  key: SealKey;
}

/** Decrypts the bytes from `start` to `end` (inclusive). Throws ArchiveCorrupt if they are not what was encrypted. */
export async function* opened({ sizeBytes, read, key }: Sealed, start: number, end: number): AsyncGenerator<Buffer> {
  const head = await collected(read({ start: 0, end: HEADER_BYTES - 1 }));
  const isOurs = head.length === HEADER_BYTES && head.subarray(0, MAGIC.length).equals(MAGIC);
  if (!isOurs || idIn(head) !== key.id) throw new ArchiveCorrupt('Its encryption header is missing or invalid.');
  const own = ownKey(key, head);
  const last = piecesOf(sizeBytes) - 1;
  const first = Math.floor(start / PIECE_BYTES);
  const until = Math.min(last, Math.floor(end / PIECE_BYTES));
  const at = (piece: number) => HEADER_BYTES + piece * (PIECE_BYTES + TAG_BYTES);
  const range = { start: at(first), end: Math.min(at(until + 1), sealedBytes(sizeBytes)) - 1 };
  let held: Buffer = Buffer.alloc(0);
  let number = first;
  for await (const chunk of read(range)) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const out: Buffer[] = [];
    for (; number <= until; number++) {
      const length = (number === last ? sizeBytes - last * PIECE_BYTES : PIECE_BYTES) + TAG_BYTES;
      if (held.length < length) break;
      const plain = openPiece(own, number, held.subarray(0, length), number === last);
      const from = number * PIECE_BYTES;
      out.push(plain.subarray(Math.max(0, start - from), Math.max(0, end + 1 - from)));
      held = held.subarray(length);
    }
    if (out.length > 0) yield Buffer.concat(out);
  }
  if (number <= until || held.length > 0) throw new ArchiveCorrupt('Its end is missing.');
}

function piecesOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / PIECE_BYTES));
}

function idIn(head: Buffer): string {
  return head.subarray(MAGIC.length, MAGIC.length + KEY_ID_BYTES).toString('hex');
}

function ownKey({ bytes }: SealKey, head: Buffer): Uint8Array {
  const info = head.subarray(0, MAGIC.length + KEY_ID_BYTES);
  return new Uint8Array(hkdfSync('sha256', bytes, head.subarray(info.length), info, 32));
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(number, 7);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

function sealPiece(key: Uint8Array, number: number, piece: Buffer, isLast: boolean): Buffer[] {
  const cipher = createCipheriv(CIPHER, key, nonceOf(number, isLast));
  return [cipher.update(piece), cipher.final(), cipher.getAuthTag()];
}

function openPiece(key: Uint8Array, number: number, piece: Buffer, isLast: boolean): Buffer {
  const decipher = createDecipheriv(CIPHER, key, nonceOf(number, isLast), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(piece.subarray(-TAG_BYTES));
  try {
    const plain = decipher.update(piece.subarray(0, -TAG_BYTES));
    decipher.final();
    return plain;
  } catch (cause) {
    throw new ArchiveCorrupt('Its encrypted content was changed.', { cause });
  }
}

async function collected(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
