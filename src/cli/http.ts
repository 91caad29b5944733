import { unreachable } from './errors.ts';

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
export function unanswered(error: unknown, base: string, givenUp: AbortSignal): Error {
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
