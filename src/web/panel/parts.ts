import { type Html, html } from '../html.ts';
import { type FormPlace, addressOf } from './form.ts';

/** An entry of a list of facts (`<dl class="facts">`) or figures. */
export function fact(name: string, value: Html | string): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

/** A table with a row per item (`rows`), which phones show as cards. The caption is for screen readers. */
export function rowTable(caption: string, headings: readonly string[], rows: Html | readonly Html[]): Html {
  return html`<table class="rows">
    <caption class="unseen">
      ${caption}
    </caption>
    <thead>
      <tr>
        ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

/** Copies a text, if scripts run. `what` is added for screen readers: ` the address`. */
export function copyButton(text: string, what: string, label = 'Copy'): Html {
  return html`<button class="link" type="button" data-copy="${text}" hidden>
    ${label}<span class="unseen"> ${what}</span>
  </button>`;
}

/** Links between pages that belong together, above their content. `links`: paths and names. */
export function chipLinks(
  label: string,
  here: string,
  links: readonly (readonly [path: string, name: string])[],
): Html {
  return html`<nav aria-label="${label}">
    <ul class="chips">
      ${links.map(
        ([path, name]) => html`<li><a href="${path}" ${path === here && html`aria-current="page"`}>${name}</a></li>`,
      )}
    </ul>
  </nav>`;
}

/**
 * Returns the requested part of a long list, so that its page stays below 100 KB, and links to the parts before and
 * after it. `key`: the parameter for the part's start, which each list on a page has of its own; `most`: entries per
 * part; `of`: the plural name of entries, for screen readers.
 */
export function partOf<Entry>(
  request: FormPlace,
  entries: readonly Entry[],
  { key, most, of }: { key: string; most: number; of: string },
): { shown: readonly Entry[]; pager: Html | false } {
  const total = entries.length;
  const last = Math.max(0, Math.ceil(total / most) - 1) * most;
  const first = Math.max(0, Math.floor(Number(request.query.get(key)) || 0));
  // The entries of the requested part may be gone.
  const from = Math.min(first - (first % most), last);
  const shown = entries.slice(from, from + most);
  const link = (to: number, label: string) => {
    const query = new URLSearchParams(request.query);
    if (to === 0) query.delete(key);
    else query.set(key, String(to));
    return html`<a class="button second" href="${addressOf({ ...request, query })}"
      >${label}<span class="unseen"> ${of}</span></a
    >`;
  };
  const pager =
    total > most &&
    html`<nav class="pager" aria-label="Pages of ${of}">
      ${from > 0 && link(from - most, 'Previous')}
      <span>${from + 1}–${from + shown.length} of ${total}</span>
      ${from < last && link(from + most, 'Next')}
    </nav>`;
  return { shown, pager };
}
