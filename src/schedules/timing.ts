import { invalidFields } from '../http/errors.ts';
import { listText } from '../web/text.ts';
import { AT_SLEEP, playHours } from './next-run.ts';

/** A schedule's time, as the form represents it. */
interface Timing {
  /** `hour`, `day`, `month`, a day of the week (`0` to `6`, Sunday first), `sleep`, `play`, or `cron` for any other time. */
  when: string;
  /** `HH:MM`; for `hour`, only the minutes apply. */
  time: string;
  /** The hours of `play`. */
  hours: string;
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;

/** The form's options with their labels. */
export const WHENS: readonly (readonly [when: string, text: string])[] = [
  ['hour', 'every hour'],
  ['day', 'every day'],
  ...[1, 2, 3, 4, 5, 6, 0].map((day) => [String(day), `every ${WEEKDAYS[day]}`] as const),
  ['month', 'on the 1st of every month'],
  ['sleep', 'each time it goes to sleep'],
  ['play', 'by hours of play'],
  ['cron', 'by a cron expression'],
];

/** Returns the cron expression of the chosen options. INVALID_ARGUMENT for an invalid `time`. */
export function cronOf({ when, time, hours, cronExpr }: Timing & { cronExpr: string }): string {
  if (when === 'cron') return cronExpr;
  if (when === 'sleep') return AT_SLEEP;
  if (when === 'play') return playOf(hours);
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
  if (hour === undefined || minute === undefined) {
    throw invalidFields([{ field: 'time', description: 'must be a time of day, such as 04:00' }]);
  }
  const at = `${Number(minute)} ${Number(hour)}`;
  if (when === 'hour') return `${Number(minute)} * * * *`;
  if (when === 'day') return `${at} * * *`;
  if (when === 'month') return `${at} 1 * *`;
  if (/^[0-6]$/.test(when)) return `${at} * * ${when}`;
  throw invalidFields([{ field: 'when', description: 'must be one of those offered' }]);
}

function playOf(hours: string): string {
  const cronExpr = `@play ${hours}h`;
  if (playHours(cronExpr) !== undefined) return cronExpr;
  throw invalidFields([{ field: 'hours', description: 'must be a number of hours from 1 to 720' }]);
}

/** Returns a cron expression as the form represents it; `cron` for an expression that no other choice covers. */
export function timingOf(cronExpr: string): Timing {
  const hours = playHours(cronExpr);
  if (hours !== undefined) return { ...OCCASION, when: 'play', hours: String(hours) };
  return { ...OCCASION, ...(cronExpr === AT_SLEEP ? { when: 'sleep' } : timesOf(cronExpr)) };
}

const OCCASION = { time: '04:00', hours: '6' };

function timesOf(cronExpr: string): { when: string; time: string } {
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = cronExpr.trim().split(/\s+/);
  const time = `${isNumber(hour) ? two(hour) : '00'}:${isNumber(minute) ? two(minute) : '00'}`;
  if (!isNumber(minute) || month !== '*') return { when: 'cron', time };
  const isDaily = isNumber(hour) && day === '*';
  if (hour === '*' && day === '*' && weekday === '*') return { when: 'hour', time };
  if (isDaily && weekday === '*') return { when: 'day', time };
  if (isDaily && /^[0-7]$/.test(weekday)) return { when: String(Number(weekday) % 7), time };
  if (isNumber(hour) && day === '1' && weekday === '*') return { when: 'month', time };
  return { when: 'cron', time };
}

/**
 * Returns a cron expression in words, such as `every day at 04:00 UTC`. An expression without short words is returned
 * as it is.
 */
export function timingText({ cronExpr, timeZone }: { cronExpr: string; timeZone: string }): string {
  const { when, time, hours } = timingOf(cronExpr);
  if (when === 'sleep') return 'each time it goes to sleep';
  if (when === 'play') return `every ${hours} h of play`;
  if (when === 'hour') return time === '00:00' ? 'every hour' : `every hour, ${Number(time.slice(3))} minutes past`;
  if (when !== 'cron') return `${WHENS.find(([each]) => each === when)?.[1]} at ${time} ${timeZone}`;
  return repeated(cronExpr) ?? atTimes(cronExpr, timeZone) ?? `by cron, in ${timeZone}: ${cronExpr}`;
}

/** Returns `every 15 minutes` or `every 6 hours`; undefined if the step does not divide the hour or the day evenly. */
function repeated(cronExpr: string): string | undefined {
  const [, minutes] = /^(?:\*|\*\/(\d+)) \* \* \* \*$/.exec(cronExpr) ?? [];
  if (cronExpr === '* * * * *') return 'every minute';
  if (minutes !== undefined && 60 % Number(minutes) === 0) return `every ${minutes} minutes`;
  const [, hours] = /^0 \*\/(\d+) \* \* \*$/.exec(cronExpr) ?? [];
  if (hours === undefined || 24 % Number(hours) !== 0) return undefined;
  return `every ${hours} hours`;
}

/**
 * Returns, for example, `every day at 04:00 and 16:00 UTC` or `every Saturday and Sunday at 04:00 UTC`; undefined for
 * any other expression.
 */
function atTimes(cronExpr: string, timeZone: string): string | undefined {
  const [, minute, hours = '', weekdays = ''] = /^(\d+) (\d+(?:,\d+)*) \* \* (\*|[0-7][0-7,-]*)$/.exec(cronExpr) ?? [];
  if (minute === undefined) return undefined;
  const times = hours.split(',').map((hour) => `${two(hour)}:${two(minute)}`);
  const days = daysText(weekdays);
  return days === undefined ? undefined : `${days} at ${listText(times)} ${timeZone}`;
}

function daysText(weekdays: string): string | undefined {
  if (weekdays === '*') return 'every day';
  if (weekdays === '1-5') return 'Monday to Friday';
  const days = weekdays.split(',').map((day) => WEEKDAYS[Number(day) % 7]);
  return days.includes(undefined) ? undefined : `every ${listText(days as string[])}`;
}

function isNumber(field: string): boolean {
  return /^\d{1,2}$/.test(field);
}

function two(number: string): string {
  return number.padStart(2, '0');
}
