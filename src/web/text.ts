import { lazily } from '../kernel/once.ts';
import { DAY_MS, GIB, HOUR_MS, KIB, MIB, MINUTE_MS } from '../kernel/units.ts';

/**
 * Characters that show nothing, or turn around or hide nearby text (Unicode Bidirectional Algorithm §2), except blanks.
 */
const INVISIBLE = /(?!\s)(?:\p{C}|\p{Default_Ignorable_Code_Point}|\u{2800})/gu;
const STACKED_MARKS = /(\p{M}{2})\p{M}+/gu;

/**
 * A name that a stranger chose, as one short line that cannot pretend to be more than a name: no control, invisible or
 * direction-changing characters, at most `most` code points. '' where nothing is left.
 */
export function plainName(text: string, most = 60): string {
  const line = text
    .slice(0, most * 20)
    .toWellFormed()
    .replaceAll(INVISIBLE, '')
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(STACKED_MARKS, '$1')
    .trim();
  const characters = Array.from(line);
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : line;
}

/** A link to somebody's page, and the host it leads to; undefined for what is no https: address, or hides who it is. */
export function homepageLink(text: string): { href: string; host: string } | undefined {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || text.length > 2_048) return undefined;
  return { href: url.href, host: url.host };
}

const dates = lazily(() => new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }));
const times = lazily(() => new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' }));

/** `20 Nov 2026`; UTC, because browsers do not reveal their time zone without a script. */
export function dateText(at: number): string {
  return dates().format(at);
}

/** `23:50`, in UTC as well. */
export function clockText(at: number): string {
  return times().format(at);
}

/** `20 Nov 2026, 23:50 UTC`. */
export function instantText(at: number): string {
  return `${dateText(at)}, ${clockText(at)} UTC`;
}

const UNITS = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
] as const;

/** `just now`, `1 minute ago`, `3 days ago`. */
export function agoText(at: number, now: number): string {
  const span = roughSpan(now - at);
  return span === '' ? 'just now' : `${span} ago`;
}

/** `in a moment`, `in 1 minute`, `in 3 days`. */
export function untilText(at: number, now: number): string {
  return `in ${roughSpan(at - now) || 'a moment'}`;
}

/** The greatest whole unit of a span of time: `3 days`; '' for less than a minute. */
export function roughSpan(ms: number): string {
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(ms / unitMs);
    if (count >= 1) return countText(count, unit);
  }
  return '';
}

/** `1 backup`, `3 backups`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listText(parts: readonly string[]): string {
  return [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter((part) => part !== '').join(' and ');
}

const SIZES = [
  ['GB', GIB],
  ['MB', MIB],
  ['KB', KIB],
] as const;

/** `0 bytes`, `3.4 KB`, `312 MB`, of 1024 each as RAM is counted. Replies of the API tell bytes as text. */
export function sizeText(bytes: number | string): string {
  const size = Number(bytes);
  for (const [unit, unitBytes] of SIZES) {
    const count = size / unitBytes;
    if (count >= 1) return `${count < 10 ? Number(count.toFixed(1)) : Math.round(count)} ${unit}`;
  }
  return countText(size, 'byte');
}

const BROWSERS: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/.*\bSafari\//, 'Safari'],
];
const SYSTEMS: [RegExp, string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** `Firefox on Linux`, from a `User-Agent`; what it says of itself where it is no browser known here. */
export function browserText(userAgent: string): string {
  const named = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = named(BROWSERS);
  if (browser === undefined) return plainName(userAgent) || 'An unknown browser';
  const system = named(SYSTEMS);
  return system === undefined ? browser : `${browser} on ${system}`;
}
