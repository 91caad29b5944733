import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { Clock, ModFile } from '../ports.ts';
import { StatusError } from '../status.ts';

export interface RegistryHttpOptions {
  /** As people call it: `Modrinth`. */
  name: string;
  /** Where its API answers. Its host may serve files too, so that a mirror needs no other. */
  baseUrl: string;
  /** Further hosts that files may come from, by https. */
  fileHosts: readonly string[];
  headers: Readonly<Record<string, string>>;
  clock: Clock;
  fetch?: typeof globalThis.fetch;
}

/** The HTTP side of a registry: bounded in size, time, number and hosts. Rejects with StatusError. */
export interface RegistryHttp {
  /** A JSON answer in the shape it should have; undefined for 404. From a path of the API, or an address of a file. */
  json<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    signal?: AbortSignal,
  ): Promise<z.output<Schema> | undefined>;
  /** See `ModRegistry.download`. */
  download(file: ModFile, signal: AbortSignal): AsyncGenerator<Uint8Array>;
}

const MAX_JSON_BYTES = 16 * 1024 * 1024;
const MAX_FILE_BYTES = 2 * 1024 * 1024 * 1024;
const ANSWER_MS = 15_000;
/** Between two pieces of a file. */
const IDLE_MS = 30_000;
/** All tries of one question together. */
const PATIENCE_MS = 30_000;
const TRIES = 5;
const FIRST_PAUSE_MS = 500;
const MAX_REDIRECTS = 3;

export function createRegistryHttp(options: RegistryHttpOptions): RegistryHttp {
  const { name, clock, headers, fetch = globalThis.fetch } = options;
  const base = new URL(options.baseUrl);
  const prefix = base.href.replace(/\/$/, '');

  /** Keys and the like go to the registry alone. */
  function headersFor(url: URL): Record<string, string> {
    return url.origin === base.origin ? { ...headers } : { 'user-agent': headers['user-agent'] ?? 'dormouse' };
  }

  function isAllowed(url: URL): boolean {
    if (url.username !== '' || url.password !== '') return false;
    if (url.origin === base.origin) return true;
    return url.protocol === 'https:' && url.port === '' && options.fileHosts.includes(url.hostname);
  }

  /** The answer to a question that may be asked again: with status 2xx or 404. */
  async function ask(url: URL, signal: AbortSignal | undefined, accept: string): Promise<Response> {
    const end = clock.now() + PATIENCE_MS;
    for (let tries = 1; ; tries++) {
      signal?.throwIfAborted();
      const answer = await attempt(url, signal, accept);
      if (answer instanceof Response) return answer;
      const pauseMs = Math.max(answer.pauseMs, FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.75 + Math.random() / 2));
      if (tries === TRIES || clock.now() + pauseMs > end) throw unavailable(answer.why, pauseMs, answer.cause);
      await pause(pauseMs, signal);
    }
  }

  async function attempt(
    url: URL,
    signal: AbortSignal | undefined,
    accept: string,
  ): Promise<Response | { why: string; pauseMs: number; cause?: unknown }> {
    let response: Response;
    try {
      response = await follow(url, signal, accept);
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof StatusError) throw cause;
      return { why: 'does not answer', pauseMs: 0, cause };
    }
    const { status } = response;
    if (response.ok || status === 404) return response;
    await response.body?.cancel();
    if (status === 429) return { why: 'is asked too often', pauseMs: retryAfterMs(response) };
    if (status >= 500) return { why: `answers with status ${status}`, pauseMs: retryAfterMs(response) };
    throw refused(`${name} refuses the question with status ${status}.`, url);
  }

  /** Redirects only to where a file may come from. */
  async function follow(from: URL, signal: AbortSignal | undefined, accept: string): Promise<Response> {
    let url = from;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      if (!isAllowed(url)) throw refused(`${name} names a host that is none of its own: ${url.host}.`, url);
      const waiting = withLimit(signal);
      let response: Response;
      try {
        response = await fetch(url, {
          signal: waiting.signal,
          redirect: 'manual',
          headers: { ...headersFor(url), accept },
        });
      } finally {
        waiting.end();
      }
      const location = response.headers.get('location');
      if (response.status < 300 || response.status > 399 || location === null) return response;
      await response.body?.cancel();
      if (!URL.canParse(location, url.href)) throw refused(`${name} redirects to no address.`, url);
      url = new URL(location, url);
    }
    throw refused(`${name} redirects too often.`, from);
  }

  /** Bounds the time until an answer begins; its body has a bound of its own. */
  function withLimit(signal: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error('no answer in time')), ANSWER_MS);
    return { signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal, end: () => clearTimeout(timer) };
  }

  function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const aborted = () => {
        cancel();
        reject(signal?.reason as Error);
      };
      const cancel = clock.at(clock.now() + ms, () => {
        signal?.removeEventListener('abort', aborted);
        resolve();
      });
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }

  function unavailable(why: string, pauseMs: number, cause?: unknown): StatusError {
    const sentence = `${name} ${why}. Try again later.`;
    const retryAfterSeconds = Math.max(1, Math.ceil(pauseMs / 1_000));
    return new StatusError('UNAVAILABLE', 'REGISTRY_UNAVAILABLE', sentence, { retryAfterSeconds, cause });
  }

  return {
    async json(path, schema, signal) {
      const response = await ask(new URL(path.startsWith('/') ? prefix + path : path), signal, 'application/json');
      if (response.status === 404) {
        await response.body?.cancel();
        return undefined;
      }
      const chunks: Uint8Array[] = [];
      let size = 0;
      try {
        for await (const chunk of pieces(response)) {
          size += chunk.length;
          if (size > MAX_JSON_BYTES) throw new Error('the answer is too large');
          chunks.push(chunk);
        }
        return schema.parse(JSON.parse(Buffer.concat(chunks).toString()));
      } catch (cause) {
        signal?.throwIfAborted();
        throw unavailable('answers with something that is not understood', 0, cause);
      }
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
  async function openFirst(file: ModFile, signal: AbortSignal): Promise<Response> {
    let problem: unknown = refused(`There is no address for ${file.name}.`);
    for (const address of file.urls.slice(0, 4)) {
      try {
        if (!URL.canParse(address)) throw refused(`The address of ${file.name} is none.`);
        const response = await ask(new URL(address), signal, '*/*');
        if (response.status !== 404) return response;
        await response.body?.cancel();
        problem = new StatusError('NOT_FOUND', 'MOD_NOT_FOUND', `The file ${file.name} is not there any more.`);
      } catch (error) {
        signal.throwIfAborted();
        problem = error;
      }
    }
    throw problem;
  }
}

/** A body in pieces, none of which takes too long. */
async function* pieces(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { promise, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new Error('nothing came for too long')), IDLE_MS);
      const { done, value } = await Promise.race([reader.read(), promise]).finally(() => clearTimeout(timer));
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** RFC 9110 §10.2.3, as seconds or a date; also Modrinth's own header. 0 where there is none. */
function retryAfterMs({ headers }: Response): number {
  const text = headers.get('retry-after') ?? headers.get('x-ratelimit-reset') ?? '';
  if (/^\d{1,6}$/.test(text)) return Number(text) * 1_000;
  const until = Date.parse(text) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(until) ? 0 : Math.max(0, until);
}

function refused(sentence: string, url?: URL): StatusError {
  const metadata = url && { host: url.host };
  return new StatusError('FAILED_PRECONDITION', 'DOWNLOAD_REFUSED', sentence, { ...(metadata && { metadata }) });
}

function tooLarge({ name }: ModFile): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'DOWNLOAD_REFUSED', `The file ${name} is too large.`);
}

function mismatch({ name }: ModFile): StatusError {
  const sentence = `What was downloaded as ${name} is not what its registry vouches for, and was thrown away. Try again.`;
  return new StatusError('UNAVAILABLE', 'CHECKSUM_MISMATCH', sentence);
}
