/**
 * The due times of schedules. A cron expression describes times on the clock of a time zone; each of them is due once,
 * also on days when that clock is put forward or back.
 */
import { Cron } from 'croner';
import { type OffsetAt, changeBetween, offsetsOf } from '../kernel/time-zone.ts';
import { DAY_MS } from '../kernel/units.ts';

const MAX_CHARS = 120;

/** The names that cron(8) knows (crontab(5), extensions). */
const NAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

/** Each time the server has gone to sleep, in place of a cron expression. */
export const AT_SLEEP = '@sleep';
const MOST_PLAY_HOURS = 720;

/** Returns a cron expression as it is stored: a name such as `@daily` becomes its five fields. */
export function storedCron(cronExpr: string): string {
  const trimmed = cronExpr.trim();
  const name = trimmed.toLowerCase().replace(/\s+/g, ' ');
  if (Object.hasOwn(NAMES, name)) return NAMES[name] ?? trimmed;
  return isOccasion(name) ? name : trimmed;
}

/** Whether a stored expression names an occasion (`@sleep`, `@play 6h`) and not times. */
export function isOccasion(cronExpr: string): boolean {
  return cronExpr.startsWith('@');
}

/** Returns the hours of play after which a stored expression such as `@play 6h` is due; undefined for any other. */
export function playHours(cronExpr: string): number | undefined {
  const hours = Number(/^@play ([1-9]\d{0,2})h$/.exec(cronExpr)?.[1]);
  return hours <= MOST_PLAY_HOURS ? hours : undefined;
}

/**
 * Returns the first due time after an instant (epoch ms) of a cron expression with five fields (minute, hour, day of
 * month, month, day of week) in a time zone, so a schedule never runs twice in a minute. A time that the clock skips is
 * due when it is put forward; a time that it shows twice is due the first time. If the hour is `*`, the schedule follows
 * elapsed time and is due in both of two equal hours. Returns null if the expression is invalid or never matches.
 */
export function nextRun(cronExpr: string, after: number, timeZone = 'UTC'): number | null {
  if (cronExpr.length > MAX_CHARS || cronExpr.trim().split(/\s+/).length !== 5) return null;
  try {
    const cron = new Cron(cronExpr, { mode: '5-part', timezone: 'UTC', paused: true });
    const nextWall = (wall: number) => cron.nextRun(new Date(wall))?.getTime() ?? null;
    if (timeZone === 'UTC') return nextWall(after);
    const offsetAt = offsetsOf(timeZone);
    const isEveryHour = cronExpr.trim().split(/\s+/)[1] === '*';
    return isEveryHour ? nextElapsed(nextWall, offsetAt, after) : nextOnce(nextWall, offsetAt, after);
  } catch {
    return null;
  }
}

/** Returns the time after a wall time that matches; null without one. Wall times are epoch ms as if the zone were UTC. */
type NextWall = (wall: number) => number | null;

function nextOnce(nextWall: NextWall, offsetAt: OffsetAt, after: number): number | null {
  let wall = nextWall(after + offsetAt(after));
  // While the clock shows an hour for the second time, its times are over.
  while (wall !== null && instantOf(wall, offsetAt) <= after) wall = nextWall(wall);
  return wall === null ? null : instantOf(wall, offsetAt);
}

function nextElapsed(nextWall: NextWall, offsetAt: OffsetAt, after: number): number | null {
  let from = after;
  for (;;) {
    const offset = offsetAt(from);
    const wall = nextWall(from + offset);
    if (wall === null) return null;
    if (offsetAt(wall - offset) === offset) return wall - offset;
    const changedAt = changeBetween(from, wall - offset, offsetAt);
    const first = nextWall(changedAt + offsetAt(changedAt) - 1);
    if (first === changedAt + offsetAt(changedAt)) return changedAt;
    from = changedAt;
  }
}

/** Returns the first instant at which the clock shows a wall time, or the instant at which it skips it. */
function instantOf(wall: number, offsetAt: OffsetAt): number {
  // Zones differ by up to 14 hours from UTC and have skipped a whole day.
  const [before, later] = [wall - 2 * DAY_MS, wall + 2 * DAY_MS];
  for (const offset of [offsetAt(before), offsetAt(later)]) {
    if (offsetAt(wall - offset) === offset) return wall - offset;
  }
  return changeBetween(before, later, offsetAt);
}
