import { read as readAt } from 'node:fs';
import { PassThrough, Readable, pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { type Extract, extract as tarExtract } from 'tar-stream';
import { type Entry as ZipEntry, RandomAccessReader, type ZipFile, fromRandomAccessReader } from 'yauzl';
import { pathProblem } from '../../jail/path.ts';
import { StatusError } from '../../kernel/status.ts';
import { KIB, MIB } from '../../kernel/units.ts';
import { job } from '../../kernel/workers/job.ts';
import { type ArchiveFormat, MAGIC_BYTES, badArchive, decompressor, formatOfContent, tooLarge } from './format.ts';
import { UNKNOWN_NAMES, isChinese, isDeclared, zipName } from './zip-names.ts';

/** The input of the reader. */
interface ArchiveInput {
  sizeBytes: number;
  /** The whole archive, unless it is the file of the worker's first descriptor. */
  bytes?: Uint8Array | undefined;
  /** Yields only entries whose paths have this prefix. The others are still validated. */
  below: string;
}

/** A part of an entry. The first one describes the entry, the last one is marked. */
export interface ArchivePiece {
  entry?: { path: string; kind: 'file' | 'directory'; mode: number };
  bytes: Uint8Array;
  last: boolean;
}

/** An entry as found by the reader of its format. */
interface Found {
  path: string;
  kind: 'file' | 'directory';
  mode: number;
  content: () => Promise<AsyncIterable<Buffer>> | AsyncIterable<Buffer>;
}

/** The archive's bytes. */
interface Source {
  sizeBytes: number;
  /** Reads from `start` to `end`, both inclusive. */
  stream(start: number, end: number): Readable;
}

const MAX_ENTRIES = 100_000;
/** Limit of extra headers before an entry: PAX records, long names. Real ones have some hundred bytes. */
const MAX_HEADER_BYTES = 64 * KIB;
/** Most output bytes per input byte. Applies above `RATIO_FROM_BYTES` of output. */
const MAX_RATIO = 100;
const RATIO_FROM_BYTES = 10 * MIB;
/** The folder attribute of MS-DOS and Windows. Some programs omit the slash at the end of the name. */
const DOS_FOLDER = 0x10;
/** Supported methods: stored and Deflate. */
const ZIP_METHODS: ReadonlySet<number> = new Set([0, 8]);
/** Names of unsupported methods (APPNOTE.TXT §4.4.5). */
const METHOD_NAMES: ReadonlyMap<number, string> = new Map([
  [6, 'Implode'],
  [9, 'Deflate64'],
  [12, 'bzip2'],
  [14, 'LZMA'],
  [93, 'Zstandard'],
  [95, 'XZ'],
  [98, 'PPMd'],
]);
/** PAX records of a file that GNU tar stored without its holes: the entry has another name and content. */
const SPARSE = 'GNU.sparse.';
const SPARSE_FILE = 'contains a sparse file; pack it again without --sparse';
/** The result of decoding a byte that is not UTF-8. */
const NOT_UTF8 = '\uFFFD';
const OUTSIDE = 'contains a path that must stay within the archive';
const FIRST_DESCRIPTOR = 4;
const CHUNK_BYTES = 256 * KIB;

/**
 * Reads an archive, whatever its name. Throws INVALID_ARGUMENT: UNKNOWN_ARCHIVE for an unsupported format; BAD_ARCHIVE
 * if it is damaged or encrypted, or contains anything but plain files and directories with paths inside it;
 * ARCHIVE_TOO_LARGE for more than 100 000 entries, or for a bomb: the output is counted while reading.
 */
export const readArchive = job(import.meta.url, 'readArchive', async function* readArchive(input: ArchiveInput) {
  try {
    for await (const { content, ...entry } of found(sourceOf(input))) {
      checkPath(entry.path);
      if (entry.path.startsWith(input.below)) yield* pieces(entry, await content());
    }
  } catch (error) {
    throw error instanceof StatusError ? error : badArchive(problemOf(error), error);
  }
});

async function* found(source: Source): AsyncGenerator<Found> {
  const head = await firstBytes(source);
  const format = formatOfContent(head);
  const meter = createMeter(source.sizeBytes);
  const count = createCount();
  yield* format === 'zip' ? zipEntries(source, meter, count) : tarEntries(source, format, meter, count);
}

/** Splits an entry into messages. A small file needs only one. */
async function* pieces(
  entry: NonNullable<ArchivePiece['entry']>,
  content: AsyncIterable<Buffer>,
): AsyncGenerator<ArchivePiece> {
  let first: Pick<ArchivePiece, 'entry'> = { entry };
  let held: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    held.push(chunk);
    size += chunk.length;
    if (size < CHUNK_BYTES) continue;
    yield { ...first, bytes: Buffer.concat(held), last: false };
    [first, held, size] = [{}, [], 0];
  }
  yield { ...first, bytes: Buffer.concat(held), last: true };
}

function sourceOf({ sizeBytes, bytes }: ArchiveInput): Source {
  if (bytes) return { sizeBytes, stream: (start, end) => Readable.from([bytes.subarray(start, end + 1)]) };
  return { sizeBytes, stream: (start, end) => Readable.from(chunksOf(start, end), { objectMode: false }) };
}

const read = promisify(readAt);

async function* chunksOf(start: number, end: number): AsyncGenerator<Buffer> {
  for (let position = start; position <= end;) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end + 1 - position));
    const { bytesRead } = await read(FIRST_DESCRIPTOR, buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function firstBytes(source: Source): Promise<Buffer> {
  const chunks: Buffer[] = [Buffer.alloc(0)];
  for await (const chunk of source.stream(0, MAGIC_BYTES - 1)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks, MAGIC_BYTES);
}

/** Returns a function that counts the output and throws for a bomb. */
function createMeter(archiveBytes: number): (chunk: Buffer) => void {
  let out = 0;
  return (chunk) => {
    out += chunk.length;
    if (out > RATIO_FROM_BYTES && out > archiveBytes * MAX_RATIO) {
      throw tooLarge(`expands to more than ${MAX_RATIO} times its own size`);
    }
  };
}

/** Returns a function that counts entries, and headers without an entry. */
function createCount(): () => void {
  let count = 0;
  return () => {
    if (++count > MAX_ENTRIES) throw tooLarge(`has more than ${MAX_ENTRIES} entries`);
  };
}

function metered(meter: (chunk: Buffer) => void): PassThrough {
  return new PassThrough({
    transform(chunk: Buffer, _encoding, done) {
      try {
        meter(chunk);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
}

/** Limits the headers of tar-stream, which accepts 4 MiB each and copies a global one into all that follow. */
function boundedTar(count: () => void): Extract {
  const tar = tarExtract() as Extract & { _header: { type: string }; _decodeLongHeader(content: Buffer): void };
  const decode = tar._decodeLongHeader.bind(tar);
  tar._decodeLongHeader = (content) => {
    count();
    if (content.length > MAX_HEADER_BYTES) throw tooLarge(`has a header of more than ${MAX_HEADER_BYTES / 1024} KiB`);
    // Ignores global headers. `git archive` stores its commit there, which is not needed.
    if (tar._header.type !== 'pax-global-header') decode(content);
  };
  return tar;
}

async function* tarEntries(
  source: Source,
  format: Exclude<ArchiveFormat, 'zip'>,
  meter: (chunk: Buffer) => void,
  count: () => void,
): AsyncGenerator<Found> {
  const tar = boundedTar(count);
  const counted = metered(meter);
  const stored = source.stream(0, source.sizeBytes - 1);
  const inflating = decompressor(format);
  // Errors reach the last stream, which is read here. The streams before it are destroyed with it.
  const done = (error?: Error | null) => void (error && tar.destroy(error));
  if (inflating) pipeline(stored, inflating, counted, done);
  else pipeline(stored, counted, done);
  counted.pipe(tar);
  try {
    for await (const entry of tar) {
      count();
      const { name, type, mode, pax } = entry.header;
      if (Object.keys(pax ?? {}).some((key) => key.startsWith(SPARSE))) throw badArchive(SPARSE_FILE);
      if (name.includes(NOT_UTF8)) throw badArchive(UNKNOWN_NAMES);
      const kind = type === 'directory' ? type : 'file';
      if (type !== 'directory' && type !== 'file' && type !== 'contiguous-file') throw badArchive(notPlain(name));
      let wanted = false;
      const content = () => ((wanted = true), entry as AsyncIterable<Buffer>);
      yield { path: name, kind, mode: mode ?? 0, content };
      if (!wanted) entry.resume();
    }
  } finally {
    stored.destroy();
    counted.destroy();
  }
}

async function* zipEntries(source: Source, meter: (chunk: Buffer) => void, count: () => void): AsyncGenerator<Found> {
  const zip = await openZip(source);
  let chinese: Promise<boolean> | undefined;
  const isGbk = () => (chinese ??= undeclaredNames(source).then(isChinese));
  try {
    if (zip.entryCount > MAX_ENTRIES) throw tooLarge(`has more than ${MAX_ENTRIES} entries`);
    for (let entry = await nextEntry(zip); entry; entry = await nextEntry(zip)) {
      count();
      const at = entry;
      const { externalFileAttributes, versionMadeBy, generalPurposeBitFlag } = at;
      const fileName = await zipName(at, isGbk);
      if (generalPurposeBitFlag & 1) throw badArchive('is encrypted');
      // Only archives written on Unix have a mode, in the upper half.
      const mode = versionMadeBy >> 8 === 3 ? externalFileAttributes >>> 16 : 0;
      const type = mode & 0o170000;
      const isMarked = type === 0 && at.uncompressedSize === 0 && (externalFileAttributes & DOS_FOLDER) !== 0;
      const kind = fileName.endsWith('/') || isMarked ? 'directory' : 'file';
      if (kind === 'file' && !ZIP_METHODS.has(at.compressionMethod))
        throw badArchive(unknownMethod(at.compressionMethod));
      if (type !== 0 && type !== (kind === 'file' ? 0o100000 : 0o040000)) throw badArchive(notPlain(fileName));
      const content = () => (kind === 'directory' ? Readable.from([]) : openEntry(zip, at, meter));
      yield { path: fileName, kind, mode: mode & 0o777, content };
    }
  } finally {
    zip.close();
  }
}

/** Returns the names whose encoding no field tells. The archive has at most `MAX_ENTRIES` entries. */
async function undeclaredNames(source: Source): Promise<Buffer[]> {
  const zip = await openZip(source);
  const names: Buffer[] = [];
  try {
    for (let entry = await nextEntry(zip); entry; entry = await nextEntry(zip))
      if (!isDeclared(entry)) names.push(entry.fileNameRaw);
    return names;
  } finally {
    zip.close();
  }
}

/** Reads the archive by position for yauzl. */
class SourceReader extends RandomAccessReader {
  readonly #source: Source;

  constructor(source: Source) {
    super();
    this.#source = source;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return this.#source.stream(start, end - 1);
  }
}

function openZip(source: Source): Promise<ZipFile> {
  const options = { lazyEntries: true, autoClose: false };
  return new Promise((resolve, reject) => {
    fromRandomAccessReader(new SourceReader(source), source.sizeBytes, options, (error, zip) =>
      error ? reject(error) : resolve(zip),
    );
  });
}

function nextEntry(zip: ZipFile): Promise<ZipEntry | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<ZipEntry | undefined>();
  const end = () => resolve(undefined);
  zip.once('entry', resolve).once('end', end).once('error', reject);
  zip.readEntry();
  return promise.finally(() => zip.off('entry', resolve).off('end', end).off('error', reject));
}

function openEntry(zip: ZipFile, entry: ZipEntry, meter: (chunk: Buffer) => void): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error) reject(error);
      // Readers get errors from the last stream. Later ones are dropped here.
      else resolve(pipeline(stream, metered(meter), () => {}).on('error', () => {}));
    });
  });
}

/** Throws if an entry's path is not below the target folder. */
function checkPath(path: string): void {
  if (path.split('/').includes('..') || path.startsWith('/')) throw badArchive(OUTSIDE);
  const problem = pathProblem(path);
  if (problem !== undefined) throw badArchive(`contains a path that ${problem}`);
}

function unknownMethod(method: number): string {
  const name = METHOD_NAMES.get(method) ?? `method ${method}`;
  return `is compressed with ${name}, which is not supported here; pack it again with Deflate`;
}

function notPlain(name: string): string {
  return `contains something other than a file or directory: ${name.replaceAll(/\p{Cc}/gu, '\uFFFD').slice(0, 256)}`;
}

function problemOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ZSTD_error_frameParameter_windowTooLarge')
    return 'needs a window of more than 8 MiB; compress it without --long and --ultra';
  if (message.startsWith('Invalid tar header')) return 'is damaged, or compresses a single file instead of a tar';
  // The zip reader validates names itself, before `checkPath` sees them.
  return /^(?:absolute|invalid relative) path: /.test(message) ? OUTSIDE : 'is damaged';
}
