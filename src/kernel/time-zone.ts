/** The clocks of IANA time zones. */
import { MINUTE_MS } from './units.ts';

/** Returns what a zone's clock is ahead of UTC, in ms, at an instant. */
export type OffsetAt = (at: number) => number;

/** Returns whether a text is an IANA time zone name that this machine knows. Offsets such as `+01:00` are not names. */
export function isTimeZone(timeZone: string): boolean {
  if (!/^[A-Za-z]/.test(timeZone)) return false;
  try {
    offsetsOf(timeZone);
    return true;
  } catch {
    return false;
  }
}

/** Returns the minute in which the offset changes from that at `before`. */
export function changeBetween(before: number, later: number, offsetAt: OffsetAt): number {
  const offset = offsetAt(before);
  let low = Math.floor(before / MINUTE_MS);
  let high = Math.ceil(later / MINUTE_MS);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * MINUTE_MS) === offset) low = middle;
    else high = middle;
  }
  return high * MINUTE_MS;
}

/** Zones in use. A formatter costs more than all of its answers, and running servers ask every few seconds. */
const zones = new Map<string, OffsetAt>();
const MOST_ZONES = 64;

/** Returns the offsets of an IANA time zone. Throws RangeError for an unknown one. */
export function offsetsOf(timeZone: string): OffsetAt {
  const known = zones.get(timeZone);
  if (known !== undefined) return known;
  const offsetAt = newOffsets(timeZone);
  if (zones.size >= MOST_ZONES) zones.clear();
  zones.set(timeZone, offsetAt);
  return offsetAt;
}

function newOffsets(timeZone: string): OffsetAt {
  const fields = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
  const format = new Intl.DateTimeFormat('en', { timeZone, hourCycle: 'h23', calendar: 'iso8601', ...fields });
  return (at) => {
    const minute = Math.floor(at / MINUTE_MS) * MINUTE_MS;
    const parts = format.formatToParts(minute).map(({ type, value }) => [type, Number(value)]);
    const { year, month, day, hour, minute: minutes } = Object.fromEntries(parts) as Record<string, number>;
    return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minutes) - minute;
  };
}
