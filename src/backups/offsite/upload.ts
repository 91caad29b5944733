import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { MIB } from '../../kernel/units.ts';
import type { Bucket, OpenUpload, SentPart } from './bucket.ts';
import { etagOf } from './s3.ts';

/** Most parts in flight. One more is in memory while it is read. */
const PARTS_AT_ONCE = 3;
const PART_BYTES = 8 * MIB;
/** S3 allows 10 000. */
const MOST_PARTS = 9_000;
const READ_BYTES = MIB;

/** Returns the size of an archive's parts, large enough that there are not too many. */
export function partBytesFor(sizeBytes: number): number {
  return Math.max(PART_BYTES, Math.ceil(sizeBytes / MOST_PARTS / MIB) * MIB);
}

export interface UploadOptions {
  bucket: Bucket;
  upload: OpenUpload;
  sizeBytes: number;
  partBytes: number;
  /** The parts already in the bucket. Parts with other content are sent again. */
  sent: readonly SentPart[];
  signal: AbortSignal;
  /** Called with all bytes in order, in small pieces, before their part is sent. */
  check: (bytes: Buffer) => void;
  /** Called when the bucket has received another part. */
  onPart: () => Promise<void> | void;
}

/**
 * Sends the parts of a file that the bucket does not have yet, and returns all parts. Ends with the first part that
 * fails.
 */
export async function sendParts(file: FileHandle, options: UploadOptions): Promise<SentPart[]> {
  const { bucket, upload, sizeBytes, partBytes, sent, check, onPart } = options;
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const parts: SentPart[] = [];
  const inFlight = new Set<Promise<void>>();
  /** Memory of finished parts, for reuse. */
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

/** Reads a part into memory. Hashes it piece by piece, so that other work runs in between. */
async function readPart(file: FileHandle, at: number, bytes: Buffer, check: (piece: Buffer) => void) {
  const hash = createHash('sha256');
  for (let from = 0; from < bytes.length;) {
    const { bytesRead } = await file.read(bytes, from, Math.min(READ_BYTES, bytes.length - from), at + from);
    if (bytesRead === 0) throw new Error('the archive file has become shorter');
    const piece = bytes.subarray(from, from + bytesRead);
    hash.update(piece);
    check(piece);
    from += bytesRead;
  }
  return { bytes, sha256: hash.digest('hex') };
}
