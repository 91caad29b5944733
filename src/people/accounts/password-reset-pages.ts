import { csrfField, hidden, problemNote, textField } from '../../web/form.ts';
import { html } from '../../web/html.ts';
import type { Page, PageRequest } from '../../web/page-request.ts';
import { type Problem, invalid, problemOf, withProblem } from '../../web/problem.ts';
import type { Serve } from '../../web/serve.ts';
import { plainName } from '../../web/text.ts';
import { normalizeEmail } from '../mail/address.ts';
import type { People } from '../people.ts';
import { PASSWORD_BYTES, isPassword } from '../users.ts';
import { NO_MAIL, isResetToken, requestPasswordReset, resetPasswordByLink } from './password-reset.ts';

const FORGOTTEN = '/sign-in/forgotten';
const NEW_PASSWORD = '/sign-in/new-password';

/** Pages for a forgotten password: the request of a link, and the link's target. */
export function mountPasswordReset(serve: Serve, people: People): void {
  const askPage = (request: PageRequest, email = '', problem?: Problem) =>
    people.config.mail ? letterPage(request, email, problem) : noMailPage(problem);

  serve.open(FORGOTTEN, (request) => askPage(request));

  serve.submit(FORGOTTEN, async (request, form) => {
    const given = form.get('email') ?? '';
    const email = normalizeEmail(given);
    if (email === undefined) {
      return askPage(request, given, invalid('email', `“${plainName(given)}” is not an e-mail address.`));
    }
    try {
      await requestPasswordReset(people, email, request.visitor);
      return { to: `${FORGOTTEN}/sent` };
    } catch (error) {
      return askPage(request, given, problemOf(error));
    }
  });

  serve.open(`${FORGOTTEN}/sent`, sentPage);

  serve.open(NEW_PASSWORD, async (request) => {
    const token = request.query.get('token') ?? '';
    return (await isResetToken(people, token)) ? newPasswordPage(request, token) : uselessPage();
  });

  serve.submit(NEW_PASSWORD, async (request, form) => {
    const [token, password] = [form.get('token') ?? '', form.get('password') ?? ''];
    if (!isPassword(password)) {
      const wrong = invalid('password', `Choose a password of at least ${PASSWORD_BYTES.least} characters.`);
      return newPasswordPage(request, token, wrong);
    }
    try {
      await resetPasswordByLink(people, { token, password }, request.visitor);
      return { to: `${NEW_PASSWORD}/done`, ...(request.principal && { session: null }) };
    } catch (error) {
      return newPasswordPage(request, token, problemOf(error));
    }
  });

  serve.open(`${NEW_PASSWORD}/done`, donePage);
}

function letterPage(request: PageRequest, email: string, problem?: Problem): Page {
  const main = html`<section class="card narrow">
    <h1>Forgot your password?</h1>
    ${problemNote(problem)}
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
    <p class="aside"><a href="/sign-in">Back to sign in</a></p>
  </section>`;
  return withProblem({ title: 'Forgot your password?', main }, problem);
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
  const main = html`<section class="card narrow">
    <h1>Check your e-mail</h1>
    <p>If this address has an account, we sent it a link. You can close this page.</p>
    <p class="aside">No e-mail? Check your spam folder, or <a href="${FORGOTTEN}">try another address</a>.</p>
  </section>`;
  return { title: 'Check your e-mail', main };
}

function newPasswordPage(request: PageRequest, token: string, problem?: Problem): Page {
  const main = html`<section class="card narrow">
    <h1>Choose a new password</h1>
    <p>
      This signs you out of all browsers. API keys and connected apps keep working: review them in your profile if
      someone else may know your old password.
    </p>
    ${problemNote(problem)}
    <form method="post" action="${NEW_PASSWORD}">
      ${csrfField(request.csrf)}${hidden('token', token)}
      ${textField({
        name: 'password',
        label: 'New password',
        type: 'password',
        autocomplete: 'new-password',
        minlength: PASSWORD_BYTES.least,
        maxlength: PASSWORD_BYTES.most,
        problem,
        hint: `At least ${PASSWORD_BYTES.least} characters. A short sentence is easy to remember.`,
      })}
      <button type="submit">Set the password</button>
    </form>
  </section>`;
  return withProblem({ title: 'Choose a new password', main }, problem);
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
  const main = html`<section class="card narrow">
    <h1>Password changed</h1>
    <p>You are signed out of all browsers. Sign in with the new password.</p>
    <p><a class="button" href="/sign-in">Sign in</a></p>
  </section>`;
  return { title: 'Password changed', main };
}
