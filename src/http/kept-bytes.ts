import { createHash } from 'node:crypto';
import type { Middleware } from 'koa';
import { namesEtag } from './if-none-match.ts';

/**
 * Answers with a text that is the same for everybody as long as this process lives: made when somebody first asks for it, and
 * from then on bytes with an ETag (RFC 9110 §8.8.3), so that whoever has it already is told so with 304. `type` as for Koa.
 */
export function keptBytes(type: string, make: () => string): Middleware {
  let kept: { bytes: Buffer; etag: string } | undefined;

  function keep(): { bytes: Buffer; etag: string } {
    const bytes = Buffer.from(make());
    return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
  }

  return async function answer(ctx) {
    kept ??= keep();
    // May be kept, but not used without asking whether it is still the one.
    ctx.set({ 'Cache-Control': 'no-cache', ETag: kept.etag });
    ctx.type = type;
    ctx.body = kept.bytes;
    if (namesEtag(ctx.get('if-none-match'), kept.etag)) ctx.status = 304;
  };
}
