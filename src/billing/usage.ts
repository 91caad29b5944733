import type { AwakeSessionRow } from '../store/rows.ts';

/** GB times hours that were awake: what is charged on the metered plan, what was up on the flat one. */
export function gbHoursOf(sessions: readonly Pick<AwakeSessionRow, 'plan' | 'ramMb' | 'ticks' | 'awakeMs'>[]): number {
  const mbMinutes = sessions.reduce(
    (sum, { plan, ramMb, ticks, awakeMs }) => sum + ramMb * (plan === 'flat' ? Math.floor(awakeMs / 60_000) : ticks),
    0,
  );
  return mbMinutes / 61_440;
}
