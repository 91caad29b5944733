import { type ZstdCompress, constants, createZstdCompress } from 'node:zlib';
import { MIB } from '../kernel/units.ts';

/**
 * Each piece is announced to another process before it is written, which costs more than the memory of a large piece.
 */
const CHUNK_BYTES = 4 * MIB;
/** A world is compressed already (region files contain deflated chunks), so a higher level hardly makes it smaller. */
const LEVEL = 1;

/**
 * Compresses bytes with Zstandard (RFC 8878). Requests the next block while another thread compresses the current one;
 * the block before may then be reused.
 */
export async function* compressed(blocks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  // No checksum, because each archive has its SHA-256.
  const params = { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 0 };
  const zstd = createZstdCompress({ params, chunkSize: CHUNK_BYTES });
  const fed = feed(zstd, blocks);
  fed.catch((error: Error) => zstd.destroy(error));
  try {
    yield* zstd;
    await fed;
  } finally {
    zstd.destroy();
  }
}

async function feed(zstd: ZstdCompress, blocks: Iterable<Buffer>): Promise<void> {
  let written = Promise.resolve();
  for (const block of blocks) {
    await written;
    written = new Promise((resolve, reject) => {
      zstd.write(block, (error) => (error ? reject(error) : resolve()));
    });
    // Awaited before the next block is written.
    written.catch(() => {});
  }
  await written;
  zstd.end();
}
