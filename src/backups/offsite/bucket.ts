/** A piece of an upload that the bucket has. Pieces are numbered from 1. */
export interface SentPart {
  number: number;
  /** The bucket's identifier of the content. */
  etag: string;
  sizeBytes: number;
}

/** An upload that was begun and has not ended. */
export interface OpenUpload {
  key: string;
  uploadId: string;
}

/** Both ends included, as in HTTP. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Objects off site, by keys below one prefix. All methods reject with UNAVAILABLE BACKUP_STORE_AWAY where the store cannot be
 * reached, takes too long, or refuses; what it answered is the cause.
 */
export interface Bucket {
  /** Undefined: there is no such object. `sha256` is what its upload said, '' for one that said nothing. */
  head(key: string): Promise<{ sizeBytes: number; sha256: string } | undefined>;
  /** The bytes of an object, gone on with after a cut. NOT_FOUND BACKUP_FILE_MISSING. */
  read(key: string, range: ByteRange): AsyncIterable<Buffer>;
  /** Up to 10 000 of the objects whose keys begin so; `at`: when they were written, epoch ms. */
  list(prefix: string): Promise<{ key: string; at: number }[]>;
  /** Writes a small object whole. */
  put(key: string, content: Buffer): Promise<void>;
  /** No such object is fine. */
  remove(key: string): Promise<void>;
  /** Begins an upload in parts, and gives its id. */
  begin(key: string, sha256: string): Promise<string>;
  /** The parts of an upload; undefined: the bucket does not know the upload, as it has ended. */
  parts(upload: OpenUpload): Promise<SentPart[] | undefined>;
  /** Resolves once the bucket has the part; it checks the bytes against `sha256` (hex). */
  sendPart(
    upload: OpenUpload,
    number: number,
    part: { bytes: Buffer; sha256: string },
    signal: AbortSignal,
  ): Promise<SentPart>;
  /** Makes the object from all its parts, in the order of their numbers. */
  complete(upload: OpenUpload, parts: readonly SentPart[]): Promise<void>;
  /** Ends an upload and removes its parts. One that has ended is fine. */
  abort(upload: OpenUpload): Promise<void>;
  /** Up to 10 000 of the uploads that were begun and have not ended, of keys that begin so. */
  uploads(prefix: string): Promise<OpenUpload[]>;
}
