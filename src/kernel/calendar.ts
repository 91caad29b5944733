import { DAY_MS } from './units.ts';

/** The beginning of an instant's day, UTC. */
export function dayStart(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

/** The beginning of an instant's month, UTC, or of one so many months before. */
export function monthStart(at: number, back = 0): number {
  const day = new Date(at);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() - back);
}
