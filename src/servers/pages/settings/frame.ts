import { isTagged } from '../../../../machines/server.ts';
import { ASSETS } from '../../../web/assets.ts';
import { type Html, html } from '../../../web/html.ts';
import type { Page } from '../../../web/page-request.ts';
import type { ServerRequest } from '../../../web/panel/panel.ts';
import { requireRole } from '../../api/reach.ts';

/** The pages of settings, in the rooms of what they are about, in the order in which they are named to owners. */
const PAGES = [
  ['/settings', 'General'],
  ['/settings/description', 'Description and icon'],
  ['/settings/game', 'Game'],
  ['/settings/joining', 'Joining'],
  ['/settings/public', 'Public page'],
  ['/settings/alerts', 'Alerts'],
  ['/settings/version', 'Version'],
] as const;

/** A page of settings below the way to the others; PERMISSION_DENIED for who may change none. */
export function settingsPage(request: ServerRequest, title: string, cards: Html): Page {
  requireRole(request.role, 'member');
  const top = `/servers/${request.server.id}`;
  const main = html`<nav aria-label="Settings">
      <ul class="chips">
        ${PAGES.map(
          ([path, name]) =>
            html`<li>
              <a href="${top}${path}" ${request.here === `${top}${path}` && html`aria-current="page"`}>${name}</a>
            </li>`,
        )}
      </ul>
    </nav>
    ${cards}`;
  return { title, main, styles: [ASSETS.settingsStyle] };
}

/** Shown after each form of settings. */
export const SAVED = { saved: 'Saved.' };

/** Why a form cannot be done now. */
export function restNote({ server }: ServerRequest): Html | undefined {
  if (isTagged(server.state, 'at-rest')) return undefined;
  return html`<p class="note warn">Stop the server to change this.</p>`;
}
