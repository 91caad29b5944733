import { colorCode, nearestCode } from './colors.ts';
import { FORMATS, FORMAT_CODES, type MotdSpan, type MotdStyle } from './style.ts';
import { pastedValue } from '../properties/format.ts';
import { parseTags } from './tags.ts';

/** More than fits in the server list. */
const MOTD_LIMITS = { characters: 1_024, lines: 2, lineCharacters: 128 } as const;

/**
 * Parses a description as an owner writes it: plain, with `§` codes (`§x§r§r§g§g§b§b` for any colour), with MiniMessage
 * tags (`tags.ts`), or mixed. `\u00a7` and `\n` are decoded as in `server.properties`. Everything else is text. Time
 * is linear in the length of the text.
 */
export function parseMotd(text: string): MotdSpan[] {
  return parseTags(pastedValue(text.slice(0, MOTD_LIMITS.characters)).replaceAll(String.raw`\n`, '\n'));
}

/** Returns the problem of a description, to follow the field's name; undefined if it is valid. */
export function checkMotd(text: string): string | undefined {
  const { characters, lines, lineCharacters } = MOTD_LIMITS;
  if (text.length > characters) return `must have at most ${characters} characters`;
  if (/[^\P{Cc}\n]/u.test(text)) return 'must not contain control characters';
  const shown = motdText(parseMotd(text)).split('\n');
  if (shown.length > lines) return `must have at most ${lines} lines`;
  const isLong = shown.some((line) => line.length > lineCharacters);
  return isLong ? `must show at most ${lineCharacters} characters a line` : undefined;
}

/** Returns the text without styles. */
export function motdText(spans: readonly MotdSpan[]): string {
  return spans.map(({ text }) => text).join('');
}

/**
 * Returns the description in `§` codes. With `anyColor`, a colour outside the sixteen is written as its nearest one
 * followed by `§x…`, which overrides it if supported; otherwise only the nearest is written.
 */
export function motdCodes(spans: readonly MotdSpan[], { anyColor }: { anyColor: boolean }): string {
  let before: MotdStyle = {};
  let codes = '';
  for (const span of spans) {
    codes += change(before, span, anyColor) + span.text;
    before = span;
  }
  return codes;
}

/**
 * Returns the codes between two spans. A colour's code ends all formats before it, as in the game, so it is only
 * written if the colour changes or a format ends.
 */
function change(before: MotdStyle, after: MotdStyle, anyColor: boolean): string {
  const goesOn = before.color === after.color && FORMATS.every((format) => !before[format] || after[format]);
  const wanted = FORMATS.filter((format) => after[format] && !(goesOn && before[format]));
  const formats = wanted.map((format) => `§${FORMAT_CODES[format]}`).join('');
  if (goesOn) return formats;
  return (after.color === undefined ? '§r' : colorCodes(after.color, anyColor)) + formats;
}

function colorCodes(color: string, anyColor: boolean): string {
  const code = colorCode(color);
  if (code !== undefined) return `§${code}`;
  return `§${nearestCode(color)}${anyColor ? `§x${color.slice(1).replaceAll(/./g, '§$&')}` : ''}`;
}
