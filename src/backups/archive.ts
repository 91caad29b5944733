import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type ZstdOptions, constants, createZstdCompress } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';
import { inBlocks } from '../files/archives/blocks.ts';
import { namedInArchive } from '../files/archives/names.ts';
import type { JailFile, TreeEntry } from '../jail/jail.ts';
import { syncDirectory } from '../kernel/atomic-file.ts';
import { MIB } from '../kernel/units.ts';
import { type ChunkPool, contentOf, createChunkPool, sources } from '../jail/sources.ts';
import { type SealKey, sealed } from './seal.ts';

type Header = Parameters<Pack['entry']>[0];

const CHUNK_BYTES = MIB;
/** A world is compressed already (region files hold deflated chunks): more effort makes it hardly smaller. */
const LEVEL = 1;

/** A finished archive. */
export interface Archive {
  sizeBytes: number;
  /** Of the files in it. */
  treeBytes: number;
  /** In hex. */
  sha256: string;
}

export interface ArchiveOptions {
  /** Stops, and leaves nothing behind. */
  signal: AbortSignal;
  /** Asked for room before each piece is written, with its bytes; what it rejects with ends the writing. */
  grow: (bytes: number) => Promise<void>;
  /** Called with the bytes of files read so far, now and then. */
  progress: (treeBytes: number) => void;
  /** What it is encrypted with; default: nothing. `sizeBytes` and `sha256` are those of before. */
  key?: SealKey | undefined;
}

/**
 * Writes a tree as a tar compressed with Zstandard (RFC 8878) to `target`, which appears whole and on disk or not at all.
 * A file that changes meanwhile, as a log does, is taken as long as it was when it was come to: what it has lost since is
 * zeros.
 */
export async function writeArchive(
  entries: AsyncIterable<TreeEntry>,
  target: string,
  { signal, grow, progress, key }: ArchiveOptions,
): Promise<Archive> {
  const temp = `${target}.tmp`;
  const hash = createHash('sha256');
  let sizeBytes = 0;
  async function* counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      await grow(chunk.length);
      yield chunk;
    }
  }
  const tar = pack({ highWaterMark: 4 * CHUNK_BYTES });
  const params = { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 1 };
  // Takes one block at a time: asks for the next when it has done with the one before, whose memory is then used again.
  const zstd = createZstdCompress({ params, chunkSize: CHUNK_BYTES, writableHighWaterMark: 1 } as ZstdOptions);
  const pool = createChunkPool();
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  try {
    const file = createWriteStream(temp, { flags: 'w', mode: 0o640, flush: true, highWaterMark: 4 * CHUNK_BYTES });
    const kept = (chunks: AsyncIterable<Buffer>) =>
      key === undefined ? counted(chunks) : sealed(counted(chunks), key);
    const written = pipeline(tar as AsyncIterable<Buffer>, inBlocks(pool.giveBack), zstd, kept, file, { signal });
    const packed = packTree(tar, entries, pool, progress);
    packed.catch((error: unknown) => tar.destroy(error as Error));
    // Both end before this returns, so nothing is read afterwards. If one fails, the error is that of the cause.
    await Promise.allSettled([written, packed]);
    await written;
    const treeBytes = await packed;
    await rename(temp, target);
    await syncDirectory(dirname(target));
    return { sizeBytes, treeBytes, sha256: hash.digest('hex') };
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
}

/** Gives the bytes of files that were packed. */
async function packTree(
  tar: Pack,
  entries: AsyncIterable<TreeEntry>,
  pool: ChunkPool,
  progress: (treeBytes: number) => void,
): Promise<number> {
  let treeBytes = 0;
  for await (const { entry, sizeBytes, bytes, file } of sources(entries)) {
    const { mode, modifiedAt } = entry;
    const header = { ...namedInArchive(entry), mode, mtime: new Date(modifiedAt), size: sizeBytes };
    if (file) await packLarge(tar, header, file, pool);
    else await packWhole(tar, { ...header, type: bytes ? 'file' : 'directory' }, bytes);
    progress((treeBytes += sizeBytes));
  }
  tar.finalize();
  return treeBytes;
}

/** Closes the file in any case: one whose archive has ended meanwhile is not even begun. */
async function packLarge(tar: Pack, header: Header & { size: number }, file: JailFile, pool: ChunkPool): Promise<void> {
  try {
    await pipeline(contentOf(file, header.size, pool), tar.entry({ ...header, type: 'file' }));
  } finally {
    await file.close();
  }
}

function packWhole(tar: Pack, header: Header, bytes: Buffer | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null): void => (error ? reject(error) : resolve());
    if (bytes) tar.entry(header, bytes, done);
    else tar.entry(header, done);
  });
}
