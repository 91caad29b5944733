import { wrongUsage } from './errors.ts';

const SECONDS: Record<string, number> = {
  s: 1,
  min: 60,
  m: 60,
  h: 3600,
  d: 86_400,
  day: 86_400,
  w: 604_800,
  week: 604_800,
};

/** Parses a duration into seconds: `90s`, `30min`, `12h`, `7d`, `2w`. Throws wrong usage. */
export function spanSeconds(name: string, text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6}) ?(s|min|m|h|d|days?|w|weeks?)$/.exec(text.trim()) ?? [];
  const each = SECONDS[unit.replace(/^(day|week)s$/, '$1')];
  if (each === undefined || Number(count) === 0) throw wrongUsage(`--${name} must look like 30min, 12h, 7d or 2w.`);
  return Number(count) * each;
}

/** Parses an instant: RFC 3339, a day, or a duration before or after `now`. */
export function instant(name: string, text: string, now: number, direction: 'ago' | 'ahead'): string {
  const at = /^\d{4}-/.test(text)
    ? Date.parse(text)
    : now + (direction === 'ahead' ? 1 : -1) * spanSeconds(name, text) * 1000;
  if (Number.isNaN(at)) throw wrongUsage(`--${name} must look like 2026-11-30, 2026-11-30T20:00:00Z or 7d.`);
  return new Date(at).toISOString();
}
