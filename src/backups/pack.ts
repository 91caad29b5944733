import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { type ZstdCompress, constants, createZstdCompress } from 'node:zlib';
import { namedInArchive } from '../files/archives/format.ts';
import { type ReadEntry, readTree } from '../jail/read-tree.ts';
import { MIB } from '../kernel/units.ts';
import { job } from '../kernel/workers/job.ts';
import type { BackupFormat } from './rows.ts';

/** A finished archive. */
export interface Archive {
  sizeBytes: number;
  /** The size of the archived files. */
  treeBytes: number;
  /** In hex. */
  sha256: string;
  /** A note for the backup's owner about what the archive lacks; '' if it is complete. */
  note: string;
}

/** Sent before a piece is written: its size, and how much of the files has been read. */
interface PackStep {
  bytes: number;
  treeBytes: number;
  /** Set in the last step. */
  archive?: Archive;
}

/** The worker's descriptors of the job: the archive, open for writing, and the root of the tree. */
const [ARCHIVE, TREE] = [4, 5];

/**
 * Writes a tree as a tar; without a tree, an empty one. File calls block, because this process does nothing
 * else.
 */
export const packTree = job(
  import.meta.url,
  'packTree',
  async function* packTree({ hasTree, format }: { hasTree: boolean; format: BackupFormat }): AsyncGenerator<PackStep> {
    const hash = createHash('sha256');
    let [sizeBytes, treeBytes] = [0, 0];
    let [links, firstLink] = [0, ''];
    const onLink = (path: string): void => {
      firstLink ||= path;
      links += 1;
    };
    const isPlain = format === 'tar';
    const blockBytes = isPlain ? CHUNK_BYTES : BLOCK_BYTES;
    const tar = tarOf(hasTree ? readTree(TREE, onLink) : [], (bytes) => (treeBytes += bytes), blockBytes);
    async function* counted(): AsyncGenerator<Buffer> {
      for await (const chunk of isPlain ? tar : compressed(tar)) {
        sizeBytes += chunk.length;
        hash.update(chunk);
        yield chunk;
      }
    }
    for await (const piece of counted()) {
      yield { bytes: piece.length, treeBytes };
      writeFileSync(ARCHIVE, piece);
    }
    yield {
      bytes: 0,
      treeBytes,
      archive: { sizeBytes, treeBytes, sha256: hash.digest('hex'), note: linksNote(links, firstLink) },
    };
  },
);

function linksNote(count: number, first: string): string {
  if (count === 0) return '';
  const which = count === 1 ? `The symbolic link ${first} is` : `${count} symbolic links (${first} and others) are`;
  return `${which} not in this backup. Linked files are not included. Move them into the server’s folder to back them up.`;
}

/**
 * Each piece is announced to another process before it is written, which costs more than the memory of a large piece.
 */
const CHUNK_BYTES = 4 * MIB;
/** A world is compressed already (region files contain deflated chunks), so a higher level hardly makes it smaller. */
const LEVEL = 1;

/**
 * Compresses bytes with Zstandard (RFC 8878). Requests the next block while another thread compresses the current one;
 * the block before may then be reused.
 */
async function* compressed(blocks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  // No checksum, because each archive has its SHA-256.
  const params = { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 0 };
  const zstd = createZstdCompress({ params, chunkSize: CHUNK_BYTES });
  const fed = feed(zstd, blocks);
  fed.catch((error: Error) => zstd.destroy(error));
  try {
    yield* zstd;
    await fed;
  } finally {
    zstd.destroy();
  }
}

async function feed(zstd: ZstdCompress, blocks: Iterable<Buffer>): Promise<void> {
  let written = Promise.resolve();
  for (const block of blocks) {
    await written;
    written = new Promise((resolve, reject) => {
      zstd.write(block, (error) => (error ? reject(error) : resolve()));
    });
    // Awaited before the next block is written.
    written.catch(() => {});
  }
  await written;
  zstd.end();
}

const BLOCK_BYTES = MIB;
const RECORD_BYTES = 512;
const END = Buffer.alloc(2 * RECORD_BYTES);
/** Limits of a header (POSIX.1-2017, pax, ustar Interchange Format). */
const [NAME_BYTES, PREFIX_BYTES, OCTAL_MOST] = [100, 155, 0o77777777777];
/** A header with the constant fields: owner, magic and version, device numbers. */
const TEMPLATE = template();

/**
 * Yields the bytes of a tar (POSIX.1-2017, pax), in two reused blocks: a block is valid until the second one after it
 * is requested. Each file is as long as its entry says; truncated bytes become zeros. `packed` gets each file's size.
 *
 * tar-stream, which reads archives, would write the same bytes, but its streams make small files 50 % more expensive.
 */
export function* tarOf(
  entries: Iterable<ReadEntry>,
  packed: (bytes: number) => void,
  blockBytes = BLOCK_BYTES,
): Generator<Buffer> {
  const spare = [Buffer.allocUnsafeSlow(blockBytes), Buffer.allocUnsafeSlow(blockBytes)] as const;
  let block: Buffer = spare[0];
  let filled = 0;
  const full = (): Buffer => {
    const bytes = block.subarray(0, filled);
    block = block === spare[0] ? spare[1] : spare[0];
    filled = 0;
    return bytes;
  };
  for (const entry of entries) {
    const headers = headersOf(entry);
    if (filled + headers.length > blockBytes) yield full();
    filled += headers.copy(block, filled);
    for (let position = 0; position < entry.sizeBytes;) {
      if (filled === blockBytes) yield full();
      const length = Math.min(entry.sizeBytes - position, blockBytes - filled);
      fill(entry, position, block, filled, length);
      position += length;
      filled += length;
    }
    const end = recordsOf(filled);
    block.fill(0, filled, end);
    filled = end;
    packed(entry.sizeBytes);
  }
  if (filled + END.length > blockBytes) yield full();
  filled += END.copy(block, filled);
  yield full();
}

function fill(entry: ReadEntry, position: number, block: Buffer, offset: number, length: number): void {
  let done = 0;
  for (let read = -1; read !== 0 && done < length; done += read) {
    read = entry.read(block, offset + done, length - done, position + done);
  }
  block.fill(0, offset + done, offset + length);
}

/** Returns the headers before an entry's content. A name that does not fit gets its own record. */
function headersOf(entry: ReadEntry): Buffer {
  const { name, pax } = namedInArchive(entry);
  const records = Object.entries(pax ?? {});
  const type = entry.kind === 'directory' ? '5' : '0';
  if (records.length === 0 && placed(name) !== undefined) return header(entry, name, type, entry.sizeBytes);
  const extended = Buffer.from(
    [['path', name], ...records].map(([key, value]) => record(` ${key}=${value}\n`)).join(''),
  );
  const padded = Buffer.alloc(recordsOf(extended.length));
  extended.copy(padded);
  return Buffer.concat([
    header(entry, 'PaxHeader', 'x', extended.length),
    padded,
    header(entry, 'PaxHeader', type, entry.sizeBytes),
  ]);
}

/** Formats `<length> <key>=<value>\n`; the length includes its own digits. */
function record(text: string): string {
  const bytes = Buffer.byteLength(text);
  const total = bytes + String(bytes).length;
  return `${bytes + String(total).length}${text}`;
}

function header({ mode, modifiedAt }: ReadEntry, path: string, type: '0' | '5' | 'x', sizeBytes: number): Buffer {
  const bytes = Buffer.from(TEMPLATE);
  const { name, prefix } = placed(path)!;
  bytes.write(name, 0, 'latin1');
  bytes.write(octal(mode, 6), 100, 'latin1');
  if (sizeBytes <= OCTAL_MOST) bytes.write(octal(sizeBytes, 11), 124, 'latin1');
  else {
    // As in GNU tar: the number in binary, after a marker bit.
    bytes[124] = 0x80;
    bytes.writeUIntBE(sizeBytes, 130, 6);
  }
  bytes.write(octal(Math.min(Math.max(0, Math.trunc(modifiedAt / 1_000)), OCTAL_MOST), 11), 136, 'latin1');
  bytes.write(type, 156, 'latin1');
  bytes.write(prefix, 345, 'latin1');
  let sum = 8 * 0x20;
  // The buffer's iterator would take longer than everything else.
  for (let at = 0; at < RECORD_BYTES; at++) sum += bytes[at]!;
  bytes.write(octal(sum, 6), 148, 'latin1');
  return bytes;
}

/** Splits a path for a header, at a slash if it is long. Returns undefined if it does not fit. */
function placed(path: string): { name: string; prefix: string } | undefined {
  if (Buffer.byteLength(path) !== path.length) return undefined;
  if (path.length <= NAME_BYTES) return { name: path, prefix: '' };
  const slash = path.indexOf('/', path.length - NAME_BYTES - 1);
  return slash === -1 || slash > PREFIX_BYTES
    ? undefined
    : { name: path.slice(slash + 1), prefix: path.slice(0, slash) };
}

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, '0')} `;
}

function recordsOf(bytes: number): number {
  return Math.ceil(bytes / RECORD_BYTES) * RECORD_BYTES;
}

function template(): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES);
  for (const at of [108, 116, 329, 337]) bytes.write(octal(0, 6), at, 'latin1');
  bytes.write('ustar\u000000', 257, 'latin1');
  return bytes;
}
