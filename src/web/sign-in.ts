import { normalizeEmail } from '../access/email.ts';
import { endSession } from '../access/sessions.ts';
import { isPassword, PASSWORD_BYTES, signIn, signUp } from '../access/users.ts';
import type { Credentials } from '../access/users.ts';
import type { People } from '../access/people.ts';
import { csrfField, hidden, problemNote, textField } from './form.ts';
import { html } from './html.ts';
import { nextPage, signInPath } from './next.ts';
import { invalid, problemOf, withProblem } from './problem.ts';
import type { Problem } from './problem.ts';
import type { Form, Serve } from './serve.ts';
import { plainName } from './text.ts';
import type { Page, Visit } from './visit.ts';

/** What of a form is shown again when it has a problem: never a password. */
interface Draft {
  email: string;
  next: string;
  problem?: Problem;
}

/** Sign in, sign up, sign out. */
export function mountSignIn(serve: Serve, people: People): void {
  const { signup } = people.config;

  serve.open('/sign-in', (visit) => arrived(visit) ?? signInPage(visit, fresh(visit)));
  serve.open('/sign-up', (visit) => arrived(visit) ?? signUpPage(visit, fresh(visit), signup));

  serve.submit('/sign-in', async (visit, form) => {
    const draft = draftOf(form);
    try {
      const { token } = await signIn(people, credentialsOf(form), visit.visitor);
      return { to: draft.next, session: token };
    } catch (error) {
      return signInPage(visit, { ...draft, problem: problemOf(error) });
    }
  });

  serve.submit('/sign-up', async (visit, form) => {
    const draft = draftOf(form);
    const credentials = credentialsOf(form);
    const problem = whatIsWrong(form, credentials);
    if (problem) return signUpPage(visit, { ...draft, problem }, signup);
    try {
      const { token } = await signUp(people, credentials, visit.visitor);
      return { to: draft.next, session: token };
    } catch (error) {
      return signUpPage(visit, { ...draft, problem: problemOf(error) }, signup);
    }
  });

  serve.submitSignedIn('/sign-out', async ({ principal }, form) => {
    const next = form.get('next');
    await endSession(people, principal, principal.sessionId);
    return { to: next === null ? '/' : signInPath(next), session: null };
  });
}

/** Who is signed in has nothing to do here. */
function arrived({ principal, query }: Visit): { to: string } | undefined {
  return principal && { to: nextPage(query.get('next')) };
}

function fresh({ query }: Visit): Draft {
  return { email: '', next: nextPage(query.get('next')) };
}

function draftOf(form: Form): Draft {
  return { email: form.get('email') ?? '', next: nextPage(form.get('next')) };
}

function credentialsOf(form: Form): Credentials {
  return { email: normalizeEmail(form.get('email') ?? '') ?? '', password: form.get('password') ?? '' };
}

function whatIsWrong(form: Form, { email, password }: Credentials): Problem | undefined {
  if (email === '') return invalid('email', `“${plainName(form.get('email') ?? '')}” is not an e-mail address.`);
  if (isPassword(password)) return undefined;
  return invalid('password', `Choose a password of at least ${PASSWORD_BYTES.least} characters.`);
}

function signInPage(visit: Visit, { email, next, problem }: Draft): Page {
  const main = html`<section class="card narrow">
    <h1>Sign in</h1>
    ${next.startsWith('/device') && html`<p>Sign in to go on with connecting your device.</p>`} ${problemNote(problem)}
    <form method="post" action="/sign-in">
      ${csrfField(visit.csrf)}${hidden('next', next)} ${textField({ ...EMAIL, value: email, problem })}
      ${textField({ ...PASSWORD, autocomplete: 'current-password', problem })}
      <button type="submit">Sign in</button>
    </form>
    <p class="aside">New here? <a href="${signInPath(next, '/sign-up')}">Make an account</a></p>
  </section>`;
  return withProblem({ title: 'Sign in', main }, problem);
}

function signUpPage(visit: Visit, { email, next, problem }: Draft, signup: 'open' | 'closed'): Page {
  const known = html`<p class="aside">Have an account? <a href="${signInPath(next)}">Sign in</a></p>`;
  if (signup === 'closed') {
    const main = html`<section class="card narrow">
      <h1>Make an account</h1>
      <p>New accounts are made by the operator here. Ask them for one.</p>
      ${known}
    </section>`;
    return { title: 'Make an account', main, ...(problem && { status: problem.status }) };
  }
  const hint = `At least ${PASSWORD_BYTES.least} characters; a short sentence is easiest to keep in mind.`;
  const main = html`<section class="card narrow">
    <h1>Make an account</h1>
    ${next.startsWith('/device') && html`<p>Once you have an account, you go on with connecting your device.</p>`}
    ${problemNote(problem)}
    <form method="post" action="/sign-up">
      ${csrfField(visit.csrf)}${hidden('next', next)}
      ${textField({ ...EMAIL, value: email, problem, hint: 'We write to it once, to confirm that it is yours.' })}
      ${textField({ ...PASSWORD, autocomplete: 'new-password', minlength: PASSWORD_BYTES.least, problem, hint })}
      <button type="submit">Make an account</button>
    </form>
    ${known}
  </section>`;
  return withProblem({ title: 'Make an account', main }, problem);
}

const EMAIL = {
  name: 'email',
  label: 'E-mail address',
  type: 'email',
  autocomplete: 'username',
  maxlength: 254,
} as const;
const PASSWORD = { name: 'password', label: 'Password', type: 'password', maxlength: PASSWORD_BYTES.most } as const;
