import type { Duplex } from 'node:stream';
import { constants, createGunzip, createGzip, createZstdCompress, createZstdDecompress } from 'node:zlib';
import type { Header } from 'tar-stream';
import type { TreeEntry } from '../../jail/jail.ts';
import { StatusError, badRequest } from '../../kernel/status.ts';
import { KIB } from '../../kernel/units.ts';

/** The supported archive formats. */
export type ArchiveFormat = 'zip' | 'tar' | 'tar.gz' | 'tar.zst';

const ENDINGS: readonly [RegExp, ArchiveFormat][] = [
  [/\.zip$/i, 'zip'],
  [/\.tar$/i, 'tar'],
  [/\.(?:tar\.gz|tgz)$/i, 'tar.gz'],
  [/\.(?:tar\.zst|tzst)$/i, 'tar.zst'],
];

/**
 * Memory limit of Zstandard decompression, as a power of two: 8 MiB, which RFC 8878 §3.1.1.1.2 asks every reader to
 * support, and enough for every level but --ultra. The writer of an archive chooses how much it needs, up to 2 GiB.
 */
export const ZSTD_WINDOW = { params: { [constants.ZSTD_d_windowLogMax]: 23 } };

/** Unsupported archive formats, by their first bytes in hex. */
const OTHERS: readonly [string, string][] = [
  ['377abcaf271c', 'a 7z archive'],
  ['526172211a07', 'a RAR archive'],
  ['fd377a585a00', 'an archive compressed with XZ'],
  ['425a68', 'an archive compressed with bzip2'],
  ['04224d18', 'an archive compressed with LZ4'],
  ['4c5a4950', 'an archive compressed with lzip'],
];

/** Bytes of a file that `formatOfContent` needs. */
export const MAGIC_BYTES = 512;

/** Returns the format by an archive's name. Throws INVALID_ARGUMENT UNKNOWN_ARCHIVE. */
export function formatOfName(name: string): ArchiveFormat {
  const format = ENDINGS.find(([ending]) => ending.test(name))?.[1];
  if (format) return format;
  throw unknownArchive('to', 'The name must end in .zip, .tar, .tar.gz or .tar.zst.');
}

/** Detects the format by an archive's first bytes, whatever its name. Throws INVALID_ARGUMENT UNKNOWN_ARCHIVE. */
export function formatOfContent(head: Buffer): ArchiveFormat {
  if (head.readUInt16BE(0) === 0x504b) return 'zip';
  if (head.readUInt16BE(0) === 0x1f8b) return 'tar.gz';
  if (head.readUInt32BE(0) === 0x28b52ffd) return 'tar.zst';
  if (head.toString('latin1', 257, 262) === 'ustar') return 'tar';
  const other = OTHERS.find(([magic]) => head.subarray(0, magic.length / 2).toString('hex') === magic)?.[1];
  const what =
    other === undefined
      ? 'This file is not a zip, tar, tar.gz or tar.zst archive.'
      : `This is ${other}. Pack it as zip, tar, tar.gz or tar.zst.`;
  throw unknownArchive('path', what);
}

/** Returns the compressor of a tar for the format; undefined for a plain tar. */
export function compressor(format: Exclude<ArchiveFormat, 'zip'>): Duplex | undefined {
  if (format === 'tar.gz') return createGzip();
  return format === 'tar.zst' ? createZstdCompress() : undefined;
}

/** Returns the decompressor of a tar for the format; undefined for a plain tar. */
export function decompressor(format: Exclude<ArchiveFormat, 'zip'>): Duplex | undefined {
  if (format === 'tar.gz') return createGunzip();
  return format === 'tar.zst' ? createZstdDecompress(ZSTD_WINDOW) : undefined;
}

/** The refusal of an archive because of its content. */
export function badArchive(problem: string, cause?: unknown): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'BAD_ARCHIVE', `The archive ${problem}.`, { cause });
}

/** The refusal of an archive because of its size. */
export function tooLarge(problem: string): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'ARCHIVE_TOO_LARGE', `The archive ${problem}.`);
}

function unknownArchive(field: 'path' | 'to', message: string): StatusError {
  const details = [badRequest([{ field, description: message }])];
  return new StatusError('INVALID_ARGUMENT', 'UNKNOWN_ARCHIVE', message, { details });
}

/** Each call of a compressor involves another thread, which costs more than compressing a tar header of a few bytes. */
const BLOCK_BYTES = 256 * KIB;

/** Regroups chunks into blocks: joins small ones and passes on large ones without a copy. */
export async function* inBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  function* release(): Generator<Buffer> {
    if (heldBytes === 0) return;
    yield Buffer.concat(held);
    held = [];
    heldBytes = 0;
  }
  for await (const chunk of chunks) {
    if (heldBytes + chunk.length > BLOCK_BYTES) yield* release();
    if (chunk.length < BLOCK_BYTES) {
      held.push(chunk);
      heldBytes += chunk.length;
    } else yield chunk;
  }
  yield* release();
}

/**
 * The pax key for a path in hex, for names that are not text: pax values must be text, but names on Linux are bytes.
 */
const BYTES = 'DORMOUSE.path';

/**
 * Returns how a backup stores a path. If it is not text, its bytes get their own record, and other programs see a
 * unique replacement.
 */
export function namedInArchive({ path, bytes }: Pick<TreeEntry, 'path' | 'bytes'>): Pick<Header, 'name' | 'pax'> {
  if (bytes === undefined) return { name: path };
  const name = bytes
    .toString('latin1')
    .replaceAll(/[\x80-\xff]/g, (byte) => String.raw`\x${byte.charCodeAt(0).toString(16)}`);
  return { name, pax: { [BYTES]: bytes.toString('hex') } };
}

/**
 * Returns the path segments of a backup's entry, each character representing a byte; undefined if the path is invalid.
 */
export function namesInArchive({ name, type, pax }: Header): string[] | undefined {
  const hex = (pax as Record<string, string> | null | undefined)?.[BYTES];
  const path = (hex === undefined ? Buffer.from(name) : Buffer.from(hex, 'hex')).toString('latin1');
  const names = (type === 'directory' ? path.replace(/\/$/, '') : path).split('/');
  return names.every((each) => each !== '' && each !== '.' && each !== '..' && !each.includes('\0'))
    ? names
    : undefined;
}
