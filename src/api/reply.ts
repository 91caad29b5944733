import { setImmediate as immediate } from 'node:timers/promises';
import { z } from 'zod';

/** As much of a list as holds nobody else up. */
const STEP = 5_000;

/**
 * What a handler gives, as its reply's schema has it. Long lists directly in it are gone through in steps, between which
 * others get their turn: a listing may have hundreds of thousands of entries.
 */
export async function replyOf<Reply extends z.ZodType>(schema: Reply, given: z.input<Reply>): Promise<z.output<Reply>> {
  if (!(schema instanceof z.ZodObject)) return schema.parse(given);
  const short: Record<string, unknown> = { ...(given as object) };
  const long: Record<string, unknown[]> = {};
  for (const [name, field] of Object.entries<z.ZodType<unknown[]>>(schema.shape)) {
    const list = short[name];
    if (!Array.isArray(list) || list.length <= STEP) continue;
    short[name] = [];
    const items: unknown[] = (long[name] = []);
    for (let from = 0; from < list.length; from += STEP) {
      items.push(...field.parse(list.slice(from, from + STEP)));
      await immediate();
    }
  }
  return { ...(schema.parse(short) as object), ...long } as z.output<Reply>;
}
