import { lazily } from '../kernel/once.ts';
import { DAY_MS, GIB, HOUR_MS, KIB, MIB, MINUTE_MS } from '../kernel/units.ts';

/**
 * Characters that are invisible, or reverse or hide nearby text (Unicode Bidirectional Algorithm §2), except blanks.
 */
const INVISIBLE = /(?!\s)(?:\p{C}|\p{Default_Ignorable_Code_Point}|\u{2800})/gu;
const STACKED_MARKS = /(\p{M}{2})\p{M}+/gu;

/**
 * Returns a name chosen by a stranger as one short line that cannot be mistaken for other text: without control,
 * invisible or direction-changing characters, at most `most` code points. '' if nothing remains.
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

/** Returns a link to an app's page with its host; undefined unless it is a plain https: address. */
export function homepageLink(text: string): { href: string; host: string } | undefined {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || text.length > 2_048) return undefined;
  return { href: url.href, host: url.host };
}

const dates = lazily(() => new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }));
const times = lazily(() => new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' }));

/** Formats a date: `20 Nov 2026`. In UTC, because browsers do not reveal their time zone without a script. */
export function dateText(at: number): string {
  return dates().format(at);
}

/** Formats a time: `23:50`, in UTC. */
export function clockText(at: number): string {
  return times().format(at);
}

/** Formats an instant: `20 Nov 2026, 23:50 UTC`. */
export function instantText(at: number): string {
  return `${dateText(at)}, ${clockText(at)} UTC`;
}

const UNITS = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
] as const;

/** Formats a past instant: `just now`, `1 minute ago`, `3 days ago`. */
export function agoText(at: number, now: number): string {
  const span = roughSpan(now - at);
  return span === '' ? 'just now' : `${span} ago`;
}

/** Formats a future instant: `in a moment`, `in 1 minute`, `in 3 days`. */
export function untilText(at: number, now: number): string {
  return `in ${roughSpan(at - now) || 'a moment'}`;
}

/** Formats a span by its largest unit: `3 days`; '' for less than a minute. */
export function roughSpan(ms: number): string {
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(ms / unitMs);
    if (count >= 1) return countText(count, unit);
  }
  return '';
}

/** Formats a count: `1 backup`, `3 backups`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Formats a list: `a`, `a and b`, `a, b and c`. */
export function listText(parts: readonly string[]): string {
  return [parts.slice(0, -1).join(', '), ...parts.slice(-1)].filter((part) => part !== '').join(' and ');
}

const SIZES = [
  ['GB', GIB],
  ['MB', MIB],
  ['KB', KIB],
] as const;

/** Formats a size: `0 bytes`, `3.4 KB`, `312 MB`, in units of 1024 like RAM. The API sends sizes as text. */
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

/** Returns the browser from a `User-Agent`: `Firefox on Linux`. For an unknown browser, its own description. */
export function browserText(userAgent: string): string {
  const named = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = named(BROWSERS);
  if (browser === undefined) return plainName(userAgent) || 'An unknown browser';
  const system = named(SYSTEMS);
  return system === undefined ? browser : `${browser} on ${system}`;
}
