import { StatusError } from '../kernel/status.ts';
import { csrfField, doneNote, problemNote, textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import { type Problem, invalid, problemOf } from '../web/problem.ts';
import type { Serve } from '../web/serve.ts';
import type { Page, SignedInRequest } from '../web/page-request.ts';
import { plainName } from '../web/text.ts';
import { changeEmail } from './accounts/change-email.ts';
import { normalizeEmail } from './mail/address.ts';
import { resendVerification } from './mail/verification.ts';
import type { People } from './people.ts';
import { profilePage } from './profile-frame.ts';
import { PASSWORD_BYTES, changePassword, isPassword } from './users.ts';

const DONE: Record<string, string> = {
  password: 'Your password is changed, and all other browsers are signed out. API keys and connected apps stay.',
  'new-email':
    'We sent an e-mail to the new address. Open its link within a day. Until then your address stays unchanged.',
  email: 'Your address is changed. Sign in with the new one from now on.',
  letter: 'We sent you an e-mail. Open its link within a day.',
};

/** The user's profile and password. */
export function mountProfile(serve: Serve, people: People): void {
  serve.signedIn('/profile', (request) => overviewPage(request));

  serve.submitSignedIn('/profile/password', async (request, form) => {
    const [current, replacement] = [form.get('current') ?? '', form.get('replacement') ?? ''];
    if (!isPassword(replacement)) {
      const wrong = invalid('replacement', `Choose a password of at least ${PASSWORD_BYTES.least} characters.`);
      return overviewPage(request, wrong);
    }
    try {
      await changePassword(people, request.principal, { current, replacement }, request.visitor);
      return { to: '/profile?done=password' };
    } catch (error) {
      return overviewPage(request, problemOf(error));
    }
  });

  serve.submitSignedIn('/profile/email', async (request, form) => {
    const given = form.get('email') ?? '';
    const email = normalizeEmail(given);
    if (email === undefined) {
      const wrong = invalid('email', `“${plainName(given)}” is not an e-mail address.`);
      return overviewPage(request, wrong, given);
    }
    try {
      const change = { email, password: form.get('password') ?? '' };
      const { sent } = await changeEmail(people, request.principal, change, request.visitor);
      return { to: `/profile?done=${sent ? 'new-email' : 'email'}` };
    } catch (error) {
      const isPassword = error instanceof StatusError && error.reason === 'WRONG_PASSWORD';
      return overviewPage(request, { ...problemOf(error), ...(isPassword && { field: 'password' }) }, given);
    }
  });

  serve.submitSignedIn('/profile/verify-email', async (request) => {
    try {
      await resendVerification(people, request.principal);
      return { to: '/profile?done=letter' };
    } catch (error) {
      return overviewPage(request, problemOf(error));
    }
  });
}

function overviewPage(request: SignedInRequest, problem?: Problem, newEmail = ''): Page {
  const { email, emailVerified, accountId, operator } = request.principal;
  const hint = `At least ${PASSWORD_BYTES.least} characters.`;
  const field = { type: 'password', maxlength: PASSWORD_BYTES.most, problem } as const;
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
    <section class="card">
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
    </section>
    ${emailCard(request, newEmail, problem)}`;
  return profilePage(request, 'Profile', main, problem);
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
