import { confirmed, csrfField, doneNote, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Serve } from '../../web/serve.ts';
import { agoText, dateText, homepageLink, plainName } from '../../web/text.ts';
import type { SignedInRequest } from '../../web/page-request.ts';
import { profilePage } from '../profile-frame.ts';
import type { BrowserSessionServices } from '../browser-sessions.ts';
import { connectedAppsOf, disconnectApp } from './connected-apps.ts';
import type { ConnectedApp } from './token-rows.ts';

const DONE: Record<string, string> = { revoked: 'The app is signed out: its next call is refused.' };

/** Profile, Integrations, Connected apps: what was let in by a device's code, and how to end it. */
export function mountApps(serve: Serve, services: BrowserSessionServices): void {
  serve.signedIn('/profile/apps', async (request) => {
    const apps = await connectedAppsOf(services, request.principal);
    const main = html`${doneNote(DONE[request.query.get('done') ?? ''])}
      <section class="card">
        <p class="kicker">Integrations</p>
        <h2>Connected apps</h2>
        <p>
          These apps may read your e-mail address and the list of your servers. They cannot start, stop, change or
          delete servers, nor see billing. Changing your password does not disconnect them: do that here. Half a year
          without use does it, too.
        </p>
        ${
          apps.length === 0
            ? html`<p class="empty">
                No app is connected. To connect one, <a href="/device">type the code that it shows you</a>.
              </p>`
            : html`<ul class="list">
                ${apps.map((app) => appItem(request, app))}
              </ul>`
        }
      </section>`;
    return profilePage(request, 'Connected apps', main);
  });

  serve.submitSignedIn('/profile/apps/revoke', async (request, form) => {
    await disconnectApp(services, request.principal, form.get('app') ?? '');
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
      'The app is signed out at once, on all devices. To use it again, you connect it again.',
      'Disconnect…',
      name,
      html`<form method="post" action="/profile/apps/revoke">
        ${csrfField(csrf)}${hidden('app', app.clientId)}
        <button class="danger" type="submit">Yes, disconnect this app</button>
      </form>`,
    )}
  </li>`;
}
