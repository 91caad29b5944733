import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context } from 'koa';

/** How bytes are made fewer on their way (RFC 9110 §8.4.1, RFC 7932). */
export type Encoding = 'br' | 'gzip';

const ENCODINGS: readonly Encoding[] = ['br', 'gzip'];
/** Fewer bytes do not become fewer packets. */
const WORTH_BYTES = 1_024;

const asBrotli = promisify(brotliCompress);
const asGzip = promisify(gzip);

/** The best encoding that a request takes, of bytes that are worth it; undefined: as they are. Says that it depends on that. */
export function encodingFor(ctx: Context, bytes: number): Encoding | undefined {
  if (bytes < WORTH_BYTES) return undefined;
  ctx.vary('Accept-Encoding');
  return ENCODINGS.find((each) => ctx.acceptsEncodings(each) === each);
}

/** Off the main thread. `once`: what is made once and kept is worth ten times the time. */
export function compressed(bytes: Buffer, encoding: Encoding, { once }: { once: boolean }): Promise<Buffer> {
  if (encoding === 'gzip') return asGzip(bytes, { level: once ? 9 : 6 });
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: once ? 11 : 4,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return asBrotli(bytes, { params });
}
