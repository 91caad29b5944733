import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import test from 'ava';
import { ArchiveCorrupt } from '../../src/backups/errors.ts';
import { type SealKey, opened, sealKeyOf, sealed, sealedBytes } from '../../src/backups/seal.ts';
import { KIB } from '../../src/kernel/units.ts';

const KEY = sealKeyOf(randomBytes(32));
const PIECE = 64 * KIB;
const HEADER = 56;
const STORED = PIECE + 16;

async function all(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const found: Buffer[] = [];
  for await (const chunk of chunks) found.push(chunk);
  return Buffer.concat(found);
}

/** Splits bytes into chunks. Chunks and pieces have different lengths, so each ends within the other. */
function inChunks(bytes: Buffer, length: number): AsyncIterable<Buffer> {
  const count = Math.ceil(bytes.length / length);
  return Readable.from(Array.from({ length: count }, (_, n) => bytes.subarray(n * length, (n + 1) * length)));
}

const seal = (bytes: Buffer, length = 50_001) => all(sealed(inChunks(bytes, length), KEY));

function open(
  stored: Buffer,
  sizeBytes: number,
  [start, end] = [0, sizeBytes - 1],
  key: SealKey = KEY,
): Promise<Buffer> {
  const read = (range: { start: number; end: number }) => inChunks(stored.subarray(range.start, range.end + 1), 70_001);
  return all(opened({ sizeBytes, read, key }, start ?? 0, end ?? 0));
}

test('encrypted data is decrypted in full and in part, and its length is known beforehand', async (t) => {
  for (const length of [1, 15, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 1_000_000]) {
    const bytes = randomBytes(length);
    for (const chunk of [1_000, PIECE, 400_000]) {
      const stored = await seal(bytes, chunk);
      t.is(stored.length, sealedBytes(length));
      t.true(bytes.equals(await open(stored, length)), `${length} bytes in chunks of ${chunk}`);
    }
    const stored = await seal(bytes);
    for (const [start, end] of [
      [0, 0],
      [length - 1, length - 1],
      [Math.floor(length / 3), Math.floor(length / 2)],
    ] as const)
      t.true(
        bytes.subarray(start, end + 1).equals(await open(stored, length, [start, end])),
        `${start} to ${end} of ${length}`,
      );
  }
  t.is((await seal(Buffer.alloc(0))).length, sealedBytes(0));
  t.false((await seal(Buffer.alloc(100))).equals(await seal(Buffer.alloc(100))), 'each encryption differs');
});

test('any change, omission, repetition, reordering or truncation of encrypted data is detected', async (t) => {
  const length = 3 * PIECE + 100;
  const bytes = randomBytes(length);
  const stored = await seal(bytes);
  const piece = (n: number) => stored.subarray(HEADER + n * STORED, HEADER + (n + 1) * STORED);
  const head = stored.subarray(0, HEADER);
  const flipped = (at: number) => {
    const copy = Buffer.from(stored);
    copy[at]! ^= 1;
    return copy;
  };
  const other = await seal(bytes);
  const broken: Record<string, [Buffer, number?]> = {
    'the magic': [flipped(0)],
    'the id of the key': [flipped(17)],
    'the salt': [flipped(30)],
    'a byte': [flipped(HEADER + 5)],
    'a tag': [flipped(HEADER + PIECE + 3)],
    'the last byte': [flipped(stored.length - 1)],
    'two pieces that changed places': [Buffer.concat([head, piece(1), piece(0), piece(2), piece(3)])],
    'a piece twice': [Buffer.concat([head, piece(0), piece(0), piece(2), piece(3)])],
    'a piece of another archive': [
      Buffer.concat([head, other.subarray(HEADER, HEADER + STORED), stored.subarray(HEADER + STORED)]),
    ],
    'the end cut off': [stored.subarray(0, -1)],
    'whole pieces cut off, and a length that fits': [stored.subarray(0, HEADER + 2 * STORED), 2 * PIECE],
    'nothing but the header': [head],
    nothing: [Buffer.alloc(0)],
  };
  for (const [name, [changed, size = length]] of Object.entries(broken))
    await t.throwsAsync(open(changed, size), { instanceOf: ArchiveCorrupt }, name);
  await t.throwsAsync(open(stored, length, undefined, sealKeyOf(randomBytes(32))), { instanceOf: ArchiveCorrupt });
});

test('the id of a key is the documented hash of the key', (t) => {
  const bytes = Buffer.alloc(32, 7);
  const expected = createHash('sha256')
    .update(Buffer.from('dormouse key id\0'))
    .update(bytes)
    .digest('hex')
    .slice(0, 16);
  t.is(sealKeyOf(bytes).id, expected);
});
