/**
 * The hours in which an owner keeps a running server awake, such as `Fri-Sun 18-24, 8:30-10`. They follow the clock of
 * a time zone, also on days when it is put forward or back, and never start a server.
 */
import { changeBetween, isTimeZone, offsetsOf } from '../kernel/time-zone.ts';
import { DAY_MS, MINUTE_MS } from '../kernel/units.ts';

export const MOST_AWAKE_CHARS = 200;

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const ENTRY = /^(?:([a-z]{3})(?:-([a-z]{3}))? )?(\d{1,2})(?::(\d{2}))?-(\d{1,2})(?::(\d{2}))?$/;
const DAY_MINUTES = 1_440;
const WEEK_MINUTES = 7 * DAY_MINUTES;

/** Minutes of a week that begins on Sunday at 0:00; `to` may be in the next week. */
interface Span {
  from: number;
  to: number;
}

/**
 * Returns the spans of entries separated by commas: days (none: every day), then the time from which and to which the
 * server stays awake. A time at or before the first is on the next day. Returns undefined for an invalid text.
 */
export function parseAwakeHours(text: string): readonly Span[] | undefined {
  if (text.length > MOST_AWAKE_CHARS) return undefined;
  if (text.trim() === '') return [];
  const spans: Span[] = [];
  for (const entry of text.toLowerCase().replaceAll('–', '-').split(',')) {
    const [, first, last, fromHour, fromMinute = '0', toHour, toMinute = '0'] = ENTRY.exec(entry.trim()) ?? [];
    if (fromHour === undefined) return undefined;
    const from = Number(fromHour) * 60 + Number(fromMinute);
    const end = Number(toHour) * 60 + Number(toMinute);
    const [firstDay, lastDay] = first === undefined ? [0, 6] : [DAYS.indexOf(first), DAYS.indexOf(last ?? first)];
    const isValid = Math.max(Number(fromMinute), Number(toMinute)) < 60 && from < DAY_MINUTES && end <= DAY_MINUTES;
    if (!isValid || firstDay < 0 || lastDay < 0) return undefined;
    const to = end > from ? end : end + DAY_MINUTES;
    for (let nth = 0; nth <= (lastDay - firstDay + 7) % 7; nth++) {
      const day = ((firstDay + nth) % 7) * DAY_MINUTES;
      spans.push({ from: day + from, to: day + to });
    }
  }
  return spans;
}

/**
 * Returns the end (epoch ms) of the awake hours that include an instant; Infinity if they have no end, undefined if
 * they do not include it.
 */
export function awakeHoursUntil(
  { awakeHours, awakeTimeZone }: { awakeHours: string; awakeTimeZone: string },
  at: number,
): number | undefined {
  const spans = parseAwakeHours(awakeHours) ?? [];
  if (spans.length === 0 || !isTimeZone(awakeTimeZone)) return undefined;
  const offsetAt = offsetsOf(awakeTimeZone);
  let until = at;
  while (until - at <= 8 * DAY_MS) {
    const offset = offsetAt(until);
    const left = minutesLeft(spans, until + offset);
    if (left === 0) return until === at ? undefined : until;
    const end = Math.floor(until / MINUTE_MS) * MINUTE_MS + left * MINUTE_MS;
    until = offsetAt(end) === offset ? end : changeBetween(until, end, offsetAt);
  }
  return Infinity;
}

/** Returns the minutes until the longest span at a wall time ends; 0 outside of all. */
function minutesLeft(spans: readonly Span[], wall: number): number {
  // 1970-01-01 was a Thursday.
  const now = (Math.floor(wall / MINUTE_MS) + 4 * DAY_MINUTES) % WEEK_MINUTES;
  return Math.max(
    0,
    ...spans.flatMap(({ from, to }) =>
      [now, now + WEEK_MINUTES].filter((minute) => minute >= from && minute < to).map((minute) => to - minute),
    ),
  );
}
