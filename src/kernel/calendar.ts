import { DAY_MS } from './units.ts';

/** Returns the start of an instant's day in UTC. */
export function dayStart(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

/** Returns the start of an instant's month in UTC, or of the month `back` months earlier. */
export function monthStart(at: number, back = 0): number {
  const day = new Date(at);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() - back);
}
