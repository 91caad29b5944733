import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { CommandError, detail, isAway, unreachable, wrongUsage } from './errors.ts';

/** Time limit of a call. */
export const ANSWER_MS = 30_000;
/** Time limit of a call that waits for long work or sends a large file. */
export const LONG_MS = 6 * 3_600_000;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/**
 * `fetch` with limits: the answer must arrive in time and be one JSON object, whatever its status, or the requested
 * event stream or file. Otherwise it rejects with an `unreachable` CommandError, or, if the caller cancelled, with the
 * reason of `givenUp`.
 */
export function boundedFetch(
  base: string,
  givenUp: AbortSignal,
  answerMs: number,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DOMException('no answer', 'TimeoutError')), answerMs);
    try {
      const response = await fetch(request, { signal: AbortSignal.any([givenUp, late.signal]) });
      if (response.ok && isEventStream(request, 'accept') && isEventStream(response, 'content-type')) return response;
      if (response.ok && request.headers.get('accept') === FILE) return response;
      const text = await bodyText(response);
      if (text === undefined || !isJsonObject(text)) throw strange(response, base);
      return new Response(text, response);
    } catch (error) {
      throw unanswered(error, base, givenUp);
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Media type of a file, for the Accept header. */
export const FILE = 'application/octet-stream';

function isEventStream({ headers }: Request | Response, header: string): boolean {
  return headers.get(header)?.startsWith('text/event-stream') === true;
}

/** Returns undefined if the body is too long. */
async function bodyText({ body }: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/**
 * Converts a network error to a sentence with a remedy. The reason of the caller's own signal is returned unchanged.
 */
function unanswered(error: unknown, base: string, givenUp: AbortSignal): Error {
  if (givenUp.aborted) return givenUp.reason as Error;
  if (!(error instanceof Error) || error.name === 'CommandError') return error as Error;
  if (error.name === 'TimeoutError') return unreachable(`${base} did not respond in time. Try again later.`);
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  const why = code === undefined ? error.message : code;
  return unreachable(
    `No service responds at ${base} (${why}). Start the service, or choose another with --url or DORMOUSE_URL.`,
  );
}

/**
 * Event streams have a comment every 15 s: after three missing ones, or as long without a part of a file, the
 * connection is dead.
 */
const SILENCE_MS = 45_000;

/** Yields the chunks of a stream. Throws `unreachable` if it breaks or is silent for too long. */
export async function* chunksOf(
  stream: ReadableStream<Uint8Array>,
  url: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isSilent = false;
  const giveUp = () => {
    isSilent = true;
    void reader.cancel().catch(() => {});
  };
  try {
    for (;;) {
      const timer = setTimeout(giveUp, SILENCE_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (isSilent) throw unreachable(`${url} stopped responding. Try again later.`);
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw unanswered(error, url, signal);
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function strange({ status, headers }: Response, base: string): Error {
  const location = headers.get('location');
  if (location !== null) {
    return unreachable(
      `${base} redirects to ${location}. Use that address with --url or DORMOUSE_URL if you trust it.`,
    );
  }
  if (status >= 500)
    return unreachable(`The service behind ${base} does not respond (HTTP ${status}). Try again later.`);
  return unreachable(`The server at ${base} is not a Dormouse service (HTTP ${status}). Check --url or DORMOUSE_URL.`);
}

/** Returns the seconds of `Retry-After`; undefined if missing. */
export function retryAfter({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

const LEAST_MS = 1000;
const MOST_TRIES = 6;
const MOST_DELAY_S = 60;

/**
 * Repeats an idempotent attempt until it succeeds: after a lost connection, or if the service sends a time to wait.
 * Throws other errors, and the last failure.
 */
export async function retried<Result>(signal: AbortSignal, attempt: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      const ms = waitMs(error, tries);
      if (ms === undefined || tries >= MOST_TRIES) throw error;
      await delay(ms, undefined, { signal });
    }
  }
}

/** Returns undefined if waiting does not help. */
function waitMs(error: unknown, tries: number): number | undefined {
  if (!(error instanceof CommandError)) return undefined;
  const said = detail(error.status.details, 'RetryInfo')?.['retryDelay'];
  const seconds = typeof said === 'string' ? Number.parseFloat(said) : Number.NaN;
  if (seconds <= MOST_DELAY_S) return seconds * 1000;
  return isAway(error) ? LEAST_MS * 2 ** (tries - 1) : undefined;
}

/** Returns the address of the service started in this folder, from the same `.env`, which the environment overrides. */
export function localUrl(folder: string, env: Readonly<NodeJS.Dict<string>>): string {
  const text = (name: string) => (env[name] ?? file[name] ?? '').trim();
  const file = envFile(join(folder, '.env'));
  if (text('BASE_URL') !== '') return text('BASE_URL');
  const host = text('HTTP_HOST');
  const named = ['', '127.0.0.1', '0.0.0.0', '::', '::1'].includes(host) ? 'localhost' : host;
  const port = ['', '0'].includes(text('HTTP_PORT')) ? '8080' : text('HTTP_PORT');
  return `http://${isIP(named) === 6 ? `[${named}]` : named}:${port}`;
}

/** Empty if there is no such file, or if only the service's user may read it. */
function envFile(path: string): NodeJS.Dict<string> {
  try {
    const bytes = readFileSync(path);
    // As the service reads it: Windows programs also write UTF-16. The decoder drops the byte order mark.
    const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
    return parseEnv(new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes));
  } catch {
    return {};
  }
}

/** Normalizes a service's base address, which identifies its key: no slash at the end. Throws on wrong usage. */
export function serviceUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw wrongUsage('The address must look like https://play.example.org: http or https, without password or query.');
  }
  return `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/, '');
}

/** Reports whether requests to the address are unencrypted on the network. */
export function isReadableOnTheWay(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

const MAX_LINE_CHARS = 1024 * 1024;

/** An event of a stream. */
export interface StreamEvent {
  /** '' if it has none. */
  id: string;
  /** Its type; `message` if not given. */
  event: string;
  data: string;
}

/**
 * Yields the events of an event stream (WHATWG HTML §9.2.6). Skips comments and other fields. Throws if a line exceeds
 * a mebibyte of characters.
 */
export async function* eventsIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  let fields: Record<string, string> = {};
  let data: string[] = [];
  for await (const line of linesOf(chunks)) {
    if (line === '') {
      const { id = '', event = 'message' } = fields;
      if (data.length > 0) yield { id, event, data: data.join('\n') };
      data = [];
      fields = {};
      continue;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') data.push(value);
    else fields[name] = value;
  }
}

/** Yields only the data of each event. */
export async function* eventData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const { data } of eventsIn(chunks)) yield data;
}

/** Yields lines that end in CR, LF or CR LF. Text after the last line end is not a line yet. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    // A CR at the very end may be half of a CR LF.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_CHARS) throw new RangeError('A line of the stream is too long.');
    yield* lines;
  }
}
