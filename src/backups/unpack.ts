import { createHash } from 'node:crypto';
import { closeSync, futimesSync, writeFileSync } from 'node:fs';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { type Extract, type Header, extract } from 'tar-stream';
import { inBlocks } from '../files/archives/blocks.ts';
import { ZSTD_WINDOW } from '../files/archives/format.ts';
import { namesInArchive } from '../files/archives/names.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { KIB, MIB } from '../kernel/units.ts';
import { ArchiveCorrupt } from './errors.ts';
import { type TreeMaker, openTree } from './tree.ts';

/** A file or folder in an archive with its bytes. */
type Entry = AsyncIterable<Buffer> & { header: Header; resume(): void };

const CHUNK_BYTES = 512 * KIB;
/** Interval of progress reports, in bytes. */
const STEP_BYTES = 8 * MIB;
const NAMES_CLASH = new Set(['EEXIST', 'ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG']);

/** The expected facts of an archive. */
export interface ArchiveFacts {
  /** In hex. */
  sha256: string;
  sizeBytes: number;
  treeBytes: number;
}

/** The target of an extraction. */
export interface Target {
  /** The descriptor of an empty folder used by no other code. */
  root: number;
  /** The owner of the created files; undefined: this process's user. */
  owner: FileOwner | undefined;
}

/**
 * Unpacks an archive and yields the file bytes written so far. For a worker: file calls block. If it ends without an
 * error, the archive was exactly the written one. Throws ArchiveCorrupt, or the file system's error. Creates only files
 * and folders, and no more bytes than were archived.
 */
export async function* unpack(archive: Readable, facts: ArchiveFacts, target: Target): AsyncGenerator<number> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const hashed = new Transform({
    transform(chunk: Buffer, _, done) {
      sizeBytes += chunk.length;
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const tar = extract();
  const zstd = createZstdDecompress({ ...ZSTD_WINDOW, chunkSize: CHUNK_BYTES });
  const fed = pipeline(archive, inBlocks, hashed, zstd, tar);
  // Awaited after all of its output has been processed.
  fed.catch(() => {});
  using tree = openTree(target.root, target.owner);
  try {
    yield* entriesInto(tar, tree, facts.treeBytes);
    await fed;
  } catch (error) {
    tar.destroy(error as Error);
    if (isOfFiles(error) || error instanceof ArchiveCorrupt) throw error;
    throw new ArchiveCorrupt('The archive is damaged.', { cause: error });
  }
  if (sizeBytes !== facts.sizeBytes || hash.digest('hex') !== facts.sha256) {
    throw new ArchiveCorrupt('The archive differs from the one that was written.');
  }
}

async function* entriesInto(tar: Extract, into: TreeMaker, treeBytes: number): AsyncGenerator<number> {
  let [taken, reported] = [0, 0];
  for await (const entry of tar as AsyncIterable<Entry>) {
    const { type, size, mode, mtime } = entry.header;
    const names = namesInArchive(entry.header);
    if (names === undefined) throw new ArchiveCorrupt('The archive contains an invalid name.');
    if (type === 'directory') {
      into.folder(names);
      entry.resume();
    } else if (type === 'file') {
      taken += size;
      if (taken > treeBytes) throw new ArchiveCorrupt('The archive contains more than was archived.');
      if (taken - reported >= STEP_BYTES) yield (reported = taken);
      await writeEntry(into.file(names, mode), entry, mtime);
    } else {
      throw new ArchiveCorrupt(`The archive contains an entry of type ${type}.`);
    }
  }
  yield taken;
}

/** Fills a file and closes it. */
async function writeEntry(file: number, entry: Entry, modifiedAt: Date): Promise<void> {
  try {
    for await (const chunk of entry) writeFileSync(file, chunk);
    futimesSync(file, modifiedAt, modifiedAt);
  } finally {
    closeSync(file);
  }
}

/** Reports whether the disk is at fault. In an empty folder, a name clash is the archive's fault. */
function isOfFiles(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && !NAMES_CLASH.has((error as NodeJS.ErrnoException).code ?? '');
}
