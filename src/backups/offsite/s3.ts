import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type * as Sdk from '@aws-sdk/client-s3';
import type { Clock } from '../../kernel/clock.ts';
import { once } from '../../kernel/once.ts';
import { sleep } from '../../kernel/sleep.ts';
import { StatusError } from '../../kernel/status.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { filesMissing, storeAway } from '../errors.ts';
import type { Bucket, ByteRange, OpenUpload, SentPart } from './bucket.ts';

/** A bucket and our prefix in it. */
export interface BucketPlace {
  bucket: string;
  /** Without leading and trailing slashes; may be empty. */
  prefix: string;
}

const CONNECT_MS = 10_000;
/** A connection without a byte for this long is dead. */
const SILENT_MS = MINUTE_MS;
/** Time limit of one request, including a part of an upload on a slow connection. */
const REQUEST_MS = 900_000;
const ATTEMPTS = 3;
/** Consecutive attempts of a read that receives nothing. */
const READ_TRIES = 5;
const READ_PAUSE_MS = 500;
const MOST_PAGES = 10;
const SHA256 = 'sha256';

/**
 * Buckets of an S3-compatible store, through Amazon's client. Empty texts: the defaults of Amazon's own tools. The
 * client is loaded with the first request, because it takes a fifth of a second and 30 MB.
 */
export function createS3({
  endpoint,
  region,
  pathStyle,
  accessKeyId,
  secretAccessKey,
  clock,
}: {
  endpoint: string;
  region: string;
  /** Whether the bucket is in the path of the address instead of its host. */
  pathStyle: boolean;
  accessKeyId: string;
  secretAccessKey: string;
  clock: Clock;
}): (place: BucketPlace) => Bucket {
  const connect = once(async (): Promise<Connection> => {
    const sdk = await import('@aws-sdk/client-s3');
    const client = new sdk.S3Client({
      ...(endpoint !== '' && { endpoint }),
      ...(region !== '' && { region }),
      ...(accessKeyId !== '' && { credentials: { accessKeyId, secretAccessKey } }),
      forcePathStyle: pathStyle,
      maxAttempts: ATTEMPTS,
      // Not every store supports newer checksums. Parts are signed with their SHA-256, which all stores verify.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        socketTimeout: SILENT_MS,
        requestTimeout: REQUEST_MS,
        throwOnRequestTimeout: true,
      },
    });
    return { sdk, client };
  });
  return (place) => new S3Bucket(place, connect, clock);
}

interface Connection {
  sdk: typeof Sdk;
  client: Sdk.S3Client;
}

class S3Bucket implements Bucket {
  readonly #bucket: string;
  /** Prefix of all our keys. */
  readonly #below: string;
  readonly #connect: () => Promise<Connection>;
  readonly #clock: Clock;

  constructor({ bucket, prefix }: BucketPlace, connect: () => Promise<Connection>, clock: Clock) {
    this.#bucket = bucket;
    this.#below = prefix === '' ? '' : `${prefix}/`;
    this.#connect = connect;
    this.#clock = clock;
  }

  async head(key: string): Promise<{ sizeBytes: number; sha256: string } | undefined> {
    const found = await this.#askFor(({ sdk, client }) => client.send(new sdk.HeadObjectCommand(this.#addressOf(key))));
    return found && { sizeBytes: found.ContentLength ?? 0, sha256: found.Metadata?.[SHA256] ?? '' };
  }

  async *read(key: string, { start, end }: ByteRange): AsyncGenerator<Buffer> {
    let [from, failures] = [start, 0];
    while (from <= end) {
      try {
        for await (const chunk of await this.#opened(key, { start: from, end })) {
          from += chunk.length;
          failures = 0;
          yield chunk;
        }
        if (from <= end) throw storeAway(new Error('the store sent fewer bytes than requested'));
      } catch (error) {
        failures += 1;
        const failure = error instanceof StatusError ? error : storeAway(error);
        if (failure.reason !== 'BACKUP_STORE_AWAY' || failures === READ_TRIES) throw failure;
        await sleep(this.#clock, failures * READ_PAUSE_MS);
      }
    }
  }

  async #opened(key: string, { start, end }: ByteRange): Promise<AsyncIterable<Buffer>> {
    const got = await this.#askFor(({ sdk, client }) =>
      client.send(new sdk.GetObjectCommand({ ...this.#addressOf(key), Range: `bytes=${start}-${end}` })),
    );
    if (got?.Body === undefined) throw filesMissing(key);
    return got.Body as Readable;
  }

  async put(key: string, content: Buffer): Promise<void> {
    const request = { ...this.#addressOf(key), Body: content };
    await this.#ask(({ sdk, client }) => client.send(new sdk.PutObjectCommand(request)));
  }

  async remove(key: string): Promise<void> {
    await this.#askFor(({ sdk, client }) => client.send(new sdk.DeleteObjectCommand(this.#addressOf(key))));
  }

  async begin(key: string, sha256: string): Promise<string> {
    const request = {
      ...this.#addressOf(key),
      Metadata: { [SHA256]: sha256 },
      ContentType: 'application/octet-stream',
    };
    const { UploadId } = await this.#ask(({ sdk, client }) =>
      client.send(new sdk.CreateMultipartUploadCommand(request)),
    );
    if (!UploadId) throw storeAway(new Error('the store returned no upload id'));
    return UploadId;
  }

  async parts(upload: OpenUpload): Promise<SentPart[] | undefined> {
    const parts: SentPart[] = [];
    for (let marker: string | undefined; ;) {
      const request = { ...this.#ofUpload(upload), ...(marker !== undefined && { PartNumberMarker: marker }) };
      const page = await this.#askFor(({ sdk, client }) => client.send(new sdk.ListPartsCommand(request)));
      if (page === undefined) return undefined;
      for (const { PartNumber = 0, ETag = '', Size = 0 } of page.Parts ?? [])
        parts.push({ number: PartNumber, etag: ETag, sizeBytes: Size });
      if (!page.IsTruncated || !page.NextPartNumberMarker) return parts;
      marker = page.NextPartNumberMarker;
    }
  }

  async sendPart(...[upload, number, { bytes, sha256 }, signal]: Parameters<Bucket['sendPart']>): Promise<SentPart> {
    return await this.#ask(async ({ sdk, client }) => {
      const command = new sdk.UploadPartCommand({ ...this.#ofUpload(upload), PartNumber: number, Body: bytes });
      // The client would hash the whole part at once and block the process for that time.
      command.middlewareStack.add(
        (next) => (args) => {
          (args.request as { headers: Record<string, string> }).headers['x-amz-content-sha256'] = sha256;
          return next(args);
        },
        { step: 'build' },
      );
      const { ETag = '' } = await client.send(command, { abortSignal: signal });
      return { number, etag: ETag, sizeBytes: bytes.length };
    });
  }

  async complete(upload: OpenUpload, parts: readonly SentPart[]): Promise<void> {
    const Parts = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
    const request = { ...this.#ofUpload(upload), MultipartUpload: { Parts } };
    await this.#ask(({ sdk, client }) => client.send(new sdk.CompleteMultipartUploadCommand(request)));
  }

  async abort(upload: OpenUpload): Promise<void> {
    const request = this.#ofUpload(upload);
    await this.#askFor(({ sdk, client }) => client.send(new sdk.AbortMultipartUploadCommand(request)));
  }

  list(begins: string): Promise<{ key: string; at: number }[]> {
    return this.#allBelow(begins, async ({ sdk, client }, request) => {
      const { Contents = [], NextContinuationToken } = await client.send(new sdk.ListObjectsV2Command(request));
      const found = Contents.map(({ Key = '', LastModified }) => ({ key: Key, at: LastModified?.getTime() ?? 0 }));
      return { found, next: NextContinuationToken && { ContinuationToken: NextContinuationToken } };
    });
  }

  uploads(begins: string): Promise<OpenUpload[]> {
    return this.#allBelow(begins, async ({ sdk, client }, request) => {
      const page = await client.send(new sdk.ListMultipartUploadsCommand(request));
      const { Uploads = [], IsTruncated, NextKeyMarker, NextUploadIdMarker } = page;
      const found = Uploads.map(({ Key = '', UploadId = '' }) => ({ key: Key, uploadId: UploadId }));
      return { found, next: IsTruncated && { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker } };
    });
  }

  /**
   * Returns the entries of a listing under a prefix, up to MOST_PAGES pages. `next`: the marker of the following page.
   */
  async #allBelow<Found extends { key: string }>(
    begins: string,
    pageOf: (
      connected: Connection,
      request: { Bucket: string; Prefix: string },
    ) => Promise<{ found: Found[]; next: object | false | '' | undefined }>,
  ): Promise<Found[]> {
    const all: Found[] = [];
    const below = this.#below;
    let marker: object = {};
    for (let page = 0; page < MOST_PAGES; page++) {
      const request = { Bucket: this.#bucket, Prefix: below + begins, ...marker };
      const { found, next } = await this.#ask((connected) => pageOf(connected, request));
      for (const each of found)
        if (each.key.startsWith(below)) all.push({ ...each, key: each.key.slice(below.length) });
      if (!next) break;
      marker = next;
    }
    return all;
  }

  #addressOf(key: string) {
    return { Bucket: this.#bucket, Key: this.#below + key };
  }

  #ofUpload({ key, uploadId }: OpenUpload) {
    return { ...this.#addressOf(key), UploadId: uploadId };
  }

  async #ask<T>(work: (connected: Connection) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#connect());
    } catch (error) {
      throw error instanceof StatusError ? error : storeAway(error);
    }
  }

  /** Same as `#ask`, but undefined if the object does not exist. */
  async #askFor<T>(work: (connected: Connection) => Promise<T>): Promise<T | undefined> {
    return await this.#ask(async (connected) => {
      try {
        return await work(connected);
      } catch (error) {
        if (isGone(error)) return undefined;
        throw error;
      }
    });
  }
}

/** Returns the ETag (quoted as in HTTP) that a store gives this content, unless it encrypts with its own keys. */
export function etagOf(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}

/** The client's error fields besides the message. */
interface S3Error extends Error {
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

const GONE = new Set(['NoSuchKey', 'NoSuchUpload', 'NotFound']);
const WRONG_CREDENTIALS = new Set(['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'InvalidToken', 'ExpiredToken']);
const WRONG_REGION = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);
const NO_CREDENTIALS = 'CredentialsProviderError';
const NO_BUCKET = 'NoSuchBucket';

/**
 * Reports whether the store's error means that the object does not exist. A missing bucket is a wrong setting instead.
 */
function isGone(error: unknown): boolean {
  return GONE.has((error as S3Error).name);
}

/** Reports whether the bucket is missing, from an error of its methods. */
export function isBucketGone(error: unknown): boolean {
  return ((error as Error).cause as S3Error | undefined)?.name === NO_BUCKET;
}

/**
 * Returns the problem of the settings with a remedy; undefined if the store is unreachable or busy, which is not their
 * fault.
 */
export function wrongSetting(
  answer: unknown,
  { bucket, endpoint, action }: { bucket: string; endpoint: string; action: Doing },
): string | undefined {
  const error = answer as S3Error;
  const status = error.$metadata?.httpStatusCode ?? 0;
  const isRefused = status >= 400 && status < 500;
  const where = endpoint === '' ? "Amazon's S3" : endpoint;
  if (error.name === NO_CREDENTIALS)
    return 'BACKUP_STORE needs credentials: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.';
  if (error.name === NO_BUCKET || (error.name === 'NotFound' && action === 'list'))
    return `There is no bucket "${bucket}" at ${where}: create it, or correct BACKUP_STORE or S3_ENDPOINT.`;
  if (WRONG_CREDENTIALS.has(error.name) || (isRefused && /access key/i.test(error.message)))
    return `${where} does not accept S3_ACCESS_KEY_ID with S3_SECRET_ACCESS_KEY (${error.name}): correct them.`;
  if (WRONG_REGION.has(error.name) || status === 301)
    return `The bucket "${bucket}" is not in the region of S3_REGION (${error.message}): correct S3_REGION.`;
  if (status === 403) {
    return `The credentials may not ${action} in the bucket "${bucket}" at ${where}: allow them s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListMultipartUploadParts, s3:ListBucket and s3:ListBucketMultipartUploads.`;
  }
  if (isRefused && status !== 408 && status !== 429)
    return `${where} refuses to ${action} in the bucket "${bucket}": ${error.name}, ${error.message}`;
  return undefined;
}

/** The attempted operation. */
export type Doing = 'read' | 'write' | 'delete' | 'list';
