import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { MIB } from '../../kernel/units.ts';
import type { Bucket, OpenUpload, SentPart } from './bucket.ts';
import { etagOf } from './s3.ts';

/** Parts held in memory: this many, and the one being read. */
const PARTS_AT_ONCE = 3;
const PART_BYTES = 8 * MIB;
/** S3 takes 10 000. */
const MOST_PARTS = 9_000;
const READ_BYTES = MIB;

/** How large the parts of an archive are: a MiB or more, so that there are not too many. */
export function partBytesFor(sizeBytes: number): number {
  return Math.max(PART_BYTES, Math.ceil(sizeBytes / MOST_PARTS / MIB) * MIB);
}

export interface UploadOptions {
  bucket: Bucket;
  upload: OpenUpload;
  sizeBytes: number;
  partBytes: number;
  /** The parts already in the bucket; parts of other content are sent again. */
  sent: readonly SentPart[];
  signal: AbortSignal;
  /** Called with all bytes, in their order and in small pieces, those of a part before it is sent. */
  check: (bytes: Buffer) => void;
  /** Called when the bucket has another part. */
  onPart: () => Promise<void> | void;
}

/** Brings a file's bytes into a bucket that does not have them, and gives all parts. Ends with the first part that fails. */
export async function sendParts(file: FileHandle, options: UploadOptions): Promise<SentPart[]> {
  const { bucket, upload, sizeBytes, partBytes, sent, check, onPart } = options;
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const parts: SentPart[] = [];
  const inFlight = new Set<Promise<void>>();
  /** Memory of parts that the bucket has, for those to come. */
  const idle: Buffer[] = [];

  async function send(number: number, part: { bytes: Buffer; sha256: string }, memory: Buffer): Promise<void> {
    parts[number - 1] = await bucket.sendPart(upload, number, part, signal);
    idle.push(memory);
    await onPart();
  }

  try {
    for (let number = 1; (number - 1) * partBytes < sizeBytes; number++) {
      signal.throwIfAborted();
      const at = (number - 1) * partBytes;
      const memory = idle.pop() ?? Buffer.allocUnsafeSlow(Math.min(partBytes, sizeBytes));
      const part = await readPart(file, at, memory.subarray(0, sizeBytes - at), check);
      const known = sent.find((each) => each.number === number);
      if (known && known.sizeBytes === part.bytes.length && known.etag === etagOf(part.bytes)) {
        parts[number - 1] = known;
        idle.push(memory);
        continue;
      }
      const task = send(number, part, memory).finally(() => inFlight.delete(task));
      task.catch(() => {});
      inFlight.add(task);
      if (inFlight.size >= PARTS_AT_ONCE) await Promise.race(inFlight);
    }
    await Promise.all(inFlight);
    return parts;
  } catch (error) {
    failed.abort();
    await Promise.allSettled(inFlight);
    throw error;
  }
}

/** Fills memory with a part. Both sums are taken piece by piece, so that other work goes on in between. */
async function readPart(file: FileHandle, at: number, bytes: Buffer, check: (piece: Buffer) => void) {
  const hash = createHash('sha256');
  for (let from = 0; from < bytes.length;) {
    const { bytesRead } = await file.read(bytes, from, Math.min(READ_BYTES, bytes.length - from), at + from);
    if (bytesRead === 0) throw new Error('the archive is shorter than it was');
    const piece = bytes.subarray(from, from + bytesRead);
    hash.update(piece);
    check(piece);
    from += bytesRead;
  }
  return { bytes, sha256: hash.digest('hex') };
}
