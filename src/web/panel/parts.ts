import { type Html, html } from '../html.ts';

/** An entry of a list of facts (`<dl class="facts">`). */
export function fact(name: string, value: Html | string): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

/** Copies a text, if scripts run. `what` is added for screen readers: ` the address`. */
export function copyButton(text: string, what: string, label = 'Copy'): Html {
  return html`<button class="link" type="button" data-copy="${text}" hidden>
    ${label}<span class="unseen"> ${what}</span>
  </button>`;
}
