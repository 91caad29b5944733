import type { Readable } from 'node:stream';
import { IncomingMessage } from '../../kernel/node-http.ts';
import { MIB } from '../../kernel/units.ts';
import { within } from './errors.ts';

// Docker streams JSON objects as lines, and containers' output as frames. The memory for both is limited.

const MAX_LINE = MIB;
const MAX_FRAME = MIB;

/** Waits up to 30 s for a stream to open; `signal` destroys it. */
export async function openStream(opening: Promise<NodeJS.ReadableStream>, signal?: AbortSignal): Promise<Readable> {
  const destroyed = (stream: NodeJS.ReadableStream) => void (stream as Readable).destroy();
  const stream = (await within(30_000, opening).catch((error: unknown) => {
    // The stream may open later, without a reader.
    opening.then(destroyed, () => undefined);
    throw error;
  })) as Readable;
  // A remote engine may disappear without closing the connection.
  if (stream instanceof IncomingMessage) stream.socket.setKeepAlive(true, 30_000);
  if (signal?.aborted) stream.destroy();
  const stop = () => void stream.destroy();
  signal?.addEventListener('abort', stop, { once: true });
  stream.once('close', () => signal?.removeEventListener('abort', stop));
  // Callers that iterate get the error too. Without such a caller, the error must not end the process.
  stream.on('error', () => undefined);
  return stream;
}

/** Yields each line of a stream as an object. Throws on a line that is not JSON or is too long. */
export async function* jsonLines(stream: AsyncIterable<unknown>): AsyncGenerator<Record<string, unknown>> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    rest += decoder.decode(chunk as Buffer, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE) throw new Error('the Docker Engine sent a line that is too long');
    for (const line of lines) {
      if (line.trim() !== '') yield JSON.parse(line) as Record<string, unknown>;
    }
  }
}

/** One write to a container's output. `source` is 1 for stdout, 2 for stderr. */
export interface Frame {
  source: number;
  payload: Buffer;
}

/**
 * Yields the frames of an output stream (Docker Engine API, "Attach to a container", stream format). Throws on any
 * other data.
 */
export async function* frames(stream: AsyncIterable<unknown>): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    let at = 0;
    while (rest.length - at >= 8) {
      const length = rest.readUInt32BE(at + 4);
      if (rest[at]! > 2 || length > MAX_FRAME) throw new Error('the Docker Engine sent output that is not framed');
      if (rest.length - at - 8 < length) break;
      yield { source: rest[at]!, payload: rest.subarray(at + 8, at + 8 + length) };
      at += 8 + length;
    }
    rest = rest.subarray(at);
  }
}
