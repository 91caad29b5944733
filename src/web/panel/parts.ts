import { type Html, html } from '../html.ts';

/** An entry of a list of facts (`<dl class="facts">`). */
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
