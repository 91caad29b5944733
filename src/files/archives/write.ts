import { Readable, pipeline } from 'node:stream';
import { type Pack, pack as tarPack } from 'tar-stream';
import { ZipFile } from 'yazl';
import { bytesFile } from '../../jail/files.ts';
import { openIfThere } from '../../jail/if-there.ts';
import type { Jail, JailFile, TreeEntry } from '../../jail/jail.ts';
import { INT32_MAX, KIB, SECOND_MS } from '../../kernel/units.ts';
import { type ArchiveFormat, compressor, inBlocks } from './format.ts';

/** A file or directory to archive, with its name in the archive. */
export type Packed = Pick<TreeEntry, 'path' | 'kind' | 'mode' | 'modifiedAt' | 'open'>;

/** Files that compression would only enlarge, slowly. */
const COMPRESSED = /\.(?:jar|zip|gz|tgz|zst|xz|bz2|7z|mca|mcr|png|jpg|jpeg|ogg|webp)$/i;
const CHUNK_BYTES = 256 * KIB;
const ZEROS = Buffer.alloc(64 * KIB);

/**
 * Streams an archive of the given entries without holding more than the data in flight. Errors destroy the stream.
 * Skips files that have vanished. `settled` is called when the entries are no longer used, possibly some time after the
 * stream was destroyed.
 */
export function archiveStream(
  format: ArchiveFormat,
  entries: AsyncIterable<Packed>,
  settled: () => void = () => {},
): Readable {
  if (format === 'zip') return zipStream(entries, settled);
  const pack = tarPack();
  pack.on('error', () => {});
  packAll(pack, entries)
    .finally(settled)
    .then(
      () => pack.finalize(),
      (error: Error) => pack.destroy(error),
    );
  const tar = Readable.from(pack, { objectMode: false });
  const compressing = compressor(format);
  return quietly(compressing ? pipeline(tar, inBlocks, compressing, () => {}) : tar);
}

/** Yields paths of a jail with everything below them. Names in the archive are relative to their common directory. */
export async function* packedPaths(jail: Jail, paths: readonly string[]): AsyncGenerator<Packed> {
  const common = commonDirectory(paths);
  for (const path of paths) {
    const { kind, mode, modifiedAt } = await jail.stat(path);
    const name = path.slice(common.length).replace(/^\//, '');
    if (kind === 'file') yield { path: name, kind, mode, modifiedAt, open: () => jail.open(path) };
    if (kind !== 'directory') continue;
    if (name !== '') yield { path: name, kind, mode, modifiedAt, open: () => jail.open(path) };
    for await (const entry of jail.tree(path)) {
      yield { ...entry, path: name === '' ? entry.path : `${name}/${entry.path}`, open: () => entry.open() };
    }
  }
}

/** Yields a text as a file, then the entries except one of the same path. */
export async function* withText(
  entries: AsyncIterable<Packed>,
  { path, text }: { path: string; text: string },
): AsyncGenerator<Packed> {
  const bytes = Buffer.from(text);
  const [kind, mode, modifiedAt] = ['file', 0o644, 0] as const;
  const entry = { name: path, kind, mode, modifiedAt, sizeBytes: bytes.length, version: '' };
  yield { path, kind, mode, modifiedAt, open: async () => bytesFile(entry, bytes) };
  for await (const each of entries) if (each.path !== path) yield each;
}

/**
 * Clamps a time to the range of both formats, 32 bits of seconds. Before 1970, yazl would throw inside a stream of its
 * own.
 */
function dateOf(modifiedAt: number): Date {
  return new Date(Math.min(Math.max(0, modifiedAt), INT32_MAX * SECOND_MS));
}

function commonDirectory(paths: readonly string[]): string {
  const parents = paths.map((path) => path.split('/').slice(0, -1));
  const [first = []] = parents;
  const shared = first.findIndex((name, depth) => parents.some((names) => names[depth] !== name));
  return first.slice(0, shared === -1 ? first.length : shared).join('/');
}

async function packAll(pack: Pack, entries: AsyncIterable<Packed>): Promise<void> {
  const gone = unread(pack);
  for await (const { path, kind, mode, modifiedAt, open } of entries) {
    const header = { name: path, mode, mtime: dateOf(modifiedAt) };
    if (kind === 'directory') await packEntry(pack, { ...header, type: 'directory' }, [], gone);
    else {
      await using file = await openIfThere(open);
      if (file === undefined) continue;
      const { sizeBytes } = await file.stat();
      await packEntry(pack, { ...header, size: sizeBytes }, exactly(file, sizeBytes), gone);
    }
  }
}

async function packEntry(
  pack: Pack,
  header: Parameters<Pack['entry']>[0],
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  gone: Promise<never>,
): Promise<void> {
  const { promise: packed, resolve, reject } = Promise.withResolvers<void>();
  const sink = pack.entry(header, (error) => (error ? reject(error) : resolve()));
  // The callback reports the error, too.
  sink.on('error', () => {});
  const over = Promise.race([packed, gone]);
  over.catch(() => {});
  for await (const chunk of chunks) {
    if (sink.write(chunk)) continue;
    await Promise.race([over, new Promise<void>((drained) => void sink.once('drain', () => drained()))]);
  }
  sink.end(undefined);
  await over;
}

/**
 * Yields exactly `sizeBytes` of a file. A tar header states the size in advance, so a file that shrinks is padded with
 * zeros, as by tar itself.
 */
async function* exactly(file: JailFile, sizeBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < sizeBytes;) {
    const read = await file.read(at, Math.min(CHUNK_BYTES, sizeBytes - at));
    const chunk = read.length > 0 ? read : ZEROS.subarray(0, Math.min(ZEROS.length, sizeBytes - at));
    at += chunk.length;
    yield chunk;
  }
}

/** Readers get errors. Without a reader, they are dropped. */
function quietly<T extends Readable>(stream: T): T {
  return stream.on('error', () => {});
}

/** Returns a promise that rejects once the archive's reader has gone. */
function unread(output: { once(event: 'close', listener: () => void): unknown }): Promise<never> {
  const gone = new Promise<never>((_resolve, reject) => {
    output.once('close', () => reject(new Error('the reader of the archive has disconnected')));
  });
  gone.catch(() => {});
  return gone;
}

function zipStream(entries: AsyncIterable<Packed>, settled: () => void): Readable {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const fail = (error: Error) => output.destroy(error);
  zip.on('error', fail);
  zipAll(zip, output, entries)
    .finally(settled)
    .then(() => zip.end(), fail);
  return quietly(output);
}

async function zipAll(zip: ZipFile, output: Readable, entries: AsyncIterable<Packed>): Promise<void> {
  const gone = unread(output);
  for await (const { path, kind, mode, modifiedAt, open } of entries) {
    // In a zip, a backslash would be a separator, and a letter with a colon a drive.
    const name = path.replaceAll('\\', '_').replace(/^([a-z]):/i, '$1_');
    const options = { mtime: dateOf(modifiedAt), mode: mode | (kind === 'directory' ? 0o040000 : 0o100000) };
    if (kind === 'directory') {
      zip.addEmptyDirectory(name, options);
      continue;
    }
    const file = await openIfThere(open);
    if (file === undefined) continue;
    // Uses the current size, because reading a log that keeps growing would not end.
    const { sizeBytes } = await file.stat();
    const stream = sizeBytes > 0 ? file.stream({ start: 0, end: sizeBytes - 1 }) : Readable.from([]);
    if (sizeBytes === 0) await file.close();
    const ended = new Promise<void>((resolve, reject) => stream.once('close', resolve).once('error', reject));
    zip.addReadStream(stream, name, { ...options, compress: !COMPRESSED.test(name) });
    try {
      await Promise.race([ended, gone]);
    } finally {
      stream.destroy();
    }
  }
}
