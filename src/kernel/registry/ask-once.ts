import type * as z from 'zod';
import { bytesWithin } from './http.ts';

/** Bounds of one question. */
export interface AskOnceOptions {
  /** Until the answer has come whole. */
  withinMs: number;
  maxBytes: number;
  fetch: typeof globalThis.fetch;
}

/**
 * A question that is asked once, whatever becomes of it: what a 200 says in JSON, in the shape it should have; undefined with
 * any other status. Rejects where no answer comes, or one that is too large or of another shape.
 */
export async function askOnce<Schema extends z.ZodType>(
  url: string,
  schema: Schema,
  { withinMs, maxBytes, fetch }: AskOnceOptions,
): Promise<{ response: Response; said: z.output<Schema> | undefined }> {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(withinMs),
    headers: { accept: 'application/json' },
  });
  if (response.status === 200 && response.body) {
    const bytes = await bytesWithin(maxBytes, response.body);
    return { response, said: schema.parse(JSON.parse(bytes.toString())) };
  }
  await response.body?.cancel();
  return { response, said: undefined };
}
