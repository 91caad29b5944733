import { PassThrough, Readable, pipeline } from 'node:stream';
import { extract as tarExtract } from 'tar-stream';
import { fromRandomAccessReader, RandomAccessReader } from 'yauzl';
import type { Entry as ZipEntry, ZipFile } from 'yauzl';
import { badArchive, decompressor, formatOfContent, MAGIC_BYTES } from './archive-format.ts';
import type { ArchiveFormat } from './archive-format.ts';
import type { JailFile } from './jail.ts';
import { pathProblem } from './jail-path.ts';
import { StatusError } from '../status.ts';

/** What an archive holds, one at a time; a file's `content` is read before the next. */
export interface Unpacked {
  path: string;
  kind: 'file' | 'directory';
  mode: number;
  content: AsyncIterable<Buffer>;
}

const MAX_ENTRIES = 100_000;
/** How much more may come out than went in, once it is so much that it matters. */
const MAX_RATIO = 100;
const RATIO_FROM_BYTES = 10 * 1024 * 1024;

/**
 * The files and directories of an archive, whatever its name. Throws INVALID_ARGUMENT: UNKNOWN_ARCHIVE for none of the
 * kinds taken; BAD_ARCHIVE for one that is damaged or encrypted, or holds anything but plain files and directories with
 * paths within it; ARCHIVE_TOO_LARGE for more than 100 000 entries, or for a bomb: what comes out is counted as it comes.
 */
export async function* unpack(archive: JailFile): AsyncGenerator<Unpacked> {
  const { sizeBytes } = await archive.stat();
  const format = formatOfContent(Buffer.concat([await archive.read(0, MAGIC_BYTES)], MAGIC_BYTES));
  const meter = createMeter(sizeBytes);
  try {
    let count = 0;
    for await (const entry of format === 'zip'
      ? zipEntries(archive, sizeBytes, meter)
      : tarEntries(archive, format, meter)) {
      if (++count > MAX_ENTRIES) throw tooLarge(`has more than ${MAX_ENTRIES} entries`);
      yield { ...entry, path: checkedPath(entry.path), content: contentOf(entry.content) };
    }
  } catch (error) {
    throw damaged(error);
  }
}

async function* contentOf(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* content;
  } catch (error) {
    throw damaged(error);
  }
}

function damaged(error: unknown): StatusError {
  return error instanceof StatusError ? error : badArchive('is damaged', error);
}

/** Counts what comes out of an archive of so many bytes. */
function createMeter(archiveBytes: number): (chunk: Buffer) => void {
  let out = 0;
  return (chunk) => {
    out += chunk.length;
    if (out > RATIO_FROM_BYTES && out > archiveBytes * MAX_RATIO) {
      throw tooLarge(`holds more than ${MAX_RATIO} times its own size`);
    }
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

async function* tarEntries(
  archive: JailFile,
  format: Exclude<ArchiveFormat, 'zip'>,
  meter: (chunk: Buffer) => void,
): AsyncGenerator<Unpacked> {
  const tar = tarExtract();
  const counted = metered(meter);
  const source = archive.stream({ keepOpen: true });
  const inflating = decompressor(format);
  // Errors come out of the last, which is read here; what is left behind is destroyed with it.
  const done = (error?: Error | null) => void (error && tar.destroy(error));
  if (inflating) pipeline(source, inflating, counted, done);
  else pipeline(source, counted, done);
  counted.pipe(tar);
  try {
    for await (const entry of tar) {
      const { name, type, mode } = entry.header;
      const kind = type === 'directory' ? type : 'file';
      if (type !== 'directory' && type !== 'file' && type !== 'contiguous-file') throw badArchive(notPlain(name));
      yield { path: name, kind, mode, content: entry as AsyncIterable<Buffer> };
    }
  } finally {
    source.destroy();
    counted.destroy();
  }
}

async function* zipEntries(
  archive: JailFile,
  sizeBytes: number,
  meter: (chunk: Buffer) => void,
): AsyncGenerator<Unpacked> {
  const zip = await openZip(archive, sizeBytes);
  try {
    if (zip.entryCount > MAX_ENTRIES) throw tooLarge(`has more than ${MAX_ENTRIES} entries`);
    for (let entry = await nextEntry(zip); entry; entry = await nextEntry(zip)) {
      const { fileName, externalFileAttributes, versionMadeBy, generalPurposeBitFlag } = entry;
      if (generalPurposeBitFlag & 1) throw badArchive('is encrypted');
      // Only what a Unix wrote has a mode, in the upper half.
      const mode = versionMadeBy >> 8 === 3 ? externalFileAttributes >>> 16 : 0;
      const type = mode & 0o170000;
      const kind = fileName.endsWith('/') ? 'directory' : 'file';
      if (type !== 0 && type !== (kind === 'file' ? 0o100000 : 0o040000)) throw badArchive(notPlain(fileName));
      const content = kind === 'directory' ? Readable.from([]) : await openEntry(zip, entry, meter);
      yield { path: fileName, kind, mode: mode & 0o777, content };
    }
  } finally {
    zip.close();
  }
}

/** The archive as yauzl reads it: by position. It is closed by whoever opened it. */
class JailReader extends RandomAccessReader {
  readonly #file: JailFile;

  constructor(file: JailFile) {
    super();
    this.#file = file;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return this.#file.stream({ start, end: end - 1, keepOpen: true });
  }
}

function openZip(archive: JailFile, sizeBytes: number): Promise<ZipFile> {
  const options = { lazyEntries: true, autoClose: false };
  return new Promise((resolve, reject) => {
    fromRandomAccessReader(new JailReader(archive), sizeBytes, options, (error, zip) =>
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
      // Who reads the last of them hears of errors; who has stopped reading need not.
      else resolve(pipeline(stream, metered(meter), () => {}).on('error', () => {}));
    });
  });
}

/** Where an entry says it belongs, which must be below where it is unpacked. */
function checkedPath(path: string): string {
  const problem =
    path.split('/').includes('..') || path.startsWith('/') ? 'must stay within the archive' : pathProblem(path);
  if (problem !== undefined) throw badArchive(`holds a path that ${problem}`);
  return path;
}

function notPlain(name: string): string {
  return `holds something that is no plain file or directory: ${name.replaceAll(/\p{Cc}/gu, '\uFFFD').slice(0, 256)}`;
}

function tooLarge(problem: string): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'ARCHIVE_TOO_LARGE', `The archive ${problem}.`);
}
