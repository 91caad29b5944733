import { spansHtml } from '../../game/motd/html.ts';
import type { MotdSpan } from '../../game/motd/style.ts';
import { type Html, html } from '../../web/html.ts';
import { plainName } from '../../web/text.ts';

/** A server's entry in the server list of a client. */
export interface ListEntry {
  description: readonly MotdSpan[];
  playersOnline: number;
  playersMax: number;
}

/** Draws an entry as the game's server list does: icon, name, players at the right, and two lines. */
export function entryHtml(name: string, icon: string | undefined, entry: ListEntry): Html {
  return html`<div class="entry" id="entry" aria-live="polite">
    ${icon !== undefined && html`<img class="icon" src="${icon}" alt="" width="64" height="64" />`}
    <div>
      <p class="entry-name"><bdi>${plainName(name)}</bdi> <span>${entry.playersOnline}/${entry.playersMax}</span></p>
      <p class="motd">${spansHtml(entry.description)}</p>
    </div>
  </div>`;
}
