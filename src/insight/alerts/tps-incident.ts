/** How a server kept its pace in one minute. */
export interface PaceReading {
  at: number;
  /** 0: the game did not say. */
  tps: number;
  players: number;
}

/** The effect of a reading on a server's incident: one begins, the open one ends, or it belongs to an earlier run. */
export type IncidentStep = 'open' | 'close' | 'forget';

const LOW_TPS = 15;
const LOW_READINGS = 3;
const GOOD_TPS = 18;
const GOOD_READINGS = 2;
/** The most readings that a decision needs. */
export const READINGS = Math.max(LOW_READINGS, GOOD_READINGS);

/**
 * Three minutes in a row below 15 ticks per second open an incident, two at 18 or more end it; readings in between, or
 * brief ones, change nothing. A minute without players opens none, because no player notices and an empty game may
 * pause. `recent` are the newest readings of this run of the game, oldest first, including this minute's.
 */
export function incidentStep(
  recent: readonly PaceReading[],
  { openedAt, readyAt }: { openedAt: number | null; readyAt: number },
): IncidentStep | undefined {
  if (openedAt === null) {
    const isLow = ({ tps, players }: PaceReading) => tps > 0 && tps < LOW_TPS && players > 0;
    return holds(recent, LOW_READINGS, isLow) ? 'open' : undefined;
  }
  if (openedAt < readyAt) return 'forget';
  return holds(recent, GOOD_READINGS, ({ tps }) => tps >= GOOD_TPS) ? 'close' : undefined;
}

function holds(recent: readonly PaceReading[], count: number, each: (reading: PaceReading) => boolean): boolean {
  const last = recent.slice(-count);
  return last.length === count && last.every(each);
}
