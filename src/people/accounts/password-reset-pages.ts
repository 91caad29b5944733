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

/** For who has forgotten the password: where a letter is asked for, and where its link leads. */
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
    <h1>Forgotten your password?</h1>
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
        hint: 'A link goes there with which you choose another password. It works for half an hour.',
      })}
      <button type="submit">Send the link</button>
    </form>
    <p class="aside"><a href="/sign-in">Back to sign in</a></p>
  </section>`;
  return withProblem({ title: 'Forgotten your password?', main }, problem);
}

function noMailPage(problem?: Problem): Page {
  const main = html`<section class="card narrow">
    <h1>Forgotten your password?</h1>
    <p>${NO_MAIL}</p>
    <p class="aside"><a href="/sign-in">Back to sign in</a></p>
  </section>`;
  return { title: 'Forgotten your password?', main, ...(problem && { status: problem.status }) };
}

/** One page whether or not the address has an account. */
function sentPage(): Page {
  const main = html`<section class="card narrow">
    <h1>Look into your mail</h1>
    <p>If this address has an account here, a letter with a link is on its way. You can close this page.</p>
    <p class="aside">
      Nothing has come? Look among the unwanted mail, or <a href="${FORGOTTEN}">try another address</a>.
    </p>
  </section>`;
  return { title: 'Look into your mail', main };
}

function newPasswordPage(request: PageRequest, token: string, problem?: Problem): Page {
  const main = html`<section class="card narrow">
    <h1>Choose another password</h1>
    <p>
      All your browsers are signed out then. API keys and connected apps stay: look at them in your profile if somebody
      else may know your old password.
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
        hint: `At least ${PASSWORD_BYTES.least} characters; a short sentence is easiest to keep in mind.`,
      })}
      <button type="submit">Set the password</button>
    </form>
  </section>`;
  return withProblem({ title: 'Choose another password', main }, problem);
}

function uselessPage(): Page {
  const main = html`<section class="card narrow">
    <h1>This link does not work</h1>
    <p>It has been used, or is too old.</p>
    <p><a class="button" href="${FORGOTTEN}">Ask for another one</a></p>
  </section>`;
  return { title: 'This link does not work', main, status: 404 };
}

function donePage(): Page {
  const main = html`<section class="card narrow">
    <h1>Your password is set</h1>
    <p>All browsers are signed out. Sign in with the new password.</p>
    <p><a class="button" href="/sign-in">Sign in</a></p>
  </section>`;
  return { title: 'Your password is set', main };
}
