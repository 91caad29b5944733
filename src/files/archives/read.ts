import type { JailFile, Staging } from '../../jail/jail.ts';
import { spaceOf } from '../../jail/space.ts';
import { StatusError } from '../../kernel/status.ts';
import { MIB, MINUTE_MS } from '../../kernel/units.ts';
import type { WorkerPool } from '../../kernel/workers/pool.ts';
import { badArchive, tooLarge } from './format.ts';
import { type ArchivePiece, readArchive } from './read-job.ts';

/** The entries of an archive, one at a time. A file's `content` must be read before the next entry, if at all. */
interface Unpacked {
  path: string;
  kind: 'file' | 'directory';
  mode: number;
  content: AsyncIterable<Uint8Array>;
}

const CPU_MS = MINUTE_MS;
const CPU_MS_PER_MIB = 100;

/**
 * Reads the files and directories of an archive in a worker (`read-job.ts`), because its bytes are untrusted. Throws
 * the worker's errors, and ARCHIVE_TOO_LARGE if the worker exceeds its limit of time or memory.
 */
export async function* unpack(
  archive: JailFile,
  workers: WorkerPool,
  {
    tenant,
    signal,
    below = '',
  }: {
    /** The tenant of the work. Other tenants do not wait for it. */
    tenant: string;
    signal?: AbortSignal | undefined;
    /** Only entries whose paths have this prefix. */
    below?: string;
  },
): AsyncGenerator<Unpacked> {
  const { sizeBytes } = await archive.stat();
  const { descriptor } = archive;
  const bytes = descriptor === undefined ? await archive.read(0, sizeBytes) : undefined;
  const files = descriptor === undefined ? [] : [descriptor];
  const cpuMs = CPU_MS + (CPU_MS_PER_MIB * sizeBytes) / MIB;
  const pieces = workers.stream(readArchive, { sizeBytes, bytes, below }, { tenant, signal, files, cpuMs });
  try {
    for (let piece = await next(pieces); piece; piece = await next(pieces)) {
      if (!piece.entry) throw badArchive('is damaged');
      const content = createContent(pieces, piece);
      yield { ...piece.entry, content: content.chunks() };
      await content.skip();
    }
  } finally {
    await pieces.return();
  }
}

/**
 * Writes an entry to a path of a stage, piece by piece, and returns the number of bytes. `beforePiece` is awaited before
 * each piece with the bytes of disk that it needs, and ends the work by an error.
 */
export async function stageEntry(
  stage: Staging,
  path: string,
  { kind, mode, content }: Unpacked,
  beforePiece: (bytes: number) => Promise<void>,
): Promise<number> {
  if (kind === 'directory') {
    await stage.mkdir(path);
    return 0;
  }
  await using file = await stage.create(path, mode || undefined);
  let size = 0;
  for await (const chunk of content) {
    await beforePiece(spaceOf(size + chunk.length) - spaceOf(size));
    await file.write(size, chunk);
    size += chunk.length;
  }
  return size;
}

/** Returns an entry's content, read at most once. */
function createContent(pieces: AsyncGenerator<ArchivePiece, void>, first: ArchivePiece) {
  let piece = first;
  const more = async () => {
    const following = await next(pieces);
    if (!following) throw badArchive('is damaged');
    piece = following;
  };
  return {
    async *chunks(): AsyncGenerator<Uint8Array> {
      if (piece.bytes.length > 0) yield piece.bytes;
      while (!piece.last) {
        await more();
        if (piece.bytes.length > 0) yield piece.bytes;
      }
    },
    async skip() {
      while (!piece.last) await more();
    },
  };
}

async function next(pieces: AsyncGenerator<ArchivePiece, void>): Promise<ArchivePiece | undefined> {
  try {
    return (await pieces.next()).value ?? undefined;
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== 'WORK_TOO_LARGE') throw error;
    throw tooLarge('needs too much time or memory to read');
  }
}
