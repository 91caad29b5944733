import type { Sql } from '../store/store.ts';
import { TICK_DIVISOR, TICK_MS } from './prices.ts';
import type { AwakeSessionRow } from './awake-session-rows.ts';
import { type FlatRun, type Span, type UsedServer, listFlatRuns, sumFlat, sumMetered } from './usage-rows.ts';

/** Returns a session's GB-hours: charged ones on the metered plan, time up on the flat plan. */
export function gbHoursOf({
  plan,
  ramMb,
  ticks,
  awakeMs,
}: Pick<AwakeSessionRow, 'plan' | 'ramMb' | 'ticks' | 'awakeMs'>): number {
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
