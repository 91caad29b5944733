import { KIB } from '../../kernel/units.ts';

/** Each call of a compressor goes by way of another thread, which costs more than compressing the few bytes of a tar header. */
const BLOCK_BYTES = 256 * KIB;

/**
 * Passes bytes on in blocks: small chunks are put together; one that is a block of its own is not copied. `used` is told of
 * each chunk whose bytes are needed no more: of one that is passed on itself, when the next block is asked for.
 */
export function inBlocks(
  used: (chunk: Buffer) => void = () => {},
): (chunks: AsyncIterable<Buffer>) => AsyncGenerator<Buffer> {
  return async function* (chunks) {
    let held: Buffer[] = [];
    let heldBytes = 0;
    function* release(): Generator<Buffer> {
      if (heldBytes === 0) return;
      const block = Buffer.concat(held);
      for (const chunk of held) used(chunk);
      held = [];
      heldBytes = 0;
      yield block;
    }
    for await (const chunk of chunks) {
      if (heldBytes + chunk.length > BLOCK_BYTES) yield* release();
      if (chunk.length < BLOCK_BYTES) {
        held.push(chunk);
        heldBytes += chunk.length;
        continue;
      }
      yield chunk;
      used(chunk);
    }
    yield* release();
  };
}
