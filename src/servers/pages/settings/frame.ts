import { isTagged } from '../../../../machines/server.ts';
import { ASSETS } from '../../../web/assets.ts';
import { type Html, html } from '../../../web/html.ts';
import { hidden } from '../../../web/form.ts';
import type { Page } from '../../../web/page-request.ts';
import type { ServerRequest } from '../../../web/panel/panel.ts';
import { chipLinks } from '../../../web/panel/parts.ts';
import { requireRole } from '../../api/reach.ts';
import { isStoppedForIt, stopsText } from '../parts.ts';

/** Settings pages in the order of their links. Each is in the room of its subject. */
const PAGES = [
  ['/settings', 'General'],
  ['/settings/description', 'Description and icon'],
  ['/settings/game', 'Game'],
  ['/settings/joining', 'Joining'],
  ['/settings/address', 'Address'],
  ['/settings/network', 'Network'],
  ['/settings/public', 'Public page'],
  ['/settings/alerts', 'Alerts'],
  ['/settings/version', 'Version'],
] as const;

/** Returns a settings page below the links to the others. Throws PERMISSION_DENIED if the reader cannot change any. */
export function settingsPage(request: ServerRequest, title: string, cards: Html): Page {
  requireRole(request.role, 'member');
  const top = `/servers/${request.server.id}`;
  const links = PAGES.map(([path, name]) => [`${top}${path}`, name] as const);
  const main = html`${chipLinks('Settings', request.here, links)} ${cards}`;
  return { title, main, styles: [ASSETS.settingsStyle] };
}

/** Shown after each form of settings. */
export const SAVED = { saved: 'Saved.' };

/**
 * Returns the part of a form that says what a change at rest does to the server now. It stops an awake one for it:
 * `stopsFirst` reads the choice.
 */
export function restNote(request: ServerRequest): Html | undefined {
  if (isStoppedForIt(request)) {
    return html`${hidden('stopFirst', 'true')}
      <p class="note warn">${stopsText(request)}</p>`;
  }
  if (isTagged(request.server.state, 'at-rest')) return undefined;
  return html`<p class="note warn">The server must be asleep. Wait until it is.</p>`;
}

/** Returns the text of the button of such a form: `Stop and …` if it stops the server. */
export function changeButton(request: ServerRequest, verb: string): string {
  return isStoppedForIt(request) ? `Stop and ${verb[0]!.toLowerCase()}${verb.slice(1)}` : verb;
}
