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
 * A form that narrows a list. With scripts (`listsScript`), it narrows while its reader types, and the parts marked
 * `data-live` follow. `here`: the page's path.
 */
export function filterForm(
  here: string,
  { value, hint }: { value: string; hint: string },
  choices: Html | false = false,
): Html {
  return html`<form class="card filter" method="get" action="${here}" role="search" data-search>
    <div>
      <label for="q">Search</label>
      <input
        id="q"
        name="q"
        type="text"
        value="${value}"
        maxlength="${SEARCH_CHARS}"
        autocomplete="off"
        placeholder="${hint}"
      />
    </div>
    ${choices}
    <button type="submit" data-plain>Show</button>
  </form>`;
}

/** The length limit of a search. */
export const SEARCH_CHARS = 100;

/** Returns the entries in whose texts every word of a search occurs. */
export function foundBy<Entry>(
  search: string,
  entries: readonly Entry[],
  textsOf: (entry: Entry) => readonly string[],
): Entry[] {
  const words = search.toLowerCase().split(' ');
  return entries.filter((entry) => {
    const text = textsOf(entry).join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** A choice of a filter. `options`: values and names; '' means all. */
export function filterChoice(
  name: string,
  label: string,
  options: readonly (readonly [value: string, name: string])[],
  chosen: string,
): Html {
  return html`<div>
    <label for="${name}">${label}</label>
    <select id="${name}" name="${name}">
      ${options.map(([value, text]) => html`<option value="${value}" ${value === chosen && html`selected`}>${text}</option>`)}
    </select>
  </div>`;
}

/** Links to the first and the next page of a list. `next`: where the next page begins, '' on the last. */
export function cursorPager(request: FormPlace, next: string, labels = ['First page', 'Next page']): Html | false {
  const link = (after: string, label: string | undefined) => {
    const query = new URLSearchParams(request.query);
    query.delete('after');
    if (after !== '') query.set('after', after);
    return html`<a class="button second" href="${addressOf({ ...request, query })}">${label}</a>`;
  };
  const isFirst = !request.query.has('after');
  return (
    (!isFirst || next !== '') &&
    html`<nav class="pager" aria-label="Pages">
      ${!isFirst && link('', labels[0])} ${next !== '' && link(next, labels[1])}
    </nav>`
  );
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
