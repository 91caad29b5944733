import { parseMotd } from './motd.ts';
import type { MotdSpan } from './style.ts';
import { type Html, html } from '../../web/html.ts';

const FORMATS = ['bold', 'italic', 'underlined', 'strikethrough', 'obfuscated'] as const;
/** Characters that reverse or hide nearby text, which descriptions do not need. */
const DECEPTIVE = /[\p{Bidi_Control}\p{Cc}]/gu;

/** Returns a description as HTML, line by line as in the server list. Safe for any text. */
export function motdHtml(motd: string): Html {
  return spansHtml(parseMotd(motd));
}

/** Returns a styled description as HTML. */
export function spansHtml(spans: readonly MotdSpan[]): Html {
  return html`<bdi>${spans.map(spanHtml)}</bdi>`;
}

function spanHtml(span: MotdSpan): Html[] {
  const classes = FORMATS.filter((format) => span[format]).join(' ');
  return span.text.split('\n').map((line, nth) => {
    const text = line.replaceAll(DECEPTIVE, '');
    // Uses an attribute, because the pages' policy forbids inline styles and owners may choose any colour.
    const colored = span.color === undefined ? html`${text}` : html`<font color="${span.color}">${text}</font>`;
    const piece = classes === '' ? colored : html`<span class="${classes}">${colored}</span>`;
    return nth === 0 ? piece : html`<br />${piece}`;
  });
}
