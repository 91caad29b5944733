import type { JailFile, TreeEntry } from './jail.ts';
import { StatusError } from '../kernel/status.ts';
import { KIB, MIB } from '../kernel/units.ts';

/** Files up to here are read ahead, so many at once; larger ones are read as they are packed. */
const SMALL_BYTES = 128 * KIB;
const AHEAD = 16;
const CHUNK_BYTES = MIB;
const ZEROS = Buffer.alloc(CHUNK_BYTES);

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

/** The bytes of a file, `sizeBytes` of them in any case. */
export async function* contentOf(file: JailFile, sizeBytes: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < sizeBytes;) {
    const wanted = Math.min(CHUNK_BYTES, sizeBytes - position);
    const chunk = await readFully(file, position, wanted);
    yield chunk;
    if (chunk.length < wanted) yield ZEROS.subarray(chunk.length, wanted);
    position += wanted;
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
    const bytes = await readFully(file, 0, sizeBytes);
    await file.close();
    return { entry, sizeBytes: bytes.length, bytes };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** As many bytes as there are, up to `length`. */
async function readFully(file: JailFile, position: number, length: number): Promise<Buffer> {
  if (length === 0) return ZEROS.subarray(0, 0);
  const first = await file.read(position, length);
  if (first.length === length || first.length === 0) return first;
  return Buffer.concat([first, await readFully(file, position + first.length, length - first.length)]);
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
