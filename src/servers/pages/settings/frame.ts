import { isTagged } from '../../../../machines/server.ts';
import { ASSETS } from '../../../web/assets.ts';
import { type Html, html } from '../../../web/html.ts';
import type { Page } from '../../../web/page-request.ts';
import type { ServerRequest } from '../../../web/panel/panel.ts';
import { chipLinks } from '../../../web/panel/parts.ts';
import { requireRole } from '../../api/reach.ts';

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

/** Returns why a form is unavailable now. */
export function restNote({ server }: ServerRequest): Html | undefined {
  if (isTagged(server.state, 'at-rest')) return undefined;
  return html`<p class="note warn">Stop the server to change this.</p>`;
}
