import { stripVTControlCharacters } from 'node:util';

/** Control characters and direction marks: text from others must not move the cursor or hide anything. */
const UNSHOWABLE = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;
const ESCAPE = '\u001b';
const COLOUR = new RegExp(`(${ESCAPE}\\[[\\d;]{0,32}m)`);
/** Characters twice as wide as others in a terminal (Unicode East Asian Width W and F, and emoji). Approximate. */
const WIDE =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;

const graphemes = new Intl.Segmenter();

/** Removes characters that control the terminal. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(UNSHOWABLE, '');
}

/** Returns printable text on one line. */
export function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

/** Returns a line of a game's log without terminal control characters, except colours if they are shown. */
export function logLine(text: string, colours: boolean): string {
  if (!colours || !COLOUR.test(text)) return printable(text);
  const parts = text.split(COLOUR).map((part) => (COLOUR.test(part) ? part : printable(part)));
  return `${parts.join('')}${ESCAPE}[0m`;
}

/** The game's colours `0` to `f` as terminal colours (minecraft.wiki: Formatting codes; ECMA-48 SGR). */
const SGR = [30, 34, 32, 36, 31, 35, 33, 37, 90, 94, 92, 96, 91, 95, 93, 97];

/** Returns a console's answer, with the game's own colours if they are shown. */
export function consoleText(text: string, colours = false): string {
  const [first = '', ...parts] = text.split(/§(?=[0-9a-z])/i);
  const shown = parts.map((part) => {
    const colour = SGR[Number.parseInt(part.charAt(0), 16)];
    const rest = printable(part.slice(1));
    if (!colours) return rest;
    if (colour === undefined) return /^r/i.test(part) ? `${ESCAPE}[0m${rest}` : rest;
    return `${ESCAPE}[${colour}m${rest}`;
  });
  const end = colours && shown.length > 0 ? `${ESCAPE}[0m` : '';
  return [printable(first), ...shown, end].join('');
}

/** Returns the width of a text in terminal columns. */
export function width(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(stripVTControlCharacters(text))) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}

/** Cuts a text to fit. A cut text loses its colours. */
export function cut(text: string, room: number): string {
  if (width(text) <= room) return text;
  let kept = '';
  for (const { segment } of graphemes.segment(stripVTControlCharacters(text))) {
    if (width(kept + segment) > room) break;
    kept += segment;
  }
  return kept;
}

/** Removes everything from an error text that looks like a key, a token or a device_code. */
export function withoutSecrets(text: string): string {
  return text.replace(/\bdm[kad]_[0-9A-Za-z]+/g, (secret) => `${secret.slice(0, 4)}…`);
}
