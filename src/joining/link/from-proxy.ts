import * as z from 'zod';
import { type FromProxy, MOST_PLAYERS } from '../../../proxy/link/messages.ts';
import { KIB } from '../../kernel/units.ts';

const text = (most: number) => z.string().max(most);
const count = z.number().int().min(0);
const total = z.number().min(0);
const serverId = text(64);

const player = z.object({
  name: text(16),
  uuid: text(36).nullable(),
  ip: text(64),
  protocol: z.number().int(),
  verified: z.boolean().optional(),
});

const listening = z.object({ host: text(255), port: z.number().int().min(1).max(65_535) }).nullable();

const stats = z.object({
  accepted: total,
  unrouted: total,
  held: total,
  statusAnswers: total,
  joins: total,
  kicks: z.record(text(32), total),
  piped: total,
  bytesUp: total,
  bytesDown: total,
});

/** All messages from proxies. */
const Message = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('hello'),
    protocol: z.number().int(),
    id: text(64).min(1),
    name: text(128),
    version: text(128),
    settings: text(64 * KIB),
    pid: count,
    since: count,
    listening,
  }),
  z.object({
    type: z.literal('here'),
    servers: z
      .array(
        z.object({
          id: serverId,
          inside: count,
          knocking: count,
          insideMsAgo: total.optional(),
          players: z.array(player).max(MOST_PLAYERS),
        }),
      )
      .max(10_000),
  }),
  z.object({ type: z.literal('whole') }),
  z.object({ type: z.literal('wake'), id: count, server: serverId, player, waitedMs: total.optional() }),
  z.object({ type: z.literal('cancel'), id: count }),
  z.object({ type: z.literal('stats'), stats, listening, draining: z.boolean() }),
  z.object({
    type: z.literal('verified'),
    accounts: z.array(z.object({ name: text(16), ip: text(64), forMs: total })).max(10_000),
  }),
  z.object({
    type: z.literal('log'),
    level: z.enum(['debug', 'info', 'warn']),
    fields: z.record(z.string(), z.unknown()),
    message: text(1_024),
  }),
]);

/** Parses a message. Throws for anything else, without including its content in the error. */
export function readFromProxy(json: string): FromProxy {
  const { success, data } = Message.safeParse(parse(json));
  if (!success) throw new Error('not a message of a proxy');
  return data;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
