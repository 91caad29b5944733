import { csrfField, doneNote, hidden } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Serve } from '../web/serve.ts';
import { agoText, browserText, dateText } from '../web/text.ts';
import type { SignedInVisit } from '../web/visit.ts';
import { profilePage } from './profile-frame.ts';
import type { SessionRow } from './session-rows.ts';
import { type SessionServices, endOtherSessions, endSession, sessionsOf } from './sessions.ts';

const DONE: Record<string, string> = {
  ended: 'That browser is signed out.',
  others: 'All other browsers are signed out.',
};

/** The browsers somebody is signed in with, and how to sign them out from here. */
export function mountSessions(serve: Serve, services: SessionServices): void {
  serve.signedIn('/profile/sessions', async (visit) => {
    const sessions = await sessionsOf(services.store, services.clock, visit.principal);
    const main = html`${doneNote(DONE[visit.query.get('done') ?? ''])}
      <section class="card">
        <h2>Where you are signed in</h2>
        <p>Is there one you do not know? End it, and <a href="/profile">change your password</a>.</p>
        <ul class="list">
          ${sessions.map((session) => sessionItem(visit, session))}
        </ul>
        ${
          sessions.length > 1 &&
          html`<form method="post" action="/profile/sessions/end-others">
            ${csrfField(visit.csrf)}
            <button class="danger" type="submit">End all others</button>
          </form>`
        }
      </section>`;
    return profilePage(visit, 'Sessions', main);
  });

  serve.submitSignedIn('/profile/sessions/end', async (visit, form) => {
    const id = form.get('session') ?? '';
    await endSession(services, visit.principal, id);
    if (id === visit.principal.sessionId) return { to: '/', session: null };
    return { to: '/profile/sessions?done=ended' };
  });

  serve.submitSignedIn('/profile/sessions/end-others', async (visit) => {
    await endOtherSessions(services, visit.principal);
    return { to: '/profile/sessions?done=others' };
  });
}

function sessionItem(
  { csrf, now, principal }: SignedInVisit,
  { id, userAgent, ip, seenAt, createdAt }: SessionRow,
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
