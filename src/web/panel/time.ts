import { type Html, html } from '../html.ts';
import { agoText, instantText } from '../text.ts';

/** An instant (epoch ms, or a text that names one), in the reader's own time where a script runs, else in UTC. */
export function timeTag(at: number | string): Html {
  const instant = new Date(at);
  return html`<time datetime="${instant.toISOString()}" data-local>${instantText(instant.getTime())}</time>`;
}

/** An instant to the second, in the reader's own time where a script runs, else in UTC. */
export function exactTime(at: number | string): Html {
  const instant = new Date(at).toISOString();
  const text = `${instant.slice(0, 19).replace('T', ' ')} UTC`;
  return html`<time datetime="${instant}" data-local="medium">${text}</time>`;
}

/** How long ago an instant was, with the instant itself for who points at it. */
export function agoTag(at: number | string, now: number): Html {
  const instant = new Date(at);
  const title = instantText(instant.getTime());
  return html`<time datetime="${instant.toISOString()}" title="${title}" data-local-title
    >${agoText(instant.getTime(), now)}</time
  >`;
}
