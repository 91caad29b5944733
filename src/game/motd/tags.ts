import { blend, colorValue, hueColor } from './colors.ts';
import { type MotdFormat, type MotdSpan, type MotdStyle, applyCode, sameStyle } from './style.ts';

/** One character with its style. `paint`: its colour depends on its position within that paint. */
interface Glyph {
  text: string;
  style: MotdStyle;
  paint: Paint | undefined;
}

/** A colour range from glyph `from` to `to`; `part` goes from 0 to 1. */
interface Paint {
  from: number;
  to: number;
  colorAt(part: number): string;
}

/** An open tag and the style before it. */
interface Open {
  tag: string;
  style: MotdStyle;
  paint: Paint | undefined;
}

const DECORATIONS = new Map<string, MotdFormat>(
  Object.entries({
    bold: 'bold',
    b: 'bold',
    italic: 'italic',
    i: 'italic',
    em: 'italic',
    underlined: 'underlined',
    u: 'underlined',
    strikethrough: 'strikethrough',
    st: 'strikethrough',
    obfuscated: 'obfuscated',
    obf: 'obfuscated',
  }),
);
/** Tags without effect in a server list. */
const IDLE = new Set(['hover', 'click', 'insertion', 'insert', 'font']);
const COLOR_TAGS = new Set(['color', 'colour', 'c']);

/** The end of a run of plain text: a `§` code, an escaped bracket, or a tag. */
const TOKEN =
  /§(x(?:§[0-9a-f]){6}|[^\n])|\\(<)|<(\/?)(!?)(#[0-9a-f]{6}|[a-z_]{1,16})((?::(?:'[^'\n]{0,256}'|"[^"\n]{0,256}"|[^<>:'"\n]{0,64})){0,16})\/?>/giu;

/**
 * Parses `§` codes and the MiniMessage tags (docs.papermc.io/adventure/minimessage/format) that affect a server list:
 * colours, decorations and their negations, `reset`, `newline`, `gradient` and `rainbow`. Unclosed tags apply to the
 * end; unknown tags and unmatched closing tags are text. An invalid `§` code is dropped, as in the game.
 */
export function parseTags(text: string): MotdSpan[] {
  return merged(new Reader().read(text));
}

class Reader {
  readonly #glyphs: Glyph[] = [];
  readonly #open: Open[] = [];
  #style: MotdStyle = {};
  #paint: Paint | undefined;

  read(text: string): Glyph[] {
    let end = 0;
    for (const match of text.matchAll(TOKEN)) {
      this.#write(text.slice(end, match.index));
      end = match.index + match[0].length;
      const [whole, code, escaped, close, not, tag, args = ''] = match;
      if (code !== undefined) this.#code(code);
      else if (escaped !== undefined) this.#write(escaped);
      else if (!this.#tag({ tag: (tag ?? '').toLowerCase(), closes: close !== '', not: not !== '', args }))
        this.#write(whole);
    }
    this.#write(text.slice(end));
    for (const { paint } of [...this.#open, { paint: this.#paint }]) this.#endPaint(paint);
    return this.#glyphs;
  }

  #write(text: string): void {
    for (const character of text) {
      if (character !== '§') this.#glyphs.push({ text: character, style: this.#style, paint: this.#paint });
    }
  }

  #code(code: string): void {
    const style = applyCode(this.#style, code);
    if (!style) return;
    this.#style = style;
    if (/^[k-o]/i.test(code)) return;
    this.#endPaint(this.#paint);
    this.#paint = undefined;
  }

  /** Returns false if the tag is plain text after all. */
  #tag({ tag, closes, not, args }: { tag: string; closes: boolean; not: boolean; args: string }): boolean {
    if (closes) return !not && this.#close(tag);
    const format = DECORATIONS.get(tag);
    if (format) return this.#decorate(tag, format, !not && args !== ':false');
    if (not) return false;
    if (tag === 'newline' || tag === 'br') this.#write('\n');
    else if (tag === 'reset' || tag === 'r') this.#reset();
    else if (IDLE.has(tag)) this.#enter(tag);
    else return this.#color(tag, args.slice(1).split(':'));
    return true;
  }

  #decorate(tag: string, format: MotdFormat, on: boolean): true {
    this.#enter(tag);
    const { [format]: _, ...others } = this.#style;
    this.#style = on ? { ...others, [format]: true } : others;
    return true;
  }

  #color(tag: string, args: string[]): boolean {
    const value = colorValue(COLOR_TAGS.has(tag) ? (args[0] ?? '') : tag);
    const colorAt = value === undefined ? paintOf(tag, args) : undefined;
    if (value === undefined && !colorAt) return false;
    this.#enter(tag);
    this.#style = { ...this.#style, ...(value !== undefined && { color: value }) };
    this.#paint = colorAt && { from: this.#glyphs.length, to: Infinity, colorAt };
    return true;
  }

  #enter(tag: string): void {
    this.#open.push({ tag, style: this.#style, paint: this.#paint });
  }

  /** Closes a tag and those opened inside it. */
  #close(tag: string): boolean {
    const nth = this.#open.findLastIndex((open) => open.tag === tag);
    const closed = this.#open[nth];
    if (!closed) return false;
    for (const { paint } of [...this.#open.slice(nth + 1), { paint: this.#paint }]) this.#endPaint(paint);
    this.#open.splice(nth);
    this.#style = closed.style;
    this.#paint = closed.paint;
    if (this.#paint) this.#paint.to = Infinity;
    return true;
  }

  #reset(): void {
    for (const { paint } of [...this.#open, { paint: this.#paint }]) this.#endPaint(paint);
    this.#open.splice(0);
    this.#style = {};
    this.#paint = undefined;
  }

  #endPaint(paint: Paint | undefined): void {
    if (paint) paint.to = this.#glyphs.length;
  }
}

function paintOf(tag: string, args: string[]): Paint['colorAt'] | undefined {
  if (tag === 'rainbow') {
    const backwards = (args[0] ?? '').startsWith('!');
    return (part) => hueColor((backwards ? 1 - part : part) * 0.999);
  }
  if (tag !== 'gradient') return undefined;
  const stops = args.filter((arg) => arg !== '' && !/^-?[\d.]+$/.test(arg)).map(colorValue);
  const known = stops.filter((stop) => stop !== undefined);
  if (known.length < stops.length) return undefined;
  return (part) => blend(known.length === 0 ? ['#ffffff', '#000000'] : known, part);
}

/** Merges adjacent glyphs of equal style into spans. */
function merged(glyphs: readonly Glyph[]): MotdSpan[] {
  const spans: MotdSpan[] = [];
  for (const [at, { text, style, paint }] of glyphs.entries()) {
    const length = paint ? paint.to - paint.from : 0;
    const applied = paint
      ? { ...style, color: paint.colorAt(length > 1 ? (at - paint.from) / (length - 1) : 0) }
      : style;
    const last = spans.at(-1);
    if (last && sameStyle(last, applied)) last.text += text;
    else spans.push({ ...applied, text });
  }
  return spans;
}
