import { setImmediate as immediate } from 'node:timers/promises';
import * as z from 'zod';

/** Most entries processed in one turn of the event loop. */
const STEP = 1_000;

/**
 * A reply serialized by its handler, complete or in pieces while it is sent. If a piece fails, the connection is cut.
 * `sent` is called when it has been sent or cannot be sent.
 */
export class WrittenReply {
  readonly json: Buffer | AsyncIterable<string>;
  readonly sent: () => void;
  constructor(json: Buffer | AsyncIterable<string>, sent: () => void) {
    this.json = json;
    this.sent = sent;
  }
}

/**
 * Returns a handler's result as described by its reply's schema. Processes long lists in steps that let other work run
 * in between: a listing may have hundreds of thousands of entries.
 */
export async function replyOf<Reply extends z.ZodType>(
  schema: Reply,
  given: z.input<Reply> | WrittenReply,
): Promise<z.output<Reply> | WrittenReply> {
  if (given instanceof WrittenReply) return given;
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
