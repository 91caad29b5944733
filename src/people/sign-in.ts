import { basename } from 'node:path';
import { isLoopback } from '../kernel/ip.ts';
import { csrfField, hidden, problemNote, textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import { type Problem, invalid, problemOf, withProblem } from '../web/problem.ts';
import type { Form, Serve } from '../web/serve.ts';
import { plainName } from '../web/text.ts';
import type { Page, PageRequest } from '../web/page-request.ts';
import { ASK_FOR_ACCOUNT } from './home.ts';
import { invitedEmail, isInvitation } from './accounts/invitations.ts';
import { normalizeEmail } from './mail/address.ts';
import { requestSignUp } from './mail/sign-up-links.ts';
import { nextPage, signInPath } from './next.ts';
import type { People, SignUp } from './people.ts';
import { endBrowserSession } from './browser-sessions.ts';
import { codePath } from './second-factor/sign-in-page.ts';
import { type Credentials, PASSWORD_BYTES, isPassword, signIn, signUp } from './users.ts';

/** Form values shown again after a problem. Never contains a password. */
interface Draft {
  email: string;
  next: string;
  /** The token of the operator's link; '' without one. */
  invitation: string;
  problem?: Problem;
}

/** Signing in, up and out. */
export function mountSignIn(serve: Serve, people: People): void {
  const { signup } = people.config;
  /** Whether this visitor can create an account. */
  const isOpen = async ({ invitation }: Draft) =>
    signup === 'open' || (await invitedEmail(people, invitation)) !== undefined;
  const signUpPage = async (request: PageRequest, draft: Draft) =>
    (await isOpen(draft))
      ? newAccountPage(request, draft)
      : signup === 'letter'
        ? requestPage(request, draft)
        : closedPage(draft);

  const signInShown = (request: PageRequest, draft: Draft) =>
    signInPage(request, draft, { signup, firstRun: people.firstRunFile?.waiting() });

  serve.open('/sign-in', (request) => arrived(request) ?? signInShown(request, fresh(request)));
  serve.open('/sign-up', async (request) => {
    const draft = fresh(request);
    const email = (await invitedEmail(people, draft.invitation)) ?? '';
    return arrived(request) ?? signUpPage(request, { ...draft, email });
  });

  serve.submit('/sign-in', async (request, form) => {
    const draft = draftOf(form);
    try {
      const signedIn = await signIn(people, credentialsOf(form), request.visitor);
      if ('pending' in signedIn) return { to: codePath(draft.next), pending: signedIn.pending };
      return { to: draft.next, session: signedIn.token, device: signedIn.device };
    } catch (error) {
      return signInShown(request, { ...draft, problem: problemOf(error) });
    }
  });

  serve.submit('/sign-up', async (request, form) => {
    const draft = draftOf(form);
    const credentials = credentialsOf(form);
    if (signup === 'letter' && !(await isOpen(draft))) return requested(request, draft, credentials.email);
    const problem = whatIsWrong(form, credentials);
    if (problem) return signUpPage(request, { ...draft, problem });
    try {
      const { token, device } = await signUp(people, { ...credentials, invitation: draft.invitation }, request.visitor);
      return { to: draft.next, session: token, device };
    } catch (error) {
      return signUpPage(request, { ...draft, problem: problemOf(error) });
    }
  });

  async function requested(request: PageRequest, draft: Draft, email: string): Promise<Page> {
    if (email === '') return requestPage(request, { ...draft, problem: noEmail(draft.email) });
    try {
      await requestSignUp(people, email, request.visitor);
      return requestedPage(draft);
    } catch (error) {
      return requestPage(request, { ...draft, problem: problemOf(error) });
    }
  }

  serve.submitSignedIn('/sign-out', async ({ principal }, form) => {
    const next = form.get('next');
    await endBrowserSession(people, principal, principal.sessionId);
    return { to: next === null ? '/' : signInPath(next), session: null };
  });
}

/** Redirects users who are already signed in. */
function arrived({ principal, query }: PageRequest): { to: string } | undefined {
  return principal && { to: nextPage(query.get('next')) };
}

function fresh({ query }: PageRequest): Draft {
  return { email: '', next: nextPage(query.get('next')), invitation: query.get('invitation') ?? '' };
}

function draftOf(form: Form): Draft {
  const next = nextPage(form.get('next'));
  return { email: form.get('email') ?? '', next, invitation: form.get('invitation') ?? '' };
}

function credentialsOf(form: Form): Credentials {
  return { email: normalizeEmail(form.get('email') ?? '') ?? '', password: form.get('password') ?? '' };
}

function whatIsWrong(form: Form, { email, password }: Credentials): Problem | undefined {
  if (email === '') return noEmail(form.get('email') ?? '');
  if (isPassword(password)) return undefined;
  return invalid('password', `Choose a password of at least ${PASSWORD_BYTES.least} characters.`);
}

function noEmail(given: string): Problem {
  return invalid('email', `“${plainName(given)}” is not an e-mail address.`);
}

/** `firstRun`: the file with the first password until it is used. */
function signInPage(
  request: PageRequest,
  { email, next, problem }: Draft,
  { signup, firstRun }: { signup: SignUp; firstRun: string | undefined },
): Page {
  const main = html`<section class="card narrow">
    <h1>Sign in</h1>
    ${next.startsWith('/device') && html`<p>Sign in to continue connecting your device.</p>`}
    ${firstRun !== undefined && firstRunNote(firstRun, request)} ${problemNote(problem)}
    <form method="post" action="/sign-in">
      ${csrfField(request.csrf)}${hidden('next', next)} ${textField({ ...EMAIL, value: email, problem })}
      ${textField({ ...PASSWORD, autocomplete: 'current-password', problem })}
      <button type="submit">Sign in</button>
    </form>
    <p class="aside"><a href="/sign-in/forgotten">Forgot your password?</a></p>
    ${
      signup !== 'closed'
        ? html`<p class="aside">New here? <a href="${signInPath(next, '/sign-up')}">Create an account</a></p>`
        : html`<p class="aside">${ASK_FOR_ACCOUNT}</p>`
    }
  </section>`;
  return withProblem({ title: 'Sign in', main }, problem);
}

/** Shows the path of the file to a browser on the same machine, and to others its name alone. */
function firstRunNote(file: string, { visitor }: PageRequest): Html {
  if (!isLoopback(visitor.address))
    return html`<p class="note">
      First start: the first password is in <code>${basename(file)}</code> in the data folder.
    </p>`;
  return html`<p class="note">
    First start: you will find the first e-mail address and password in <code>${file}</code> on the machine that runs
    Dormouse. Save the password: it is removed from the file at the first sign-in.
  </p>`;
}

function requestPage(request: PageRequest, { email, next, problem }: Draft): Page {
  const main = html`<section class="card narrow">
    <h1>Create an account</h1>
    ${problemNote(problem)}
    <form method="post" action="/sign-up">
      ${csrfField(request.csrf)}${hidden('next', next)}
      ${textField({ ...EMAIL, value: email, problem, hint: 'We send a link there. It works for seven days.' })}
      <button type="submit">Send the link</button>
    </form>
    ${signInHint(next)}
  </section>`;
  return withProblem({ title: 'Create an account', main }, problem);
}

/** Returns the same page whether or not the address has an account; only the e-mail reveals it. */
function requestedPage({ next }: Draft): Page {
  const main = html`<section class="card narrow">
    <h1>Check your e-mail</h1>
    <p>We sent an e-mail to this address with the next step. You can close this page.</p>
    ${signInHint(next)}
  </section>`;
  return { title: 'Check your e-mail', main };
}

function closedPage({ next, problem, invitation }: Draft): Page {
  const main = html`<section class="card narrow">
    <h1>Create an account</h1>
    ${
      invitation !== '' &&
      html`<p class="note bad" role="alert">
        This link has been used or cancelled, has expired, or is for another e-mail address.
      </p>`
    }
    <p>Ask your administrator for an invitation link. It is valid for seven days, for your e-mail address alone.</p>
    ${signInHint(next)}
  </section>`;
  return { title: 'Create an account', main, ...(problem && { status: problem.status }) };
}

function newAccountPage(request: PageRequest, { email, next, invitation, problem }: Draft): Page {
  const hint = `At least ${PASSWORD_BYTES.least} characters. A short sentence is easy to remember.`;
  const main = html`<section class="card narrow">
    <h1>Create an account</h1>
    ${next.startsWith('/device') && html`<p>Once you have an account, you can connect your device.</p>`}
    ${problemNote(problem)}
    <form method="post" action="/sign-up">
      ${csrfField(request.csrf)}${hidden('next', next)}${invitation !== '' && hidden('invitation', invitation)}
      ${textField({
        ...EMAIL,
        value: email,
        problem,
        ...(isInvitation(invitation) && email !== ''
          ? { more: html`readonly` }
          : { hint: 'We send one e-mail to confirm that it is yours.' }),
      })}
      ${textField({ ...PASSWORD, autocomplete: 'new-password', minlength: PASSWORD_BYTES.least, problem, hint })}
      <button type="submit">Create an account</button>
    </form>
    ${signInHint(next)}
  </section>`;
  return withProblem({ title: 'Create an account', main }, problem);
}

function signInHint(next: string): Html {
  return html`<p class="aside">Have an account? <a href="${signInPath(next)}">Sign in</a></p>`;
}

const EMAIL = {
  name: 'email',
  label: 'E-mail address',
  type: 'email',
  autocomplete: 'username',
  maxlength: 254,
} as const;
const PASSWORD = { name: 'password', label: 'Password', type: 'password', maxlength: PASSWORD_BYTES.most } as const;
