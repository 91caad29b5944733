import { DAY_MS, HOUR_MS, MINUTE_MS } from '../kernel/units.ts';

/** What shows nothing, or turns around or hides what is near it (Unicode Bidirectional Algorithm §2), but for blanks. */
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

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' });

/** `20 Nov 2026`; UTC, as no browser tells its time zone without a script. */
export function dateText(at: number): string {
  return DATE.format(at);
}

/** `20 Nov 2026, 23:50 UTC`. */
export function instantText(at: number): string {
  return `${dateText(at)}, ${TIME.format(at)} UTC`;
}

const UNITS = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
] as const;

/** `just now`, `1 minute ago`, `3 days ago`. */
export function agoText(at: number, now: number): string {
  for (const [unit, ms] of UNITS) {
    const count = Math.floor((now - at) / ms);
    if (count >= 1) return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
  }
  return 'just now';
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
