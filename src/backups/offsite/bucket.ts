/** A part of an upload that the bucket has received. Parts are numbered from 1. */
export interface SentPart {
  number: number;
  /** The bucket's identifier of the content. */
  etag: string;
  sizeBytes: number;
}

/** An upload that has begun and not ended. */
export interface OpenUpload {
  key: string;
  uploadId: string;
}

/** Both ends inclusive, as in HTTP. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Objects off site, by keys under one prefix. All methods reject with UNAVAILABLE BACKUP_STORE_AWAY if the store is
 * unreachable, too slow, or refuses; the cause is its answer.
 */
export interface Bucket {
  /** Undefined if there is no such object. `sha256` is the value given at upload; '' if none. */
  head(key: string): Promise<{ sizeBytes: number; sha256: string } | undefined>;
  /** Reads bytes of an object, and resumes after a lost connection. Throws NOT_FOUND BACKUP_FILE_MISSING. */
  read(key: string, range: ByteRange): AsyncIterable<Buffer>;
  /** Returns up to 10 000 objects whose keys have the prefix. `at`: time of writing, epoch ms. */
  list(prefix: string): Promise<{ key: string; at: number }[]>;
  /** Writes a small object in one request. */
  put(key: string, content: Buffer): Promise<void>;
  /** Does nothing if there is no such object. */
  remove(key: string): Promise<void>;
  /** Begins an upload in parts and returns its id. */
  begin(key: string, sha256: string): Promise<string>;
  /** Returns the received parts of an upload; undefined if the upload is unknown because it has ended. */
  parts(upload: OpenUpload): Promise<SentPart[] | undefined>;
  /** Resolves once the bucket has the part, which it verifies against `sha256` (hex). */
  sendPart(
    upload: OpenUpload,
    number: number,
    part: { bytes: Buffer; sha256: string },
    signal: AbortSignal,
  ): Promise<SentPart>;
  /** Creates the object from all its parts, in the order of their numbers. */
  complete(upload: OpenUpload, parts: readonly SentPart[]): Promise<void>;
  /** Ends an upload and removes its parts. Does nothing if it has ended. */
  abort(upload: OpenUpload): Promise<void>;
  /** Returns up to 10 000 open uploads whose keys have the prefix. */
  uploads(prefix: string): Promise<OpenUpload[]>;
}
