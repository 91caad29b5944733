import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { type Extract, type Header, extract } from 'tar-stream';
import { ZSTD_WINDOW } from '../files/archives/format.ts';
import { namesInArchive } from '../files/archives/names.ts';
import { StatusError } from '../kernel/status.ts';
import { KIB, MIB } from '../kernel/units.ts';
import { ArchiveCorrupt } from './errors.ts';
import { type TargetDirectory, type TreeMaker, openTree } from './tree.ts';

/** A file or folder in an archive, with its bytes. */
type Entry = AsyncIterable<Buffer> & { header: Header; resume(): void };

const CHUNK_BYTES = 512 * KIB;
/** Files up to here are written so many at once. */
const SMALL_BYTES = MIB;
const FILES_AT_ONCE = 16;
const NAMES_CLASH = new Set(['EEXIST', 'ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG']);

/** What an archive must be, or it is not taken. */
export interface ArchiveFacts {
  /** In hex. */
  sha256: string;
  sizeBytes: number;
  treeBytes: number;
}

/**
 * Unpacks a backup into an empty folder that nobody else has to do with. When it resolves, the archive was the one that was
 * written, to the last bit, and all that was in it is on disk; when it rejects, what lies in the folder is worth nothing:
 * ArchiveCorrupt, what the file system says, or the StatusError with which `archive` fails. Only files and folders are made,
 * and no more bytes than went into it.
 */
export async function extractArchive(
  archive: Readable,
  facts: ArchiveFacts,
  into: TargetDirectory,
  { signal, progress }: { signal: AbortSignal; progress: (treeBytes: number) => void },
): Promise<void> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const tar = extract();
  await using tree = await openTree(into);
  const unpacked = unpack(tar, tree, facts.treeBytes, progress);
  // It fails together with the stream that feeds it, and is looked at after that.
  unpacked.catch(() => {});
  const hashed = new Transform({
    transform(chunk: Buffer, _, done) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      done(null, chunk);
    },
  });
  try {
    await pipeline(archive, hashed, createZstdDecompress({ ...ZSTD_WINDOW, chunkSize: CHUNK_BYTES }), tar, { signal });
    await unpacked;
  } catch (error) {
    tar.destroy(error as Error);
    const cause = await unpacked.then(
      () => error,
      (own: unknown) => (isOfFiles(own) ? own : error),
    );
    const isKnown = isOfFiles(cause) || cause instanceof StatusError || cause instanceof ArchiveCorrupt;
    throw isKnown || signal.aborted ? cause : new ArchiveCorrupt('The archive is damaged.', { cause });
  }
  if (sizeBytes !== facts.sizeBytes || hash.digest('hex') !== facts.sha256) {
    throw new ArchiveCorrupt('The archive is not the one that was written.');
  }
}

async function unpack(
  tar: Extract,
  into: TreeMaker,
  treeBytes: number,
  progress: (treeBytes: number) => void,
): Promise<void> {
  const tasks = new Set<Promise<void>>();
  let failed = false;
  let left = treeBytes;
  const take = (bytes: number) => {
    left -= bytes;
    if (left < 0) throw new ArchiveCorrupt('There is more in the archive than went into it.');
    progress(treeBytes - left);
  };
  const start = async (work: Promise<void>) => {
    const task = work.finally(() => void tasks.delete(task));
    task.catch(() => (failed = true));
    tasks.add(task);
    if (tasks.size >= FILES_AT_ONCE || failed) await Promise.race(tasks);
  };
  try {
    for await (const entry of tar as AsyncIterable<Entry>) {
      const { type, size, mode, mtime } = entry.header;
      const names = namesInArchive(entry.header);
      if (names === undefined) throw new ArchiveCorrupt('A name in the archive is none.');
      if (type === 'directory') {
        await into.folder(names);
        entry.resume();
      } else if (type === 'file') {
        take(size);
        // Its bytes are all here soon, and the disk takes many files at once; a large one is written as it comes.
        const content = size <= SMALL_BYTES ? await chunksOf(entry) : entry;
        const written = writeFile(await into.file(names, mode), content, mtime);
        await (size <= SMALL_BYTES ? start(written) : written);
      } else {
        throw new ArchiveCorrupt(`There is a ${type} in the archive.`);
      }
    }
    await Promise.all(tasks);
    await into.finish();
  } finally {
    await Promise.allSettled(tasks);
  }
}

async function chunksOf(entry: Entry): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of entry) chunks.push(chunk);
  return chunks;
}

/** Fills a file and closes it. */
async function writeFile(
  opened: FileHandle,
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
  modifiedAt: Date,
): Promise<void> {
  await using file = opened;
  await file.writeFile(content);
  await file.utimes(modifiedAt, modifiedAt);
}

/** What the disk says, rather than the archive: in an empty folder it is the archive's own fault where names clash. */
function isOfFiles(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && !NAMES_CLASH.has((error as NodeJS.ErrnoException).code ?? '');
}
