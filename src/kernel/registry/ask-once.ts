import type * as z from 'zod';
import { bytesWithin } from './http.ts';

/** The limits of one request. */
export interface AskOnceOptions {
  /** Time limit of the complete answer. */
  withinMs: number;
  maxBytes: number;
  fetch: typeof globalThis.fetch;
}

/**
 * Sends a GET request without retries. `said` is the JSON of a 200 as parsed by `schema`; undefined for any other
 * status. Rejects if the answer is missing, late, too large or invalid.
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
