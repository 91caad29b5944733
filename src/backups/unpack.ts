import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  fchownSync,
  futimesSync,
  mkdirSync,
  openSync,
  writeFileSync,
} from 'node:fs';
import process from 'node:process';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { type Extract, type Header, extract } from 'tar-stream';
import { ZSTD_WINDOW, inBlocks, namesInArchive } from '../files/archives/format.ts';
import { SAFELY, at } from '../jail/descriptors.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { KIB, MIB } from '../kernel/units.ts';
import { job } from '../kernel/workers/job.ts';
import { ArchiveCorrupt } from './errors.ts';
import type { BackupFormat } from './rows.ts';

/** The worker's first descriptor of the job. */
const FOLDER = 4;

/** Bytes read from a file at once. With fewer, passing them on costs more than processing them. */
const CHUNK_BYTES = 512 * KIB;

/** A file or folder in an archive with its bytes. */
type Entry = AsyncIterable<Buffer> & { header: Header; resume(): void };

/** Interval of progress reports, in bytes. */
const STEP_BYTES = 8 * MIB;
const NAMES_CLASH = new Set(['EEXIST', 'ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG']);

/** The expected facts of an archive. */
export interface ArchiveFacts {
  /** Default: compressed. */
  format?: BackupFormat;
  /** In hex. */
  sha256: string;
  sizeBytes: number;
  treeBytes: number;
}

/**
 * Unpacks the archive on standard input into an empty folder used by no other code, and yields the file bytes written
 * so far. `isFile`: standard input is a file. File calls block, because this process does nothing else. If it ends
 * without an error, the archive was exactly the written one. Throws ArchiveCorrupt, or the file system's error. Creates
 * only files and folders, and no more bytes than were archived.
 */
export const unpackArchive = job(
  import.meta.url,
  'unpackArchive',
  async function* unpackArchive({
    facts,
    owner,
    isFile,
  }: {
    facts: ArchiveFacts;
    /** The owner of the created files; undefined: this process's user. */
    owner: FileOwner | undefined;
    isFile: boolean;
  }): AsyncGenerator<number> {
    const archive = isFile ? createReadStream('', { fd: 0, start: 0, highWaterMark: CHUNK_BYTES }) : process.stdin;
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
    const inPieces = { ...ZSTD_WINDOW, chunkSize: CHUNK_BYTES };
    const fed =
      facts.format === 'tar'
        ? pipeline(archive, inBlocks, hashed, tar)
        : pipeline(archive, inBlocks, hashed, createZstdDecompress(inPieces), tar);
    // Awaited after all of its output has been processed.
    fed.catch(() => {});
    using tree = openTree(FOLDER, owner);
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
  },
);

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

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_DIRECTORY } = constants;

/**
 * Creates a tree with blocking calls. `names` is the path from its root, each character representing a byte. Throws the
 * file system's error: EEXIST if the entry exists, ENOENT or ENOTDIR if the parent folder is missing.
 */
interface TreeMaker extends Disposable {
  folder(names: readonly string[]): void;
  /** Returns a descriptor open for writing, which the caller closes. */
  file(names: readonly string[], mode: number): number;
}

interface Level {
  name: string;
  fd: number;
}

/**
 * Creates a tree in an empty folder, whose descriptor must stay open. Each folder must come before its content. Only
 * the folders above the last entry are kept open, so each entry is reached by one name, however long its path is.
 */
function openTree(root: number, owner: FileOwner | undefined): TreeMaker {
  const levels: Level[] = [{ name: '', fd: root }];

  /** Returns the path of an entry in its open folder. */
  function placeOf(names: readonly string[]): string | Buffer {
    const folders = names.slice(0, -1);
    const apart = folders.findIndex((name, depth) => levels[depth + 1]?.name !== name);
    leave(1 + (apart === -1 ? folders.length : apart));
    for (const name of folders.slice(levels.length - 1)) {
      levels.push({ name, fd: openSync(at(levels.at(-1)!, bytesOf(name)), O_RDONLY | O_DIRECTORY | SAFELY) });
    }
    return at(levels.at(-1)!, bytesOf(names.at(-1)!));
  }

  function leave(kept: number): void {
    for (const { fd } of levels.splice(kept).toReversed()) closeSync(fd);
  }

  function give(fd: number): number {
    try {
      if (owner) fchownSync(fd, owner.uid, owner.gid);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  return {
    folder(names) {
      const place = placeOf(names);
      mkdirSync(place, 0o750);
      if (owner) closeSync(give(openSync(place, O_RDONLY | O_DIRECTORY | SAFELY)));
    },
    file: (names, mode) => give(openSync(placeOf(names), O_RDWR | O_CREAT | O_EXCL | SAFELY, (mode & 0o777) | 0o600)),
    [Symbol.dispose]: () => leave(1),
  };
}

function bytesOf(name: string): Buffer {
  return Buffer.from(name, 'latin1');
}
