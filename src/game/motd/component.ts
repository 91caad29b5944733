import { colorValue } from './colors.ts';
import { FORMATS, type MotdSpan, type MotdStyle, applyCode } from './style.ts';

/** More than any description needs. */
const MOST_SPANS = 260;
const MOST_DEPTH = 16;
const CODE = /§(x(?:§[0-9a-f]){6}|[0-9a-z])/gi;

/**
 * Returns a text component (minecraft.wiki Text component format) of unknown origin as clients draw it: parts inherit
 * the style of the part around them, and text may have `§` codes. Translated texts show their key.
 */
export function componentSpans(component: unknown): MotdSpan[] {
  const spans: MotdSpan[] = [];
  add(component, {}, 0);
  return spans;

  function add(part: unknown, around: MotdStyle, depth: number): void {
    if (depth > MOST_DEPTH || spans.length >= MOST_SPANS) return;
    if (typeof part === 'string') return addText(part, around);
    if (Array.isArray(part)) {
      // The first part is the parent of the others.
      const [first, ...others] = part as unknown[];
      return add(
        typeof first === 'object' ? { ...first, extra: others } : { text: first, extra: others },
        around,
        depth,
      );
    }
    if (typeof part !== 'object' || part === null) return;
    const style = styleOf(part as Record<string, unknown>, around);
    const { text, translate, extra } = part as Record<string, unknown>;
    for (const each of [text, translate]) if (typeof each === 'string') addText(each, style);
    if (Array.isArray(extra)) for (const each of extra) add(each, style, depth + 1);
  }

  function addText(text: string, around: MotdStyle): void {
    let style = around;
    let end = 0;
    for (const { 0: whole, 1: code = '', index } of text.matchAll(CODE)) {
      push(text.slice(end, index), style);
      style = code.toLowerCase() === 'r' ? around : (applyCode(style, code) ?? style);
      end = index + whole.length;
    }
    push(text.slice(end), style);
  }

  function push(text: string, style: MotdStyle): void {
    if (text !== '' && spans.length < MOST_SPANS) spans.push({ ...style, text });
  }
}

function styleOf(part: Record<string, unknown>, around: MotdStyle): MotdStyle {
  const color = typeof part['color'] === 'string' ? colorValue(part['color']) : undefined;
  const style: MotdStyle = { ...around, ...(color !== undefined && { color }) };
  for (const format of FORMATS) {
    if (part[format] === true) style[format] = true;
    if (part[format] === false) delete style[format];
  }
  return style;
}
