import { type ZstdCompress, constants, createZstdCompress } from 'node:zlib';
import { MIB } from '../kernel/units.ts';

/** Each piece is announced to another process before it is written, which costs more than the piece's memory. */
const CHUNK_BYTES = 4 * MIB;
/** A world is compressed already (region files hold deflated chunks): more effort makes it hardly smaller. */
const LEVEL = 1;

/**
 * Bytes compressed with Zstandard (RFC 8878). While one block is compressed by another thread, the next is asked for; the one
 * before is needed no more by then.
 */
export async function* compressed(blocks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  // Without a checksum of its own: each archive has its SHA-256.
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
    // Looked at when the next block is there, which is later.
    written.catch(() => {});
  }
  await written;
  zstd.end();
}
