import type { JailFile, TreeEntry } from './jail.ts';
import { StatusError } from '../status.ts';

/** Files up to here are read ahead, so many at once; larger ones are read as they are packed. */
const SMALL_BYTES = 128 * 1024;
const AHEAD = 16;
const CHUNK_BYTES = 1024 * 1024;
const ZEROS = Buffer.alloc(CHUNK_BYTES);

/** A folder, or a file with exactly so many bytes of content, whatever becomes of it meanwhile. */
export interface Source {
  entry: TreeEntry;
  sizeBytes: number;
  /** Of a small file. */
  bytes?: Buffer;
  /** Of a large one. Closes it. */
  content?: () => AsyncGenerator<Buffer>;
}

/**
 * What is met on a walk, opened and as far as it is small read, in the order of the walk. What has gone since it was met, was
 * replaced by something else, or belongs to the service is passed over.
 */
export async function* sources(entries: AsyncIterable<TreeEntry>): AsyncGenerator<Source> {
  const ahead: Pending[] = [];
  try {
    for await (const entry of entries) {
      const pending = entry.kind === 'directory' ? folder(entry) : await opened(entry);
      if (pending === undefined) continue;
      ahead.push(pending);
      if (ahead.length >= AHEAD) yield await ahead.shift()!.source;
    }
    for (let next = ahead.shift(); next !== undefined; next = ahead.shift()) yield await next.source;
  } finally {
    for (const { drop } of ahead) await drop();
  }
}

/** Something on its way, and how to let go of it unread. */
interface Pending {
  source: Promise<Source>;
  drop: () => Promise<void>;
}

function folder(entry: TreeEntry): Pending {
  return { source: Promise.resolve({ entry, sizeBytes: 0 }), drop: async () => {} };
}

/** A walk goes on only once a file is open; what then is read of it need not be waited for. */
async function opened(entry: TreeEntry): Promise<Pending | undefined> {
  const file = await openIfThere(entry);
  if (file === undefined) return undefined;
  const source = read(entry, file);
  // Looked at when its turn has come, which is later.
  source.catch(() => {});
  return { source, drop: () => source.then(({ bytes }) => (bytes ? undefined : file.close())).catch(() => {}) };
}

async function read(entry: TreeEntry, file: JailFile): Promise<Source> {
  try {
    if (entry.sizeBytes <= SMALL_BYTES) {
      const bytes = await readFully(file, 0, entry.sizeBytes);
      await file.close();
      return { entry, sizeBytes: bytes.length, bytes };
    }
    // The file that is open decides: what was met may have been another.
    const { sizeBytes } = await file.stat();
    return { entry, sizeBytes, content: () => contentOf(file, sizeBytes) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function* contentOf(file: JailFile, sizeBytes: number): AsyncGenerator<Buffer> {
  try {
    for (let position = 0; position < sizeBytes;) {
      const wanted = Math.min(CHUNK_BYTES, sizeBytes - position);
      const chunk = await readFully(file, position, wanted);
      yield chunk;
      if (chunk.length < wanted) yield ZEROS.subarray(chunk.length, wanted);
      position += wanted;
    }
  } finally {
    await file.close();
  }
}

/** As many bytes as there are, up to `length`. */
async function readFully(file: JailFile, position: number, length: number): Promise<Buffer> {
  if (length === 0) return ZEROS.subarray(0, 0);
  const first = await file.read(position, length);
  if (first.length === length || first.length === 0) return first;
  return Buffer.concat([first, await readFully(file, position + first.length, length - first.length)]);
}

async function openIfThere(entry: TreeEntry): Promise<JailFile | undefined> {
  try {
    return await entry.open();
  } catch (error) {
    if (error instanceof StatusError && PASSED_OVER.has(error.reason)) return undefined;
    throw error;
  }
}

const PASSED_OVER = new Set(['PATH_NOT_FOUND', 'PATH_IS_LINK', 'NOT_A_FILE', 'NOT_A_DIRECTORY', 'PATH_PROTECTED']);
