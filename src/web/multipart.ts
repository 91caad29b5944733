import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { streamBody } from '../http/body.ts';
import { StatusError } from '../kernel/status.ts';
import { KIB } from '../kernel/units.ts';

/** Files may be of any length. Their number is limited to the calls a session may make at once. */
const LIMITS = { fields: 20, files: 400, parts: 420, fieldSize: 4 * KIB, headerPairs: 20, headerSize: 8 * KIB };

/** A file of a form as a stream. It can be read once, and only until the next one is requested. */
export interface SentFile {
  /** Without directories; empty if none was chosen. */
  name: string;
  chunks: AsyncIterable<Buffer>;
}

/** A form whose files are streamed. */
interface StreamedForm {
  /** The fields before the first file. */
  fields: URLSearchParams;
  files: AsyncIterable<SentFile>;
  /** Stops reading. Must be called whether or not the files were read. */
  close: () => Promise<void>;
}

type Part = { field: string; value: string } | { stream: Readable; name: string };

/**
 * Reads a form of `multipart/form-data` (RFC 7578) up to its first file. The rest is read no faster than it is
 * consumed. Requesting the next file skips the rest of the current one. Throws, here or from the files:
 * INVALID_ARGUMENT NO_FORM (415), INVALID_FORM, FORM_TOO_LARGE (413), and the errors of `streamBody`. An incomplete
 * file throws before its end.
 */
export async function streamForm(request: IncomingMessage): Promise<StreamedForm> {
  const parts = partsOf(request);
  const fields = new URLSearchParams();
  let next = await parts.next();
  for (; !next.done && 'field' in next.value; next = await parts.next())
    fields.append(next.value.field, next.value.value);
  return {
    fields,
    files: (async function* files() {
      for (; !next.done; next = await parts.next()) {
        if ('field' in next.value) continue;
        const { name, stream } = next.value;
        yield { name, chunks: chunksOf(stream) };
      }
    })(),
    close: async () => void (await parts.return(undefined)),
  };
}

/** If the reader stops, the rest is skipped. */
async function* chunksOf(stream: Readable): AsyncGenerator<Buffer> {
  try {
    yield* stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch (error) {
    throw error instanceof StatusError ? error : brokenOff(error);
  }
}

async function* partsOf(request: IncomingMessage): AsyncGenerator<Part, undefined, undefined> {
  const parser = parserOf(request);
  // The parser waits until each file is read, so this only buffers parts that arrived in one chunk.
  const parts = new PassThrough({ objectMode: true, highWaterMark: LIMITS.parts });
  const open = new Set<Readable>();
  const fail = (error: unknown): void => {
    const failure = error instanceof StatusError ? error : brokenOff(error);
    for (const stream of open) stream.destroy(failure);
    parts.destroy(failure);
  };
  parser.on('field', (field, value, _nameCut, valueCut) =>
    valueCut ? fail(tooLarge()) : parts.write({ field, value }),
  );
  parser.on('file', (_field, stream, name) => {
    open.add(stream);
    // The parser reports an incomplete file without ending its stream.
    stream.on('error', (error) => stream.destroy(error)).on('close', () => open.delete(stream));
    parts.write({ stream, name: name ?? '' });
  });
  for (const limit of ['fieldsLimit', 'filesLimit', 'partsLimit'] as const) parser.on(limit, () => fail(tooLarge()));
  const over = new AbortController();
  void pipeline(streamBody(request), parser, { signal: over.signal }).then(() => parts.end(), fail);
  try {
    for await (const part of parts as AsyncIterable<Part>) {
      yield part;
      if ('stream' in part) part.stream.resume();
    }
  } finally {
    over.abort();
  }
  return undefined;
}

function parserOf({ headers }: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits: LIMITS });
  } catch (cause) {
    const sentence = 'This page accepts only its own form.';
    throw new StatusError('INVALID_ARGUMENT', 'NO_FORM', sentence, { httpStatus: 415, cause });
  }
}

function brokenOff(cause: unknown): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'INVALID_FORM', 'The form arrived incomplete. Send it again.', {
    cause,
  });
}

function tooLarge(): StatusError {
  const sentence = `A form can have at most ${LIMITS.files} files. Put them into a zip first.`;
  return new StatusError('INVALID_ARGUMENT', 'FORM_TOO_LARGE', sentence, { httpStatus: 413 });
}
