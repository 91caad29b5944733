import type { Readable } from 'node:stream';
import { BadPacket, MOST_PACKET_BYTES } from './wire.ts';

/**
 * Cuts a stream into packets (a length of four bytes, then that many), each read only when it is asked for, until the
 * stream ends. Throws BadPacket for a length of 0 or above `MOST_PACKET_BYTES`, before anything is kept for it.
 */
export async function* packetsOf(stream: Readable): AsyncGenerator<Buffer, void, undefined> {
  let wake = (): void => {};
  for (const event of ['readable', 'end', 'close']) stream.on(event, () => wake());

  /** Exactly so many bytes; undefined where the stream ends before. */
  async function read(length: number): Promise<Buffer | undefined> {
    for (;;) {
      const bytes = stream.read(length) as Buffer | null;
      // At its end a stream gives what there is.
      if (bytes !== null) return bytes.length === length ? bytes : undefined;
      if (stream.readableEnded || stream.destroyed) return undefined;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }

  for (;;) {
    const head = await read(4);
    if (!head) return;
    const length = head.readUInt32BE();
    if (length === 0 || length > MOST_PACKET_BYTES) throw new BadPacket(`a packet of ${length} bytes`);
    const packet = await read(length);
    if (!packet) return;
    yield packet;
  }
}
