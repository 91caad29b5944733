import * as z from 'zod';
import type { Cause } from '../../machines/server-types.ts';
import { message, reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { DAY_MS } from '../kernel/units.ts';
import { ServerParams } from '../servers/api/messages.ts';
import type { Shared } from '../servers/shared.ts';
import type { Sql } from '../store/store.ts';
import { type AwakeSessionRow, type FlatRun, listAwakeSessions, listFlatRuns } from './awake-session-rows.ts';
import { flatPaidUntil } from './flat.ts';
import { type Prices, TICK_DIVISOR, TICK_MS, flatMicros, hourlyMicros } from './prices.ts';
import { type Span, type UsedServer, sumFlat, sumMetered } from './ledger-rows.ts';

const DEFAULT_SPAN_MS = 30 * DAY_MS;
/** Most sessions listed, the newest ones. Sums include all. */
const MOST = 1_000;

const instant = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const AwakeSession = z
  .object({
    startedAt: reply.timestamp.describe('When it was woken.'),
    readyAt: reply.timestamp.describe('Metering started then. Null: it never became ready, and the session was free.'),
    endedAt: reply.timestamp.describe('Null: awake now.'),
    ending: reply.text.describe(
      '`stopped`, `idle`, `false_wake`, `crashed`, `start_failed`, `cancelled`, `funds`, …; empty: awake now.',
    ),
    cause: z
      .object({
        kind: reply.text.describe('`player`, `key`, `user`, `schedule`, `operator` or `system`.'),
        id: reply.text,
        note: reply.text,
      })
      .describe('The cause of the wake.'),
    plan: reply.text,
    ramMb: reply.int32,
    minutes: reply.int32.describe('Charged minutes. Only full minutes are charged.'),
    gbHours: z.number().default(0),
    amountMicros: reply.int64,
  })
  .meta({ id: 'AwakeSession' });

export const GetServerUsage = operation({
  id: 'GetServerUsage',
  method: 'get',
  path: '/v1/servers/{id}/usage',
  auth: 'key',
  scope: 'billing:read',
  role: 'owner',
  section: 'Console, logs and insight',
  summary: "Read a server's usage",
  description: `Lists when the server was awake, what woke it and the cost, oldest first: the newest ${MOST} sessions that overlap the span, each in full.
The sums cover only the span, but all of its sessions. A ledger entry (an hour of a session, or a period of the flat plan) belongs to the span in which it began, so consecutive spans add up to the ledger.`,
  params: ServerParams,
  query: message({
    from: instant.optional().describe('RFC 3339. Default: 30 days before `to`.'),
    to: instant.optional().describe('RFC 3339. Default: now.'),
  }),
  reply: z
    .object({
      sessions: z.array(AwakeSession).default([]),
      gbHours: z.number().default(0).describe('In the span.'),
      amountMicros: reply.int64.describe('Total of the ledger entries in the span, including flat periods.'),
      hourMicros: reply.int64.describe('Cost of an hour awake on the metered plan, with its current RAM.'),
      flatMicros: reply.int64.describe('Cost of 30 days on the flat plan, with its current RAM.'),
      flatPaidUntil: reply.timestamp.describe('End of the paid flat period; null without one.'),
    })
    .meta({ id: 'ServerUsage' }),
});

function sessionView(session: AwakeSessionRow): z.input<typeof AwakeSession> {
  const { startedAt, readyAt, endedAt, ending, plan, ramMb, ticks, amountMicros } = session;
  const cause = JSON.parse(session.cause) as Cause;
  const gbHours = gbHoursOf(session);
  return { startedAt, readyAt, endedAt, ending, cause, plan, ramMb, minutes: ticks, gbHours, amountMicros };
}

export const usageOperations = ({ serveServer, store, clock }: Shared, prices: Prices): readonly Served[] => [
  serveServer(GetServerUsage, async ({ server: { row }, query }) => {
    const to = query.to ?? clock.now() + 1;
    const span = { from: query.from ?? to - DEFAULT_SPAN_MS, to };
    const sessions = await listAwakeSessions(store, row, { ...span, limit: MOST });
    return {
      sessions: sessions.map(sessionView),
      ...(await usageIn(store, row, span, clock.now())),
      hourMicros: hourlyMicros(prices.perGbHourMicros, row.ramMb),
      flatMicros: flatMicros(prices.perGbMonthMicros, row.ramMb),
      flatPaidUntil: await flatPaidUntil(store, row, clock.now()),
    };
  }),
];

/** Returns a session's GB-hours: charged ones on the metered plan, time up on the flat plan. */
function gbHoursOf({ plan, ramMb, ticks, awakeMs }: AwakeSessionRow): number {
  return (ramMb * (plan === 'flat' ? Math.floor(awakeMs / TICK_MS) : ticks)) / TICK_DIVISOR;
}

/**
 * Returns a server's usage in a span of time and its cost. Each ledger entry belongs entirely to the span in which it
 * began, so that consecutive spans add up to the ledger.
 */
export async function usageIn(
  db: Sql,
  server: UsedServer,
  span: Span,
  now: number,
): Promise<{ gbHours: number; amountMicros: number }> {
  const metered = await sumMetered(db, server, span);
  const flatMicros = await sumFlat(db, server, span);
  const flatMbMinutes = (await listFlatRuns(db, server, span)).reduce(
    (sum, run) => sum + run.ramMb * (minutesUntil(run, span.to, now) - minutesUntil(run, span.from, now)),
    0,
  );
  return {
    gbHours: (metered.mbMinutes + flatMbMinutes) / TICK_DIVISOR,
    amountMicros: metered.micros + flatMicros,
  };
}

/** Returns a run's full minutes up to an instant. Only their sum is known; it is spread evenly over the run. */
function minutesUntil({ readyAt, endedAt, awakeMs }: FlatRun, until: number, now: number): number {
  const begun = readyAt ?? 0;
  const lasted = Math.max(1, (endedAt ?? now) - begun);
  const share = Math.min(1, Math.max(0, (until - begun) / lasted));
  return Math.floor((awakeMs * share) / TICK_MS);
}
