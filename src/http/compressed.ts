import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context } from 'koa';

/** Content encodings (RFC 9110 §8.4.1, RFC 7932). */
export type Encoding = 'br' | 'gzip';

const ENCODINGS: readonly Encoding[] = ['br', 'gzip'];
/** Minimum size: compressing less does not save a packet. */
const WORTH_BYTES = 1_024;

const asBrotli = promisify(brotliCompress);
const asGzip = promisify(gzip);

/**
 * Returns the best encoding that the request accepts; undefined without one, or if the body is too small. Sets `Vary`.
 */
export function encodingFor(ctx: Context, bytes: number): Encoding | undefined {
  if (bytes < WORTH_BYTES) return undefined;
  ctx.vary('Accept-Encoding');
  return ENCODINGS.find((each) => ctx.acceptsEncodings(each) === each);
}

/**
 * Compresses off the main thread. `once`: for content that is compressed once and cached, which justifies ten times the
 * time.
 */
export function compressed(bytes: Buffer, encoding: Encoding, { once }: { once: boolean }): Promise<Buffer> {
  if (encoding === 'gzip') return asGzip(bytes, { level: once ? 9 : 6 });
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: once ? 11 : 4,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return asBrotli(bytes, { params });
}
