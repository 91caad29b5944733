import { createHash } from 'node:crypto';
import type * as z from 'zod';
import { StatusError } from '../status.ts';
import { withTimeout } from '../timeout.ts';
import { GIB, MIB } from '../units.ts';
import { RegistryAsk, type RegistryHttpOptions, refused } from './ask.ts';

/** A file listed by a registry. At least one checksum is set, in lower-case hex; a missing one is ''. */
export interface RegistryFile {
  /** As given by the registry. Not checked to be a plain file name. */
  name: string;
  /** Download addresses, best first. */
  urls: readonly string[];
  sizeBytes: number;
  sha512: string;
  sha1: string;
}

/** An HTTP client of a registry, with limits on size, time, concurrency and hosts. Rejects with StatusError. */
export interface RegistryHttp {
  /** Fetches JSON from an API path or a file's URL and parses it with `schema`; undefined for 404. */
  json<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    signal?: AbortSignal,
  ): Promise<z.output<Schema> | undefined>;
  /** Fetches a whole file without a checksum; undefined for 404. */
  bytes(path: string, maxBytes: number, signal?: AbortSignal): Promise<Buffer | undefined>;
  /** Like `json`, for optional requests. Refused while little of the registry's rate limit is left. */
  search<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema> | undefined>;
  /**
   * Streams a file's bytes. Rejects with FAILED_PRECONDITION DOWNLOAD_REFUSED for hosts that do not belong to the
   * registry. Verifies size and checksum at the end: after UNAVAILABLE CHECKSUM_MISMATCH or DOWNLOAD_BROKEN, discard
   * the bytes received so far.
   */
  download(file: RegistryFile, signal: AbortSignal): AsyncGenerator<Uint8Array>;
  /** Opens a file from this byte on, or from the beginning if the host cannot skip. Undefined for 404. */
  open(url: string, from: number, signal: AbortSignal): Promise<OpenedFile | undefined>;
}

/** A file that is being received. Size and content are not verified. */
export interface OpenedFile {
  /** The first byte that is sent. */
  from: number;
  /** The size of the whole file; undefined if the host does not state it. */
  sizeBytes: number | undefined;
  chunks: AsyncGenerator<Uint8Array>;
  /** Ends the download, begun or not. */
  close(): Promise<void>;
}

const MAX_JSON_BYTES = 16 * MIB;
const MAX_FILE_BYTES = 2 * GIB;
/** Time limit of each piece of a file. */
const IDLE_MS = 30_000;

export function createRegistryHttp(options: RegistryHttpOptions): RegistryHttp {
  const registry = new RegistryAsk(options);
  const prefix = new URL(options.baseUrl).href.replace(/\/$/, '');

  /** Parses an address, which may come from a registry's answer. */
  function addressOf(text: string): URL {
    if (!URL.canParse(text)) throw refused(`${options.name} lists an invalid download address.`);
    return new URL(text);
  }

  async function read<T>(
    path: string,
    { maxBytes, accept, parse }: { maxBytes: number; accept: string; parse: (bytes: Buffer) => T },
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    const response = await registry.ask(addressOf(path.startsWith('/') ? prefix + path : path), signal, { accept });
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    try {
      return parse(await bytesWithin(maxBytes, pieces(response)));
    } catch (cause) {
      signal?.throwIfAborted();
      throw registry.unavailable('returned an invalid response', 0, cause);
    }
  }

  const json: RegistryHttp['json'] = (path, schema, signal) => {
    const parse = (bytes: Buffer) => schema.parse(JSON.parse(bytes.toString()));
    return read(path, { maxBytes: MAX_JSON_BYTES, accept: 'application/json', parse }, signal);
  };

  return {
    json,

    bytes: (path, maxBytes, signal) => read(path, { maxBytes, accept: '*/*', parse: (bytes) => bytes }, signal),

    async search(path, schema) {
      const ms = registry.sparesMs();
      if (ms > 0) throw registry.unavailable('has received too many searches', ms);
      return json(path, schema);
    },

    async open(url, from, signal) {
      // A compressed answer would have other bytes, and no size.
      const headers = { accept: '*/*', 'accept-encoding': 'identity', ...(from > 0 && { range: `bytes=${from}-` }) };
      const response = await registry.ask(addressOf(url), signal, headers);
      if (response.status === 404) {
        await response.body?.cancel();
        return undefined;
      }
      const [, first = '0'] = /^bytes (\d{1,15})-/.exec(response.headers.get('content-range') ?? '') ?? [];
      const begins = response.status === 206 ? Number(first) : 0;
      const restBytes = Number(response.headers.get('content-length') ?? Number.NaN);
      const sizeBytes = Number.isSafeInteger(restBytes) ? begins + restBytes : undefined;
      const chunks = pieces(response);
      const close = async () => {
        await chunks.return(undefined);
        // Before the first chunk, the generator does not hold the body yet.
        if (response.body?.locked === false) await response.body.cancel();
      };
      return { from: begins, sizeBytes, chunks, close };
    },

    async *download(file, signal) {
      if (file.sizeBytes > MAX_FILE_BYTES) throw tooLarge(file);
      const [algorithm, expected] = file.sha512 === '' ? ['sha1', file.sha1] : ['sha512', file.sha512];
      const hash = createHash(algorithm);
      let size = 0;
      const response = await openFirst(file, signal);
      try {
        for await (const chunk of pieces(response)) {
          size += chunk.length;
          if (size > file.sizeBytes) break;
          hash.update(chunk);
          yield chunk;
        }
      } catch (cause) {
        signal.throwIfAborted();
        const sentence = `The download of ${file.name} was interrupted. Try again.`;
        throw new StatusError('UNAVAILABLE', 'DOWNLOAD_BROKEN', sentence, { cause });
      }
      signal.throwIfAborted();
      if (expected === '' || size !== file.sizeBytes || hash.digest('hex') !== expected.toLowerCase()) {
        throw mismatch(file);
      }
    },
  };

  /** Opens the file at the first of its addresses that has it. */
  async function openFirst(file: RegistryFile, signal: AbortSignal): Promise<Response> {
    let problem: unknown = refused(`The registry lists no download address for ${file.name}.`);
    for (const address of file.urls.slice(0, 4)) {
      try {
        if (!URL.canParse(address)) throw refused(`The download address of ${file.name} is invalid.`);
        const response = await registry.ask(new URL(address), signal, { accept: '*/*' });
        if (response.status !== 404) return response;
        await response.body?.cancel();
        problem = new StatusError('NOT_FOUND', options.goneReason, `The file ${file.name} no longer exists.`);
      } catch (error) {
        signal.throwIfAborted();
        problem = error;
      }
    }
    throw problem;
  }
}

/** Yields a body in pieces, with a time limit for each. */
async function* pieces(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await withTimeout(reader.read(), IDLE_MS);
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function tooLarge({ name }: RegistryFile): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'DOWNLOAD_REFUSED', `The file ${name} is too large.`);
}

function mismatch({ name }: RegistryFile): StatusError {
  const sentence = `The download of ${name} does not match the size or checksum in the registry and was discarded. Try again.`;
  return new StatusError('UNAVAILABLE', 'CHECKSUM_MISMATCH', sentence);
}

/** Joins all chunks. Throws `tooLarge()` and ends their source as soon as they exceed `maxBytes`. */
export async function bytesWithin(
  maxBytes: number,
  chunks: AsyncIterable<Uint8Array>,
  tooLarge = () => new Error(`more than ${maxBytes} bytes`),
): Promise<Buffer> {
  const taken: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    taken.push(chunk);
  }
  return Buffer.concat(taken);
}

/**
 * Sends a GET request without retries. `said` is the JSON of a 200 as parsed by `schema`; undefined for any other
 * status. Rejects if the answer is missing, late, too large or invalid.
 */
export async function askOnce<Schema extends z.ZodType>(
  url: string,
  schema: Schema,
  {
    withinMs,
    maxBytes,
    fetch,
  }: {
    /** Time limit of the complete answer. */
    withinMs: number;
    maxBytes: number;
    fetch: typeof globalThis.fetch;
  },
): Promise<{ response: Response; said: z.output<Schema> | undefined }> {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(withinMs),
    headers: { accept: 'application/json' },
  });
  if (response.status === 200 && response.body) {
    const bytes = await bytesWithin(maxBytes, response.body);
    return { response, said: schema.parse(JSON.parse(bytes.toString())) };
  }
  await response.body?.cancel();
  return { response, said: undefined };
}
