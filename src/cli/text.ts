import { stripVTControlCharacters } from 'node:util';

/** Controls, and marks that change the direction of text: others' text must not move the cursor or hide anything. */
const UNSHOWABLE = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;
const ESCAPE = '\u001b';
const COLOUR = new RegExp(`(${ESCAPE}\\[[\\d;]{0,32}m)`);
/** Letters twice as wide as others in a terminal (Unicode East Asian Width W and F, and emoji), near enough for columns. */
const WIDE =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;

const graphemes = new Intl.Segmenter();

/** A text of the service without anything that controls the terminal. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(UNSHOWABLE, '');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

/** A line of a game's log without anything that controls the terminal but, where it shows them, colours. */
export function logLine(text: string, colours: boolean): string {
  if (!colours || !COLOUR.test(text)) return printable(text);
  const parts = text.split(COLOUR).map((part) => (COLOUR.test(part) ? part : printable(part)));
  return `${parts.join('')}${ESCAPE}[0m`;
}

/** What a console answers, without the game's own colour codes (minecraft.wiki: Formatting codes). */
export function consoleText(text: string): string {
  return printable(text.replace(/§[0-9a-z]/gi, ''));
}

/** How many columns of a terminal a text takes. */
export function width(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(stripVTControlCharacters(text))) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}

/** A text cut to fit; a cut text loses its colours. */
export function cut(text: string, room: number): string {
  if (width(text) <= room) return text;
  let kept = '';
  for (const { segment } of graphemes.segment(stripVTControlCharacters(text))) {
    if (width(kept + segment) > room) break;
    kept += segment;
  }
  return kept;
}

/** The text without what looks like a key, a token or a device_code, for errors. */
export function withoutSecrets(text: string): string {
  return text.replace(/\bdm[kad]_[0-9A-Za-z]+/g, (secret) => `${secret.slice(0, 4)}…`);
}
