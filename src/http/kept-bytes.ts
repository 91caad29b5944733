import { createHash } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { once } from '../kernel/once.ts';
import { type Encoding, compressed, encodingFor } from './compressed.ts';

/** Constant bytes, cached in each encoding sent so far. */
export interface Kept {
  /** Answers with the bytes. Each encoding has its own ETag (RFC 9110 §8.8.3.3). */
  send(ctx: Context): Promise<void>;
}

/** How constant bytes are sent. */
export interface KeptOptions {
  /** The type as in Koa. */
  type: string;
  /** Whether to compress the bytes if the client accepts it. */
  compress: boolean;
}

/** Prepares constant bytes for sending. */
export function keep(bytes: Buffer, { type, compress }: KeptOptions): Kept {
  const hash = createHash('sha256').update(bytes).digest('base64url');
  const made = new Map<Encoding, () => Promise<Buffer>>();

  return {
    async send(ctx) {
      const encoding = compress ? encodingFor(ctx, bytes.length) : undefined;
      const etag = encoding === undefined ? `"${hash}"` : `"${hash}-${encoding}"`;
      ctx.set('ETag', etag);
      ctx.type = type;
      if (namesEtag(ctx.get('if-none-match'), etag)) {
        ctx.body = null;
        ctx.status = 304;
        return;
      }
      ctx.body = encoding === undefined ? bytes : await inEncoding(encoding);
      if (encoding !== undefined) ctx.set('Content-Encoding', encoding);
    },
  };

  function inEncoding(encoding: Encoding): Promise<Buffer> {
    const known = made.get(encoding) ?? once(() => compressed(bytes, encoding, { once: true }));
    made.set(encoding, known);
    return known();
  }
}

/**
 * Answers with a text that is the same for all callers during this process: created at the first request, then served
 * as bytes with an ETag (RFC 9110 §8.8.3) and 304.
 */
export function keptBytes(options: KeptOptions, make: () => string): Middleware {
  let kept: Kept | undefined;

  return async function answer(ctx) {
    kept ??= keep(Buffer.from(make()), options);
    // May be cached, but must be revalidated.
    ctx.set('Cache-Control', 'no-cache');
    await kept.send(ctx);
  };
}

/**
 * Reports whether an `If-None-Match` names this ETag, by weak comparison (RFC 9110 §13.1.2). Koa's own comparison fails
 * if the request has `Cache-Control: no-cache`, which some clients add to every conditional request.
 */
export function namesEtag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((each) => ['*', etag].includes(each.trim().replace(/^W\//, '')));
}
