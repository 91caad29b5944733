/** HTML that is safe to send. Created only by `html`. */
export class Html {
  readonly #text: string;

  /** @internal Use `html`. */
  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** The values of a template. Absent and false ones are omitted, lists are joined. */
export type Fill = Html | string | number | false | null | undefined | readonly Fill[];

type Place = 'text' | 'attribute' | 'tag';

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** A template's text and the position of each value. */
interface Template {
  parts: readonly string[];
  places: readonly Place[];
}

/** Parsed templates, because each is used often. */
const templates = new WeakMap<TemplateStringsArray, Template>();

/**
 * Creates HTML and escapes all values except `Html`. Values may appear in text and in double-quoted attributes; among a
 * tag's attributes, only other `html`. A template with a value anywhere else always throws. Indentation is removed,
 * because nearly half of a page would be blanks.
 */
export function html(template: TemplateStringsArray, ...fills: Fill[]): Html {
  let known = templates.get(template);
  if (!known) {
    known = { parts: template.map((part) => part.replaceAll(/\n\s+/g, '\n')), places: placesIn(template) };
    templates.set(template, known);
  }
  const { parts, places } = known;
  const filled = fills.map((fill, nth) => write(fill, places[nth]) + (parts[nth + 1] ?? ''));
  return new Html(`${parts[0]}${filled.join('')}`);
}

/**
 * References one of our scripts, which templates must not contain. `src` is a path. Scripts run in order after the page
 * has loaded. A package's script that defines globals is not a module.
 */
export function scriptFile(src: string, isModule = true): Html {
  return new Html(`<script ${isModule ? 'type="module"' : 'defer'} src="${escapeHtml(src)}"></script>`);
}

/** Escapes text for HTML, both between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('\0', '\u{FFFD}')
    .replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

function write(fill: Fill, place: Place | undefined): string {
  if (fill === null || fill === undefined || fill === false) return '';
  if (Array.isArray(fill)) return fill.map((each: Fill) => write(each, place)).join('');
  if (fill instanceof Html) {
    if (place === 'attribute') throw new TypeError('HTML is not allowed in an attribute');
    return fill.toString();
  }
  if (place === 'tag') throw new TypeError('only HTML is allowed between attributes');
  return escapeHtml(String(fill));
}

/**
 * Finds the position of each value of a template. Supports only the part of HTML's grammar that templates here use, and
 * rejects the rest.
 */
function placesIn(template: TemplateStringsArray): Place[] {
  const found: Place[] = [];
  let inside: Place = 'text';
  for (const [nth, part] of template.entries()) {
    for (const [token] of part.matchAll(/<!--|<\/?(?:script|style)\b|[<>"]|=\s*(?!["\s])(?=\S|$)/gi)) {
      if (token.length > 2 && token.startsWith('<')) throw new TypeError(`a template must not contain ${token}`);
      if (token === '"' && inside !== 'text') inside = inside === 'tag' ? 'attribute' : 'tag';
      else if (inside === 'text' && token === '<') inside = 'tag';
      else if (inside === 'tag' && token === '>') inside = 'text';
      else if (inside === 'tag' && token.startsWith('=')) throw new TypeError('attributes must be in double quotes');
    }
    if (nth === template.length - 1) continue;
    if (inside === 'tag' && /<\/?[\w-]*$/.test(part)) throw new TypeError('a template must name its tags');
    found.push(inside);
  }
  if (inside !== 'text') throw new TypeError('a template must close its tags');
  return found;
}
