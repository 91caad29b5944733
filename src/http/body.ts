import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { PassThrough, type Transform, finished } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { callerGone } from '../kernel/caller-gone.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB, MINUTE_MS } from '../kernel/units.ts';
import { invalidFields } from './errors.ts';

/** How long a caller may take to send a body. */
const BODY_MS = 30_000;
/** Bytes read and discarded beyond a limit, so that most callers receive the refusal instead of a reset connection. */
const DRAIN_BYTES = MIB;
const MAX_DEPTH = 100;
/** How long an upload may make no progress. */
const IDLE_MS = MINUTE_MS;
/** How long the rest of a refused upload is read and discarded. */
const DRAIN_MS = 2_000;

/**
 * Reads a body and inflates gzip. Counts the inflated bytes, so that neither a missing Content-Length nor a gzip bomb
 * exceeds `limitBytes`. Throws INVALID_ARGUMENT: BODY_TOO_LARGE (413), BODY_TIMEOUT (408), UNSUPPORTED_ENCODING (415),
 * INVALID_BODY; CANCELLED if the caller disconnects.
 */
export async function readBody(request: IncomingMessage, limitBytes: number, withinMs = BODY_MS): Promise<Buffer> {
  if (Number(request.headers['content-length']) > limitBytes + DRAIN_BYTES) throw tooLarge(limitBytes);
  const body = decoded(request);
  const timer = setTimeout(() => body.destroy(tooSlow()), withinMs);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size <= limitBytes) chunks.push(chunk);
      else if (size > limitBytes + DRAIN_BYTES) break;
    }
  } catch (error) {
    throw bodyError(error);
  } finally {
    clearTimeout(timer);
  }
  if (size > limitBytes) throw tooLarge(limitBytes);
  return Buffer.concat(chunks);
}

/**
 * Streams a body of any length and inflates gzip, no faster than the reader consumes it. Throws the errors of
 * `readBody`; the time limit applies to each pause. A reader that stops early can still answer: part of the rest is
 * discarded first.
 */
export async function* streamBody(request: IncomingMessage, idleMs = IDLE_MS): AsyncGenerator<Buffer> {
  const body = decoded(request);
  let timer = setTimeout(() => body.destroy(tooSlow()), idleMs);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      yield chunk;
      timer = setTimeout(() => body.destroy(tooSlow()), idleMs);
    }
  } catch (error) {
    throw bodyError(error);
  } finally {
    clearTimeout(timer);
    await drain(request);
  }
}

/** Decodes a request's body. The stream fails with CANCELLED if the caller disconnects. */
function decoded(request: IncomingMessage): Transform {
  const decoder = decoderFor(request.headers['content-encoding']);
  finished(request, { writable: false }, (error) => {
    if (error) decoder.destroy(callerGone(error));
  });
  // Readers get errors from the stream. Later ones are dropped here.
  return request.pipe(decoder).on('error', () => {});
}

function bodyError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  return new StatusError('INVALID_ARGUMENT', 'INVALID_BODY', 'The body is not valid gzip.', { cause: error });
}

/** Discards part of the rest, because callers that are still sending would not see the answer. */
async function drain(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, DRAIN_MS);
  let bytes = 0;
  request.unpipe();
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DRAIN_BYTES) resolve();
  });
  request.once('end', resolve).once('close', resolve);
  await promise;
  clearTimeout(timer);
  request.removeAllListeners('data').pause();
}

/**
 * Parses a body as one JSON object, whatever its content type. An empty body is an empty object. Throws INVALID_JSON.
 */
export function parseMessage(body: Buffer): object {
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch (cause) {
    throw invalidJson('The body must be one JSON object in UTF-8.', cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidJson('The body must be a JSON object.');
  }
  if (deeperThan(MAX_DEPTH, value)) throw invalidJson(`The body is nested more than ${MAX_DEPTH} levels deep.`);
  return value;
}

/** Percent-encoded bytes that belong to characters beyond ASCII. */
const ENCODED_BYTES = /(?:%[89a-f][0-9a-f])+/gi;

/**
 * Parses the fields of a query or an encoded form. Throws INVALID_FIELD for bytes that are not UTF-8, which would
 * become U+FFFD.
 */
export function parseFields(encoded: string): URLSearchParams {
  for (const { 0: bytes, index } of encoded.matchAll(ENCODED_BYTES)) {
    if (isUtf8(Buffer.from(bytes.replaceAll('%', ''), 'hex'))) continue;
    const [field = ''] = encoded.slice(encoded.lastIndexOf('&', index) + 1).split('=', 1);
    throw invalidFields([{ field, description: 'must be UTF-8' }]);
  }
  return new URLSearchParams(encoded);
}

/** Parses the fields of a form (WHATWG URL §5) and leaves out empty ones. Throws INVALID_FORM for a repeated field. */
export function parseForm(body: Buffer): object {
  const fields = new Map<string, string>();
  for (const [name, value] of parseFields(body.toString())) {
    if (fields.has(name)) throw new StatusError('INVALID_ARGUMENT', 'INVALID_FORM', 'A field may be sent only once.');
    if (value !== '') fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

function decoderFor(encoding = 'identity'): Transform {
  switch (encoding.trim().toLowerCase()) {
    case 'identity':
      return new PassThrough();
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    default:
      throw new StatusError('INVALID_ARGUMENT', 'UNSUPPORTED_ENCODING', 'Send the body uncompressed or as gzip.', {
        httpStatus: 415,
      });
  }
}

function deeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => deeperThan(levels - 1, inner));
}

function tooLarge(limitBytes: number): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'BODY_TOO_LARGE', `The body may have at most ${limitBytes} bytes.`, {
    httpStatus: 413,
    metadata: { limitBytes: String(limitBytes) },
  });
}

function tooSlow(): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'BODY_TIMEOUT', 'The body did not arrive in time.', { httpStatus: 408 });
}

function invalidJson(message: string, cause?: unknown): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'INVALID_JSON', message, { cause });
}
