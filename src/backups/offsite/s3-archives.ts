import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { MIB } from '../../kernel/units.ts';
import type { Base } from '../base.ts';
import { ArchiveCorrupt } from '../errors.ts';
import type { Ref } from '../rows.ts';
import type { ArchiveStore } from './archive-store.ts';
import type { Bucket, OpenUpload, SentPart } from './bucket.ts';
import * as rows from './rows.ts';
import { etagOf, isBucketGone } from './s3.ts';

/** Most parts in flight. One more is in memory while it is read. */
const PARTS_AT_ONCE = 3;
const PART_BYTES = 8 * MIB;
/** S3 allows 10 000. */
const MOST_PARTS = 9_000;
const READ_BYTES = MIB;

/** The bucket and key of an archive. */
interface Target {
  bucket: Bucket;
  key: string;
  sizeBytes: number;
  sha256: string;
}

/** An upload that has begun, in parts of `partBytes`. */
interface Begun {
  upload: OpenUpload;
  partBytes: number;
  /** The parts already in the bucket. Parts with other content are sent again. */
  sent: readonly SentPart[];
}

/** Archives in a bucket. Each is one object, uploaded in parts. */
export function createS3Archives(bucket: Bucket): ArchiveStore {
  return {
    async send(base, { row, backup, file, sizeBytes }, signal) {
      const { at } = base;
      const { sealedBy, sha256 } = backup;
      const target = { bucket, key: keyIn(backup), sizeBytes, sha256 };
      if (await isThere(target)) return sizeBytes;
      const begun = await resumed(base, row, target);
      const hash = createHash('sha256');
      const onPart = () => at('part-sent');
      const check = (bytes: Buffer) => void hash.update(bytes);
      const parts = await sendParts(file, target, begun, signal, { check, onPart });
      // Encrypted archives are verified piece by piece on reading: the checksum is of the plain bytes.
      if (sealedBy === '' && hash.digest('hex') !== sha256) {
        await bucket.abort(begun.upload);
        throw new ArchiveCorrupt('it is damaged');
      }
      signal.throwIfAborted();
      await at('parts-sent');
      // If only the answer was lost, the object exists nevertheless.
      await bucket.complete(begun.upload, parts).catch(async (error: unknown) => {
        if (!(await isThere(target))) throw error;
      });
      await at('upload-completed');
      if (!(await isThere(target))) throw new Error('the store does not have the uploaded archive');
      return sizeBytes;
    },
    sizeOf: async (backup) => (await bucket.head(keyIn(backup)))?.sizeBytes,
    read: (backup, range) => bucket.read(keyIn(backup), range),
    async remove(ref) {
      const key = keyIn(ref);
      for (const upload of await bucket.uploads(key)) if (upload.key === key) await bucket.abort(upload);
      await bucket.remove(key);
    },
    async list() {
      const archives = (await bucket.list('')).filter(({ key }) => isArchiveKey(key));
      return archives.map(({ key, at }) => ({ id: archiveOf(key), at }));
    },
    /** Ends our uploads without a row, because their parts use space invisibly. */
    async sweep({ store, log }) {
      const owned = new Set((await rows.listUploads(store)).map(({ uploadId }) => uploadId));
      for (const upload of await bucket.uploads('')) {
        if (owned.has(upload.uploadId) || !isArchiveKey(upload.key)) continue;
        log.info({ key: upload.key }, 'an unfinished off-site upload of an earlier process is removed');
        await bucket.abort(upload);
      }
    },
    compact: async () => {},
    isGone: isBucketGone,
  };
}

async function isThere({ bucket, key, sizeBytes, sha256 }: Target): Promise<boolean> {
  const found = await bucket.head(key);
  return found?.sizeBytes === sizeBytes && found.sha256 === sha256;
}

/** Returns the upload begun by an earlier attempt with its received parts, or a new one. */
async function resumed({ store, at }: Base, row: rows.BackupUploadRow, target: Target): Promise<Begun> {
  const { bucket, key, sizeBytes, sha256 } = target;
  if (row.uploadId !== '') {
    const upload: OpenUpload = { key, uploadId: row.uploadId };
    const sent = await bucket.parts(upload);
    if (sent) return { upload, partBytes: row.partBytes, sent };
  }
  const partBytes = partBytesFor(sizeBytes);
  const upload: OpenUpload = { key, uploadId: await bucket.begin(key, sha256) };
  await at('upload-begun');
  // If the backup is gone, its recorded removal ends the upload.
  await store.write((tx) => rows.noteUpload(tx, row, upload.uploadId, partBytes));
  await at('upload-noted');
  return { upload, partBytes, sent: [] };
}

/** Returns the size of an archive's parts, large enough that there are not too many. */
function partBytesFor(sizeBytes: number): number {
  return Math.max(PART_BYTES, Math.ceil(sizeBytes / MOST_PARTS / MIB) * MIB);
}

/**
 * Sends the parts of a file that the bucket does not have yet, and returns all parts. Ends with the first part that
 * fails.
 */
async function sendParts(
  file: FileHandle,
  { bucket, sizeBytes }: Target,
  { upload, partBytes, sent }: Begun,
  ended: AbortSignal,
  {
    check,
    onPart,
  }: {
    /** Called with all bytes in order, in small pieces, before their part is sent. */
    check: (bytes: Buffer) => void;
    /** Called when the bucket has received another part. */
    onPart: () => Promise<void> | void;
  },
): Promise<SentPart[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([ended, failed.signal]);
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

/** Returns the key of a backup's archive. Both ids are ours. */
function keyIn({ serverId, id }: Ref): string {
  return `${serverId}/${id}.tar.zst`;
}

/** Returns `<server>/<backup>` from an archive's key. */
function archiveOf(key: string): string {
  return key.slice(0, key.indexOf('.'));
}

/** Reports whether a key has the form of an archive's. */
function isArchiveKey(key: string): boolean {
  return /^[a-z0-9-]+\/\w+\.tar\.zst$/.test(key);
}
