import { PROTOCOL } from './handshake.ts';

/** The part of a text component that the proxy writes (protocol: minecraft.wiki Text component format). */
export interface TextComponent {
  text: string;
  color?: string;
  bold?: true;
  italic?: true;
  underlined?: true;
  strikethrough?: true;
  obfuscated?: true;
  extra?: TextComponent[];
}

type Style = Omit<TextComponent, 'text' | 'extra'>;

const COLORS: Record<string, string> = {
  0: 'black',
  1: 'dark_blue',
  2: 'dark_green',
  3: 'dark_aqua',
  4: 'dark_red',
  5: 'dark_purple',
  6: 'gold',
  7: 'gray',
  8: 'dark_gray',
  9: 'blue',
  a: 'green',
  b: 'aqua',
  c: 'red',
  d: 'light_purple',
  e: 'yellow',
  f: 'white',
};
const FORMATS: Record<string, Style> = {
  k: { obfuscated: true },
  l: { bold: true },
  m: { strikethrough: true },
  n: { underlined: true },
  o: { italic: true },
};
const CODE = /§(x(?:§[0-9a-f]){6}|[0-9a-fk-or])/gi;
const FREE_COLOR = /§x(?:§[0-9a-f]){6}/gi;
/** Most parts of one text: clients reject a status that is too long. */
const MOST_PARTS = 260;
const MAX_DEPTH = 16;

/**
 * Returns `text` without control characters (line breaks stay), cut to `maxUnits`. Safe to show, whatever its origin.
 */
export function cleanText(text: string, maxUnits: number): string {
  return text
    .slice(0, maxUnits)
    .toWellFormed()
    .replace(/[^\P{Cc}\n]/gu, '');
}

/** Returns `text` without `§` codes. */
export function plainText(text: string): string {
  return text.replace(/§./gsu, '').replaceAll('§', '');
}

/**
 * Converts text with `§` codes to a component. Clients since 1.16 get real styles, with `§x§r§r§g§g§b§b` as `#rrggbb`.
 * Older clients get the codes, which they support better than styles, except for colours beyond the sixteen.
 */
export function toComponent(text: string, protocol: number): TextComponent {
  if (protocol < PROTOCOL.V1_16) return { text: text.replace(FREE_COLOR, '') };
  if (!text.includes('§')) return { text };
  const extra: TextComponent[] = [];
  let style: Style = {};
  let end = 0;
  const push = (part: string): void => {
    if (part !== '' && extra.length < MOST_PARTS) extra.push({ text: part, ...style });
  };
  for (const match of text.matchAll(CODE)) {
    push(text.slice(end, match.index));
    style = nextStyle(style, (match[1] ?? '').toLowerCase());
    end = match.index + match[0].length;
  }
  push(text.slice(end));
  return extra.length === 0 ? { text: '' } : { text: '', extra };
}

/** Applies a code to a style. As in the game, a colour ends all formats before it. */
function nextStyle(style: Style, code: string): Style {
  if (code === 'r') return {};
  if (code.startsWith('x')) return { color: `#${code.slice(1).replaceAll('§', '')}` };
  const color = COLORS[code];
  return color ? { color } : { ...style, ...FORMATS[code] };
}

/** Returns the text of a component (string, list or object, of unknown origin) without styles; '' if it has none. */
export function wordsOf(component: unknown, depth = 0): string {
  if (typeof component === 'string') return plainText(component);
  if (typeof component !== 'object' || component === null || depth > MAX_DEPTH) return '';
  if (Array.isArray(component)) return component.map((part) => wordsOf(part, depth + 1)).join('');
  const text = 'text' in component ? wordsOf(component.text, depth + 1) : '';
  return text + ('extra' in component ? wordsOf(component.extra, depth + 1) : '');
}

/** Formats a span as `40 s`, `12 min`, `2 h 5 min`. */
export function spanText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
