import { Transform } from 'node:stream';
import { KIB } from '../../kernel/units.ts';

/** Each call of a compressor goes by way of another thread, which costs more than compressing the few bytes of a tar header. */
const BLOCK_BYTES = 256 * KIB;

/** Passes bytes on in blocks: small chunks are put together; one that is a block of its own is not copied. */
export function inBlocks(): Transform {
  let held: Buffer[] = [];
  let heldBytes = 0;
  const release = (stream: Transform): void => {
    if (heldBytes > 0) stream.push(Buffer.concat(held));
    held = [];
    heldBytes = 0;
  };
  return new Transform({
    readableHighWaterMark: 4 * BLOCK_BYTES,
    transform(chunk: Buffer, _, done) {
      if (heldBytes + chunk.length > BLOCK_BYTES) release(this);
      if (chunk.length >= BLOCK_BYTES) {
        this.push(chunk);
      } else {
        held.push(chunk);
        heldBytes += chunk.length;
      }
      done();
    },
    flush(done) {
      release(this);
      done();
    },
  });
}
