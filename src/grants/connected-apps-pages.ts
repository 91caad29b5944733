import type { AccessStore } from '../accounts/accounts.ts';
import { profilePage } from '../accounts/page-parts.ts';
import { confirmed, csrfField, doneNote, hidden } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { SignedInRequest } from '../web/page-request.ts';
import type { Serve } from '../web/serve.ts';
import { agoText, dateText, homepageLink, plainName } from '../web/text.ts';
import type { ConnectedApp } from './app-rows.ts';
import { connectedAppsOf, disconnectApp } from './connected-apps-api.ts';

const DONE: Record<string, string> = { revoked: 'App disconnected.' };

/** Profile, Integrations, Connected apps: apps approved by device code, and their removal. */
export function mountApps(serve: Serve, accounts: AccessStore): void {
  serve.signedIn('/profile/apps', async (request) => {
    const apps = await connectedAppsOf(accounts, request.principal);
    const main = html`${doneNote(DONE[request.query.get('done') ?? ''])}
      <section class="card">
        <p class="kicker">Integrations</p>
        <h2>Connected apps</h2>
        <p>
          These apps can read your e-mail address and your server list. They can’t start, stop, change or delete
          servers, or see billing. Changing your password doesn’t disconnect them: do that here. Apps unused for six
          months are disconnected.
        </p>
        ${
          apps.length === 0
            ? html`<p class="empty">
                No app is connected. To connect one, <a href="/device">enter the code it shows you</a>.
              </p>`
            : html`<ul class="list">
                ${apps.map((app) => appItem(request, app))}
              </ul>`
        }
      </section>`;
    return profilePage(request, 'Connected apps', main);
  });

  serve.submitSignedIn('/profile/apps/revoke', async (request, form) => {
    await disconnectApp(accounts, request.principal, form.get('app') ?? '');
    return { to: '/profile/apps?done=revoked' };
  });
}

function appItem({ csrf, now }: SignedInRequest, app: ConnectedApp): Html {
  const name = plainName(app.name) || 'An app without a name';
  const link = homepageLink(app.homepage);
  return html`<li>
    <h3><bdi>${name}</bdi></h3>
    <p>
      ${link && html`<a href="${link.href}" rel="noopener noreferrer nofollow">${link.host}</a> · `}Connected
      ${dateText(app.connectedAt)} · ${app.lastUsedAt === null ? 'never used' : `used ${agoText(app.lastUsedAt, now)}`}
    </p>
    ${confirmed(
      'The app is signed out immediately on all devices. Connect it again to use it.',
      'Disconnect…',
      name,
      html`<form method="post" action="/profile/apps/revoke">
        ${csrfField(csrf)}${hidden('app', app.clientId)}
        <button class="danger" type="submit">Yes, disconnect this app</button>
      </form>`,
    )}
  </li>`;
}
