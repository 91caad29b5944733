import type { IncomingMessage } from 'node:http';
import { PassThrough, finished } from 'node:stream';
import type { Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { StatusError } from '../status.ts';

/** How long a caller may take to send a body. */
const BODY_MS = 30_000;
/** Read and thrown away past a limit, so that most callers get to see the refusal rather than a reset connection. */
const DRAIN_BYTES = 1024 * 1024;
const MAX_DEPTH = 100;

/**
 * The bytes of a body, inflated where it is gzip. Counts what comes out, so that neither a missing Content-Length nor a
 * gzip bomb passes `limitBytes`. Throws INVALID_ARGUMENT: BODY_TOO_LARGE (413), BODY_TIMEOUT (408), UNSUPPORTED_ENCODING
 * (415), INVALID_BODY; CANCELLED where the caller went away.
 */
export async function readBody(request: IncomingMessage, limitBytes: number, withinMs = BODY_MS): Promise<Buffer> {
  const decoder = decoderFor(request.headers['content-encoding']);
  if (Number(request.headers['content-length']) > limitBytes + DRAIN_BYTES) throw tooLarge(limitBytes);
  const timer = setTimeout(() => decoder.destroy(tooSlow()), withinMs);
  finished(request, { writable: false }, (error) => {
    if (error) decoder.destroy(new StatusError('CANCELLED', 'CALLER_GONE', 'The caller went away.', { cause: error }));
  });
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request.pipe(decoder) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size <= limitBytes) chunks.push(chunk);
      else if (size > limitBytes + DRAIN_BYTES) break;
    }
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw new StatusError('INVALID_ARGUMENT', 'INVALID_BODY', 'The body is not valid gzip.', { cause: error });
  } finally {
    clearTimeout(timer);
  }
  if (size > limitBytes) throw tooLarge(limitBytes);
  return Buffer.concat(chunks);
}

/** One JSON object from a body whatever its content type; none at all is the empty one. Throws INVALID_JSON. */
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

function decoderFor(encoding = 'identity'): Transform {
  switch (encoding.trim().toLowerCase()) {
    case 'identity':
      return new PassThrough();
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    default:
      throw new StatusError('INVALID_ARGUMENT', 'UNSUPPORTED_ENCODING', 'Send the body as it is, or as gzip.', {
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
