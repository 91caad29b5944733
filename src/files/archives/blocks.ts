import { KIB } from '../../kernel/units.ts';

/** Each call of a compressor involves another thread, which costs more than compressing a tar header of a few bytes. */
const BLOCK_BYTES = 256 * KIB;

/** Regroups chunks into blocks: joins small ones and passes on large ones without a copy. */
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
