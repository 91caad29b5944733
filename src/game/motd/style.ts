import { COLORS } from './colors.ts';

/** Style of a part of a description. A colour is `#rrggbb`; absent: the reader's default. */
export interface MotdStyle {
  color?: string;
  bold?: true;
  italic?: true;
  underlined?: true;
  strikethrough?: true;
  obfuscated?: true;
}

/** Text of one style. Never empty; may contain line ends. */
export interface MotdSpan extends MotdStyle {
  text: string;
}

export type MotdFormat = Exclude<keyof MotdStyle, 'color'>;

/** `§` codes of the formats. */
export const FORMAT_CODES: Readonly<Record<MotdFormat, string>> = {
  obfuscated: 'k',
  bold: 'l',
  strikethrough: 'm',
  underlined: 'n',
  italic: 'o',
};
export const FORMATS = Object.keys(FORMAT_CODES) as MotdFormat[];
const CODE_FORMATS = new Map(FORMATS.map((format) => [FORMAT_CODES[format], format]));

/** Returns the style after a `§` code (without the `§`; for a free colour all of it); undefined for an unknown code. */
export function applyCode(style: MotdStyle, code: string): MotdStyle | undefined {
  const lower = code.toLowerCase();
  if (lower === 'r') return {};
  if (lower.startsWith('x§')) return { color: `#${lower.slice(1).replaceAll('§', '')}` };
  const color = COLORS[lower];
  if (color) return { color: color[1] };
  const format = CODE_FORMATS.get(lower);
  return format && { ...style, [format]: true };
}

/** Whether two styles are equal. */
export function sameStyle(one: MotdStyle, other: MotdStyle): boolean {
  return one.color === other.color && FORMATS.every((format) => one[format] === other[format]);
}
