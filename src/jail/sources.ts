import type { JailFile, TreeEntry } from './jail.ts';
import { StatusError } from '../kernel/status.ts';
import { KIB, MIB } from '../kernel/units.ts';

/** Files up to here are read ahead, so many at once; larger ones are read as they are packed. */
const SMALL_BYTES = 128 * KIB;
const AHEAD = 16;
const CHUNK_BYTES = MIB;

/** A folder, or a file with exactly so many bytes of content, whatever becomes of it meanwhile. */
export interface Source {
  entry: TreeEntry;
  sizeBytes: number;
  /** Of a small file. */
  bytes?: Buffer;
  /** A large file, open: the reader closes it. */
  file?: JailFile;
}

/**
 * Opens what a walk meets, in the order of the walk, and reads small files ahead. Entries that have gone meanwhile,
 * were replaced by something else, or belong to the service are passed over.
 */
export async function* sources(entries: AsyncIterable<TreeEntry>): AsyncGenerator<Source> {
  const ahead: Promise<Source | undefined>[] = [];
  try {
    for await (const entry of entries) {
      const source = sourceOf(entry);
      // Looked at when its turn has come, which is later.
      source.catch(() => {});
      ahead.push(source);
      if (ahead.length >= AHEAD) yield* there(await ahead.shift());
    }
    while (ahead.length > 0) yield* there(await ahead.shift());
  } finally {
    for (const source of ahead) await (await source.catch(() => undefined))?.file?.close();
  }
}

/**
 * The bytes of a file, `sizeBytes` of them in any case, in chunks of the pool: whoever has used one gives it back to the pool, and
 * never looks at it again.
 */
export async function* contentOf(file: JailFile, sizeBytes: number, pool: ChunkPool): AsyncGenerator<Buffer> {
  for (let position = 0; position < sizeBytes; position += CHUNK_BYTES) {
    const chunk = pool.take().subarray(0, Math.min(CHUNK_BYTES, sizeBytes - position));
    chunk.fill(0, await fill(chunk, file, position));
    yield chunk;
  }
}

/** Memory for the chunks of large files. What is new for each chunk costs more than reading it. */
export interface ChunkPool {
  take: () => Buffer;
  /** Takes back what it gave, or a part of that; anything else is not its own, and left alone. */
  giveBack: (chunk: Buffer) => void;
}

/** Holds as much as is in use at one time. */
export function createChunkPool(): ChunkPool {
  const idle: Buffer[] = [];
  const lent = new Map<ArrayBufferLike, Buffer>();
  return {
    take() {
      const chunk = idle.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
      lent.set(chunk.buffer, chunk);
      return chunk;
    },
    giveBack({ buffer }) {
      const chunk = lent.get(buffer);
      if (chunk && lent.delete(buffer)) idle.push(chunk);
    },
  };
}

/** Fills a buffer as far as the file goes on; gives how many bytes that were. */
async function fill(buffer: Buffer, file: JailFile, position: number): Promise<number> {
  for (let filled = 0; ;) {
    const read = await file.readInto(buffer.subarray(filled), position + filled);
    filled += read;
    if (read === 0 || filled === buffer.length) return filled;
  }
}

function* there(source: Source | undefined): Generator<Source> {
  if (source) yield source;
}

async function sourceOf(met: TreeEntry): Promise<Source | undefined> {
  if (met.kind === 'directory') return { entry: met, sizeBytes: 0 };
  const file = await openIfThere(() => met.open());
  if (file === undefined) return undefined;
  try {
    // The file that is open decides: what was met may have been another.
    const { sizeBytes, mode, modifiedAt } = await file.stat();
    const entry = { ...met, mode, modifiedAt };
    if (sizeBytes > SMALL_BYTES) return { entry, sizeBytes, file };
    const buffer = Buffer.allocUnsafe(sizeBytes);
    const bytes = buffer.subarray(0, sizeBytes === 0 ? 0 : await fill(buffer, file, 0));
    await file.close();
    return { entry, sizeBytes: bytes.length, bytes };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Opens what a walk has met; undefined where it has gone since, is something else now, or belongs to the service. */
export async function openIfThere(open: TreeEntry['open']): Promise<JailFile | undefined> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof StatusError && PASSED_OVER.has(error.reason)) return undefined;
    throw error;
  }
}

const PASSED_OVER = new Set(['PATH_NOT_FOUND', 'PATH_IS_LINK', 'NOT_A_FILE', 'NOT_A_DIRECTORY', 'PATH_PROTECTED']);
