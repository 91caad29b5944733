import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { pack } from 'tar-stream';
import type { Pack } from 'tar-stream';
import type { JailFile, TreeEntry } from './jail.ts';
import { StatusError } from '../status.ts';

/** As much as is read from the disk, and handed to the compressor, at once. */
const CHUNK_BYTES = 512 * 1024;
/** A world is compressed already (region files hold deflated chunks): more effort makes it hardly smaller. */
const LEVEL = 1;
const ZEROS = Buffer.alloc(CHUNK_BYTES);

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
  /** The archive may become this large, */
  maxBytes: number;
  /** or the writing ends with this. */
  beyond: () => Error;
  /** Called with the bytes of files read so far, now and then. */
  progress: (treeBytes: number) => void;
}

/**
 * Writes a tree as a tar compressed with Zstandard (RFC 8878) to `target`, which appears whole and on disk or not at all.
 * A file that changes meanwhile, as a log does, is taken as long as it was when it was come to: what it has lost since is
 * zeros.
 */
export async function writeArchive(
  entries: AsyncIterable<TreeEntry>,
  target: string,
  { signal, maxBytes, beyond, progress }: ArchiveOptions,
): Promise<Archive> {
  const temp = `${target}.tmp`;
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _, done) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      done(sizeBytes > maxBytes ? beyond() : null, chunk);
    },
  });
  const tar = pack({ highWaterMark: 4 * CHUNK_BYTES });
  const params = { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 1 };
  const zstd = createZstdCompress({ params, chunkSize: CHUNK_BYTES });
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  try {
    const file = createWriteStream(temp, { flags: 'w', mode: 0o640, flush: true, highWaterMark: 4 * CHUNK_BYTES });
    const written = pipeline(tar, zstd, counted, file, { signal });
    const packed = packTree(tar, entries, progress);
    packed.catch((error: unknown) => tar.destroy(error as Error));
    // Whichever of them fails first, this is where the cause comes out.
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

/** Once it resolves, names made, moved and removed in a directory are on disk. */
export async function syncDirectory(path: string): Promise<void> {
  await using dir = await open(path, 'r');
  await dir.sync();
}

async function packTree(
  tar: Pack,
  entries: AsyncIterable<TreeEntry>,
  progress: (treeBytes: number) => void,
): Promise<number> {
  let treeBytes = 0;
  const packed = (bytes: number) => progress((treeBytes += bytes));
  for await (const entry of entries) {
    const { path: name, mode, modifiedAt } = entry;
    const header = { name, mode, mtime: new Date(modifiedAt) };
    if (entry.kind === 'directory') {
      await new Promise<void>((resolve, reject) => {
        tar.entry({ ...header, type: 'directory' }, (error) => (error ? reject(error) : resolve()));
      });
      continue;
    }
    await using file = await opened(entry);
    if (file === undefined) continue;
    // The file that is open decides: what was met may have been another.
    const { sizeBytes } = await file.stat();
    await pipeline(content(file, sizeBytes, packed), tar.entry({ ...header, type: 'file', size: sizeBytes }));
  }
  tar.finalize();
  return treeBytes;
}

/** Undefined for what has gone or been replaced since it was met, and for what belongs to the service. */
async function opened(entry: TreeEntry): Promise<JailFile | undefined> {
  try {
    return await entry.open();
  } catch (error) {
    if (error instanceof StatusError && PASSED_OVER.has(error.reason)) return undefined;
    throw error;
  }
}

const PASSED_OVER = new Set(['PATH_NOT_FOUND', 'PATH_IS_LINK', 'NOT_A_FILE', 'NOT_A_DIRECTORY', 'PATH_PROTECTED']);

/** Exactly so many bytes of a file, whatever becomes of it meanwhile. */
async function* content(file: JailFile, sizeBytes: number, packed: (bytes: number) => void): AsyncGenerator<Buffer> {
  for (let position = 0, ended = false; position < sizeBytes;) {
    const wanted = Math.min(CHUNK_BYTES, sizeBytes - position);
    const read: Buffer = ended ? ZEROS : await file.read(position, wanted);
    ended ||= read.length === 0;
    const chunk: Buffer = (ended ? ZEROS : read).subarray(0, wanted);
    yield chunk;
    position += chunk.length;
    packed(chunk.length);
  }
}
