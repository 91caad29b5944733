import { csrfField, doneNote, hidden } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Serve } from '../web/serve.ts';
import { agoText, browserText, dateText } from '../web/text.ts';
import type { SignedInRequest } from '../web/page-request.ts';
import { profilePage } from './profile-frame.ts';
import type { BrowserSessionRow } from './browser-session-rows.ts';
import {
  type BrowserSessionServices,
  endOtherBrowserSessions,
  endBrowserSession,
  browserSessionsOf,
} from './browser-sessions.ts';

const DONE: Record<string, string> = {
  ended: 'That browser is signed out.',
  others: 'All other browsers are signed out.',
};

/** The user's signed-in browsers, with buttons that sign them out. */
export function mountSessions(serve: Serve, services: BrowserSessionServices): void {
  serve.signedIn('/profile/sessions', async (request) => {
    const sessions = await browserSessionsOf(services.store, services.clock, request.principal);
    const main = html`${doneNote(DONE[request.query.get('done') ?? ''])}
      <section class="card">
        <h2>Where you are signed in</h2>
        <p>If you do not recognise a session, end it and <a href="/profile">change your password</a>.</p>
        <ul class="list">
          ${sessions.map((session) => sessionItem(request, session))}
        </ul>
        ${
          sessions.length > 1 &&
          html`<form method="post" action="/profile/sessions/end-others">
            ${csrfField(request.csrf)}
            <button class="danger" type="submit">End all others</button>
          </form>`
        }
      </section>`;
    return profilePage(request, 'Sessions', main);
  });

  serve.submitSignedIn('/profile/sessions/end', async (request, form) => {
    const id = form.get('session') ?? '';
    await endBrowserSession(services, request.principal, id);
    if (id === request.principal.sessionId) return { to: '/', session: null };
    return { to: '/profile/sessions?done=ended' };
  });

  serve.submitSignedIn('/profile/sessions/end-others', async (request) => {
    await endOtherBrowserSessions(services, request.principal);
    return { to: '/profile/sessions?done=others' };
  });
}

function sessionItem(
  { csrf, now, principal }: SignedInRequest,
  { id, userAgent, ip, seenAt, createdAt }: BrowserSessionRow,
): Html {
  const browser = browserText(userAgent);
  const present = id === principal.sessionId;
  return html`<li>
    <h3><bdi>${browser}</bdi> ${present && html`<span class="tag good">this browser</span>`}</h3>
    <p>From <bdi>${ip}</bdi> · used ${agoText(seenAt, now)} · signed in ${dateText(createdAt)}</p>
    ${
      !present &&
      html`<form method="post" action="/profile/sessions/end">
        ${csrfField(csrf)}${hidden('session', id)}
        <button class="second" type="submit">End<span class="unseen"> ${browser}, from ${ip}</span></button>
      </form>`
    }
  </li>`;
}
