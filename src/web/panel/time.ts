import { type Html, html } from '../html.ts';
import { agoText, instantText } from '../text.ts';

/** Shows an instant (epoch ms or text), in the user's time zone if scripts run, otherwise in UTC. */
export function timeTag(at: number | string): Html {
  const instant = new Date(at);
  return html`<time datetime="${instant.toISOString()}" data-local>${instantText(instant.getTime())}</time>`;
}

/** Shows an instant to the second, in the user's time zone if scripts run, otherwise in UTC. */
export function exactTime(at: number | string): Html {
  const instant = new Date(at).toISOString();
  const text = `${instant.slice(0, 19).replace('T', ' ')} UTC`;
  return html`<time datetime="${instant}" data-local="medium">${text}</time>`;
}

/** Shows how long ago an instant was, with the instant itself as a tooltip. */
export function agoTag(at: number | string, now: number): Html {
  const instant = new Date(at);
  const title = instantText(instant.getTime());
  return html`<time datetime="${instant.toISOString()}" title="${title}" data-local-title
    >${agoText(instant.getTime(), now)}</time
  >`;
}
