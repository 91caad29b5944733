import { createHash } from 'node:crypto';
import type * as z from 'zod';
import { StatusError } from '../status.ts';
import { withTimeout } from '../timeout.ts';
import { GIB, MIB } from '../units.ts';
import { RegistryAsk, type RegistryHttpOptions, refused } from './ask.ts';

/** A file that a registry vouches for. At least one of its sums is there, in lower-case hex; '' for none. */
export interface RegistryFile {
  /** As given by the registry. Not checked to be a plain file name. */
  name: string;
  /** Download addresses, best first. */
  urls: readonly string[];
  sizeBytes: number;
  sha512: string;
  sha1: string;
}

/** The HTTP side of a registry: bounded in size, time, number and hosts. Rejects with StatusError. */
export interface RegistryHttp {
  /** A JSON answer in the shape it should have; undefined for 404. From a path of the API, or an address of a file. */
  json<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    signal?: AbortSignal,
  ): Promise<z.output<Schema> | undefined>;
  /** Fetches a whole file vouched for by its address alone; undefined for 404. */
  bytes(path: string, maxBytes: number, signal?: AbortSignal): Promise<Buffer | undefined>;
  /** As `json`, for what nothing depends on: refused while the registry would soon take no more questions. */
  search<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema> | undefined>;
  /**
   * A file's bytes, from hosts that belong to the registry and no others: FAILED_PRECONDITION DOWNLOAD_REFUSED. At the end
   * they have proven to be what it vouches for; UNAVAILABLE CHECKSUM_MISMATCH or DOWNLOAD_BROKEN where not, and what has come
   * is worth nothing.
   */
  download(file: RegistryFile, signal: AbortSignal): AsyncGenerator<Uint8Array>;
}

const MAX_JSON_BYTES = 16 * MIB;
const MAX_FILE_BYTES = 2 * GIB;
/** Between two pieces of a file. */
const IDLE_MS = 30_000;

export function createRegistryHttp(options: RegistryHttpOptions): RegistryHttp {
  const registry = new RegistryAsk(options);
  const prefix = new URL(options.baseUrl).href.replace(/\/$/, '');

  async function read<T>(
    path: string,
    { maxBytes, accept, parse }: { maxBytes: number; accept: string; parse: (bytes: Buffer) => T },
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    const response = await registry.ask(new URL(path.startsWith('/') ? prefix + path : path), signal, accept);
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    try {
      return parse(await bytesWithin(maxBytes, pieces(response)));
    } catch (cause) {
      signal?.throwIfAborted();
      throw registry.unavailable('answers with something that is not understood', 0, cause);
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
      if (ms > 0) throw registry.unavailable('is searched too often', ms);
      return json(path, schema);
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
        throw new StatusError('UNAVAILABLE', 'DOWNLOAD_BROKEN', `The download of ${file.name} broke off.`, { cause });
      }
      signal.throwIfAborted();
      if (expected === '' || size !== file.sizeBytes || hash.digest('hex') !== expected.toLowerCase()) {
        throw mismatch(file);
      }
    },
  };

  /** The first of the file's places that has it. */
  async function openFirst(file: RegistryFile, signal: AbortSignal): Promise<Response> {
    let problem: unknown = refused(`There is no address for ${file.name}.`);
    for (const address of file.urls.slice(0, 4)) {
      try {
        if (!URL.canParse(address)) throw refused(`The address of ${file.name} is none.`);
        const response = await registry.ask(new URL(address), signal, '*/*');
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
  const sentence = `What was downloaded as ${name} is not what its registry vouches for, and was thrown away. Try again.`;
  return new StatusError('UNAVAILABLE', 'CHECKSUM_MISMATCH', sentence);
}

/** All chunks in one piece. Throws `tooLarge` as soon as they are more than `maxBytes`; what they come from is ended then. */
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
