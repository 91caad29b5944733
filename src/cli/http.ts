import { unreachable } from './errors.ts';
import { USER_AGENT } from './version.ts';

const ANSWER_MS = 30_000;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export interface Request {
  method: 'GET' | 'POST' | 'DELETE';
  /** With its query, from the base address on. */
  path: string;
  key?: string;
  body?: object;
}

/** An answer whose body is one JSON object, whatever its status. */
export interface Answer {
  status: number;
  body: object;
  /** Of `Retry-After`; undefined where it is not said. */
  retryAfterSeconds: number | undefined;
}

/**
 * One call. Throws an `unreachable` CommandError where nobody answers in time, or somebody who does not speak this API, and
 * the signal's reason where the caller gave up.
 */
export async function exchange(base: string, request: Request, signal: AbortSignal): Promise<Answer> {
  const timeout = AbortSignal.timeout(ANSWER_MS);
  const response = await send(base, request, 'application/json', AbortSignal.any([signal, timeout]), signal);
  const text = await bodyText(response, base, signal);
  return { status: response.status, body: jsonObject(text, response, base), retryAfterSeconds: retryAfter(response) };
}

/** A call answered by a stream of events, or, where there is no such stream, by an ordinary answer. */
export async function openStream(
  base: string,
  request: Request,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array> | Answer> {
  const opening = new AbortController();
  const timer = setTimeout(() => opening.abort(new DOMException('no answer', 'TimeoutError')), ANSWER_MS);
  try {
    const response = await send(base, request, 'text/event-stream', AbortSignal.any([signal, opening.signal]), signal);
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (response.ok && isStream && response.body) return response.body;
    const text = await bodyText(response, base, signal);
    return { status: response.status, body: jsonObject(text, response, base), retryAfterSeconds: retryAfter(response) };
  } finally {
    clearTimeout(timer);
  }
}

async function send(
  base: string,
  { method, path, key, body }: Request,
  accept: string,
  signal: AbortSignal,
  givenUp: AbortSignal,
): Promise<Response> {
  try {
    return await fetch(`${base}${path}`, {
      method,
      headers: {
        accept,
        'user-agent': USER_AGENT,
        ...(key === undefined ? {} : { 'x-api-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      // Followed by itself, a redirect would carry the key to whomever it names.
      redirect: 'manual',
      signal,
    });
  } catch (error) {
    throw unanswered(error, base, givenUp);
  }
}

async function bodyText(response: Response, base: string, givenUp: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) throw strange(response, base);
      chunks.push(chunk);
    }
  } catch (error) {
    throw unanswered(error, base, givenUp);
  }
  return Buffer.concat(chunks).toString();
}

function jsonObject(text: string, response: Response, base: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw strange(response, base);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw strange(response, base);
  return value;
}

/** What went wrong on the way, in a sentence that says what to do. What the caller's own signal caused stays as it is. */
export function unanswered(error: unknown, base: string, givenUp: AbortSignal): Error {
  if (givenUp.aborted) return givenUp.reason as Error;
  if (!(error instanceof Error) || error.name === 'CommandError') return error as Error;
  if (error.name === 'TimeoutError') return unreachable(`${base} did not answer in time. Try again later.`);
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  const why = code === undefined ? error.message : code;
  return unreachable(
    `Nothing answers at ${base} (${why}). Start the service, or name another one by --url or DORMOUSE_URL.`,
  );
}

function strange({ status, headers }: Response, base: string): Error {
  const location = headers.get('location');
  if (location !== null) {
    return unreachable(`${base} redirects to ${location}. Use that address by --url or DORMOUSE_URL if you trust it.`);
  }
  if (status >= 500)
    return unreachable(`The service behind ${base} does not answer (HTTP ${status}). Try again later.`);
  return unreachable(`What answers at ${base} is no Dormouse service (HTTP ${status}). Check --url or DORMOUSE_URL.`);
}

function retryAfter({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}
