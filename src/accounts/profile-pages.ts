import { StatusError } from '../kernel/status.ts';
import { normalizeEmail } from '../mail/mail.ts';
import { csrfField, doneNote, hidden, problemNote, textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page, SignedInRequest } from '../web/page-request.ts';
import { type Problem, problemOf } from '../web/problem.ts';
import type { Serve } from '../web/serve.ts';
import { agoText, browserText, dateText } from '../web/text.ts';
import type { AccessStore, Accounts } from './accounts.ts';
import type { BrowserSessionRow } from './browser-session-rows.ts';
import { browserSessionsOf, endBrowserSession, endOtherBrowserSessions } from './browser-sessions.ts';
import { changeEmail, resendVerification } from './own-email.ts';
import { notAnEmail, profilePage, shortPassword } from './page-parts.ts';
import { PASSWORD_BYTES, changePassword, isPassword } from './passwords.ts';
import { providerCard } from './provider-pages.ts';
import { unlinkProvider, waysIn } from './provider-sign-in.ts';

const DONE: Record<string, string> = {
  password: 'Your password is changed, and all other browsers are signed out. API keys and connected apps stay.',
  'new-email':
    'We sent an e-mail to the new address. Open its link within a day. Until then your address stays unchanged.',
  email: 'Your address is changed. Sign in with the new one from now on.',
  letter: 'We sent you an e-mail. Open its link within a day.',
  unlinked: 'The link is removed.',
};
const SESSIONS_DONE: Record<string, string> = {
  ended: 'That browser is signed out.',
  others: 'All other browsers are signed out.',
};

/** The user's profile and password. */
export function mountProfile(serve: Serve, accounts: Accounts): void {
  const overviewPage = (request: SignedInRequest, problem?: Problem, newEmail = '') =>
    profileOverview(accounts, request, newEmail, problem);

  serve.signedIn('/profile', (request) => overviewPage(request));

  serve.submitSignedIn('/profile/password', async (request, form) => {
    const [current, replacement] = [form.get('current') ?? '', form.get('replacement') ?? ''];
    if (!isPassword(replacement)) {
      const wrong = shortPassword('replacement');
      return overviewPage(request, wrong);
    }
    try {
      await changePassword(accounts, request.principal, { current, replacement }, request.visitor);
      return { to: '/profile?done=password' };
    } catch (error) {
      return overviewPage(request, problemOf(error));
    }
  });

  serve.submitSignedIn('/profile/email', async (request, form) => {
    const given = form.get('email') ?? '';
    const email = normalizeEmail(given);
    if (email === undefined) {
      const wrong = notAnEmail(given);
      return overviewPage(request, wrong, given);
    }
    try {
      const change = { email, password: form.get('password') ?? '' };
      const { sent } = await changeEmail(accounts, request.principal, change, request.visitor);
      return { to: `/profile?done=${sent ? 'new-email' : 'email'}` };
    } catch (error) {
      const isPassword = error instanceof StatusError && error.reason === 'WRONG_PASSWORD';
      return overviewPage(request, { ...problemOf(error), ...(isPassword && { field: 'password' }) }, given);
    }
  });

  serve.submitSignedIn('/profile/provider/remove', async (request) => {
    try {
      await unlinkProvider(accounts, request.principal);
      return { to: '/profile?done=unlinked' };
    } catch (error) {
      return overviewPage(request, problemOf(error));
    }
  });

  serve.submitSignedIn('/profile/verify-email', async (request) => {
    try {
      await resendVerification(accounts, request.principal);
      return { to: '/profile?done=letter' };
    } catch (error) {
      return overviewPage(request, problemOf(error));
    }
  });
}

async function profileOverview(
  accounts: Accounts,
  request: SignedInRequest,
  newEmail: string,
  problem: Problem | undefined,
): Promise<Page> {
  const { store, provider } = accounts;
  const ways = await waysIn(store, accounts, request.principal.userId);
  const { email, emailVerified, accountId, operator } = request.principal;
  const main = html`${doneNote(DONE[request.query.get('done') ?? ''])}${problemNote(problem)}
    <section class="card">
      <h2>You</h2>
      <dl>
        <dt>E-mail address</dt>
        <dd>
          ${email}
          <span class="${emailVerified ? 'tag good' : 'tag warn'}"
            >${emailVerified ? 'confirmed' : 'not confirmed yet'}</span
          >
        </dd>
        <dt>Account</dt>
        <dd><code>${accountId}</code></dd>
        ${
          operator &&
          html`<dt>Role</dt>
            <dd>Operator of this installation</dd>`
        }
      </dl>
      ${
        !emailVerified &&
        html`<form method="post" action="/profile/verify-email">
          ${csrfField(request.csrf)}
          <button class="second" type="submit">Send the confirmation e-mail again</button>
        </form>`
      }
    </section>
    ${provider && providerCard(request, provider, ways)}
    ${ways.user?.passwordHash === '' ? NO_PASSWORD_CARD : passwordCard(request, problem)}
    ${emailCard(request, newEmail, problem)}`;
  return profilePage(request, 'Profile', main, problem);
}

const NO_PASSWORD_CARD = html`<section class="card">
  <h2>Your password</h2>
  <p>You have none. Some changes need one: <a href="/sign-in/forgotten">create a password</a>.</p>
</section>`;

function passwordCard(request: SignedInRequest, problem: Problem | undefined): Html {
  const { email } = request.principal;
  const hint = `At least ${PASSWORD_BYTES.least} characters.`;
  const field = { type: 'password', maxlength: PASSWORD_BYTES.most, problem } as const;
  return html`<section class="card">
    <h2>Change your password</h2>
    <p>
      All your other browsers are signed out. <a href="/profile/keys">API keys</a> and
      <a href="/profile/apps">connected apps</a> keep working until you revoke them.
    </p>
    <form method="post" action="/profile/password">
      ${csrfField(request.csrf)}
      <input type="text" name="username" value="${email}" autocomplete="username" hidden />
      ${textField({ ...field, name: 'current', label: 'Current password', autocomplete: 'current-password' })}
      ${textField({
        ...field,
        name: 'replacement',
        label: 'New password',
        autocomplete: 'new-password',
        minlength: PASSWORD_BYTES.least,
        hint,
      })}
      <button type="submit">Change password</button>
    </form>
  </section>`;
}

function emailCard(request: SignedInRequest, newEmail: string, problem: Problem | undefined): Html {
  return html`<section class="card">
    <h2>Change your e-mail address</h2>
    <p>You stay signed in, and <a href="/profile/keys">API keys</a> stay. We’ll notify your old address.</p>
    <form method="post" action="/profile/email">
      ${csrfField(request.csrf)}
      ${textField({
        name: 'email',
        label: 'New e-mail address',
        type: 'email',
        autocomplete: 'email',
        maxlength: 254,
        value: newEmail,
        problem,
      })}
      ${textField({
        name: 'password',
        label: 'Your password',
        type: 'password',
        autocomplete: 'current-password',
        maxlength: PASSWORD_BYTES.most,
        problem,
      })}
      <button type="submit">Change the address</button>
    </form>
  </section>`;
}

/** The user's signed-in browsers, with buttons that sign them out. */
export function mountSessions(serve: Serve, accounts: AccessStore): void {
  serve.signedIn('/profile/sessions', async (request) => {
    const sessions = await browserSessionsOf(accounts.store, accounts.clock, request.principal);
    const main = html`${doneNote(SESSIONS_DONE[request.query.get('done') ?? ''])}
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
    await endBrowserSession(accounts, request.principal, id);
    if (id === request.principal.sessionId) return { to: '/', session: null };
    return { to: '/profile/sessions?done=ended' };
  });

  serve.submitSignedIn('/profile/sessions/end-others', async (request) => {
    await endOtherBrowserSessions(accounts, request.principal);
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
