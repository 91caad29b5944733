import { normalizeEmail } from '../mail/mail.ts';
import { csrfField, hidden, problemNote, textField } from '../web/form.ts';
import { html } from '../web/html.ts';
import type { Page, PageRequest } from '../web/page-request.ts';
import { type Problem, problemOf } from '../web/problem.ts';
import type { Serve } from '../web/serve.ts';
import type { Accounts } from './accounts.ts';
import { verifyEmail } from './own-email.ts';
import { cardPage, newPasswordField, notAnEmail, shortPassword } from './page-parts.ts';
import { NO_MAIL, isResetToken, requestPasswordReset, resetPasswordByLink } from './password-reset.ts';
import { isPassword } from './passwords.ts';

/** The target of links in e-mails. It asks for confirmation, because mail programs open links on their own. */
export function mountVerifyEmail(serve: Serve, accounts: Accounts): void {
  serve.open('/verify-email', (request) => askPage(request, request.query.get('token') ?? ''));

  serve.submit('/verify-email', async (request, form) => {
    try {
      await verifyEmail(accounts, form.get('token') ?? '', request.visitor);
      return { to: '/verify-email/done' };
    } catch (error) {
      return failedPage(problemOf(error));
    }
  });

  serve.open('/verify-email/done', () => ({
    title: 'Address confirmed',
    main: html`<section class="card narrow">
      <h1>Your address is confirmed</h1>
      <p>
        Your e-mail address works. Invitations to servers now appear in your profile. If you changed your address, sign
        in with the new one.
      </p>
      <p><a class="button" href="/profile">To your profile</a></p>
    </section>`,
  }));
}

function askPage(request: PageRequest, token: string): Page {
  return cardPage(
    'Confirm your address',
    html`<p>Press the button to confirm your e-mail address.</p>
      <form method="post" action="/verify-email">
        ${csrfField(request.csrf)}${hidden('token', token)}
        <button type="submit">Confirm my address</button>
      </form>`,
  );
}

function failedPage(problem: Problem): Page {
  return cardPage(
    'Confirm your address',
    html`${problemNote(problem)}
      <p><a class="button" href="/profile">To your profile</a></p>`,
    problem,
    'That did not work',
  );
}

const FORGOTTEN = '/sign-in/forgotten';
const NEW_PASSWORD = '/sign-in/new-password';

/** Pages for a forgotten password: the request of a link, and the link's target. */
export function mountPasswordReset(serve: Serve, accounts: Accounts): void {
  const askPage = (request: PageRequest, email = '', problem?: Problem) =>
    accounts.post.isSetUp ? letterPage(request, email, problem) : noMailPage(problem);

  serve.open(FORGOTTEN, (request) => askPage(request));

  serve.submit(FORGOTTEN, async (request, form) => {
    const given = form.get('email') ?? '';
    const email = normalizeEmail(given);
    if (email === undefined) {
      return askPage(request, given, notAnEmail(given));
    }
    try {
      requestPasswordReset(accounts, email, request.visitor);
      return { to: `${FORGOTTEN}/sent` };
    } catch (error) {
      return askPage(request, given, problemOf(error));
    }
  });

  serve.open(`${FORGOTTEN}/sent`, sentPage);

  serve.open(NEW_PASSWORD, async (request) => {
    const token = request.query.get('token') ?? '';
    return (await isResetToken(accounts, token)) ? newPasswordPage(request, token) : uselessPage();
  });

  serve.submit(NEW_PASSWORD, async (request, form) => {
    const [token, password] = [form.get('token') ?? '', form.get('password') ?? ''];
    if (!isPassword(password)) {
      const wrong = shortPassword('password');
      return newPasswordPage(request, token, wrong);
    }
    try {
      await resetPasswordByLink(accounts, { token, password }, request.visitor);
      return { to: `${NEW_PASSWORD}/done`, ...(request.principal && { session: null }) };
    } catch (error) {
      return newPasswordPage(request, token, problemOf(error));
    }
  });

  serve.open(`${NEW_PASSWORD}/done`, donePage);
}

function letterPage(request: PageRequest, email: string, problem?: Problem): Page {
  return cardPage(
    'Forgot your password?',
    html`${problemNote(problem)}
      <form method="post" action="${FORGOTTEN}">
        ${csrfField(request.csrf)}
        ${textField({
          name: 'email',
          label: 'E-mail address of your account',
          type: 'email',
          autocomplete: 'username',
          maxlength: 254,
          value: email,
          problem,
          hint: 'We e-mail you a link to choose a new password. It is valid for 30 minutes.',
        })}
        <button type="submit">Send the link</button>
      </form>
      <p class="aside"><a href="/sign-in">Back to sign in</a></p>`,
    problem,
  );
}

function noMailPage(problem?: Problem): Page {
  const main = html`<section class="card narrow">
    <h1>Forgot your password?</h1>
    <p>${NO_MAIL}</p>
    <p class="aside"><a href="/sign-in">Back to sign in</a></p>
  </section>`;
  return { title: 'Forgot your password?', main, ...(problem && { status: problem.status }) };
}

/** Returns the same page whether or not the address has an account. */
function sentPage(): Page {
  return cardPage(
    'Check your e-mail',
    html`<p>If this address has an account, we sent it a link. You can close this page.</p>
      <p class="aside">No e-mail? Check your spam folder, or <a href="${FORGOTTEN}">try another address</a>.</p>`,
  );
}

function newPasswordPage(request: PageRequest, token: string, problem?: Problem): Page {
  return cardPage(
    'Choose a new password',
    html`<p>
        This signs you out of all browsers. API keys and connected apps keep working: review them in your profile if
        someone else may know your old password.
      </p>
      ${problemNote(problem)}
      <form method="post" action="${NEW_PASSWORD}">
        ${csrfField(request.csrf)}${hidden('token', token)} ${newPasswordField('New password', problem)}
        <button type="submit">Set the password</button>
      </form>`,
    problem,
  );
}

function uselessPage(): Page {
  const main = html`<section class="card narrow">
    <h1>This link does not work</h1>
    <p>It has been used or has expired.</p>
    <p><a class="button" href="${FORGOTTEN}">Request a new link</a></p>
  </section>`;
  return { title: 'This link does not work', main, status: 404 };
}

function donePage(): Page {
  return cardPage(
    'Password changed',
    html`<p>You are signed out of all browsers. Sign in with the new password.</p>
      <p><a class="button" href="/sign-in">Sign in</a></p>`,
  );
}
