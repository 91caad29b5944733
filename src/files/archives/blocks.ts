import { KIB } from '../../kernel/units.ts';

/** Each call of a compressor goes by way of another thread, which costs more than compressing the few bytes of a tar header. */
const BLOCK_BYTES = 256 * KIB;

/** Passes bytes on in blocks: small chunks are put together; one that is a block of its own is not copied. */
export async function* inBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  function* release(): Generator<Buffer> {
    if (heldBytes === 0) return;
    yield Buffer.concat(held);
    held = [];
    heldBytes = 0;
  }
  for await (const chunk of chunks) {
    if (heldBytes + chunk.length > BLOCK_BYTES) yield* release();
    if (chunk.length < BLOCK_BYTES) {
      held.push(chunk);
      heldBytes += chunk.length;
    } else yield chunk;
  }
  yield* release();
}
