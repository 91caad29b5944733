import { type Html, html } from '../html.ts';

/** One of the facts in a list of them (`<dl class="facts">`). */
export function fact(name: string, value: Html | string): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

/** Copies a text, where a script may; `what` is said to who hears the page: ` the address`. */
export function copyButton(text: string, what: string, label = 'Copy'): Html {
  return html`<button class="link" type="button" data-copy="${text}" hidden>
    ${label}<span class="unseen"> ${what}</span>
  </button>`;
}
