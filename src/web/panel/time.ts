import { type Html, html } from '../html.ts';
import { instantText } from '../text.ts';

/** An instant (epoch ms, or a text that names one), in the reader's own time where a script runs, else in UTC. */
export function timeTag(at: number | string): Html {
  const instant = new Date(at);
  return html`<time datetime="${instant.toISOString()}" data-local>${instantText(instant.getTime())}</time>`;
}
