import { basename } from 'node:path';
import { isLoopback } from '../kernel/ip.ts';
import { normalizeEmail } from '../mail/mail.ts';
import { ASSETS } from '../web/assets.ts';
import { csrfField, hidden, problemNote, textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Answer, Page, PageRequest } from '../web/page-request.ts';
import { type Problem, problemOf } from '../web/problem.ts';
import type { Form, Serve } from '../web/serve.ts';
import type { Accounts, SignUp } from './accounts.ts';
import { endBrowserSession } from './browser-sessions.ts';
import { nextPage, signInPath } from './next.ts';
import { cardPage, newPasswordField, notAnEmail, shortPassword } from './page-parts.ts';
import { PASSWORD_BYTES, isPassword } from './passwords.ts';
import { CALLBACK } from './provider.ts';
import { PROVIDER_PATH, confirmLink, providerButton } from './provider-pages.ts';
import {
  confirmByProvider,
  finishWithCode,
  flowOf,
  newProviderFlow,
  nextOfFlow,
  signInByProvider,
} from './provider-sign-in.ts';
import { NO_CODE, anyCodeField, codeIn } from './second-factor-pages.ts';
import { type Credentials, pendingUser, signIn, signUp } from './sign-in.ts';
import { invitedEmail, isInvitation, requestSignUp } from './sign-up-links.ts';

/** Form values shown again after a problem. Never contains a password. */
interface Draft {
  email: string;
  next: string;
  /** The token of the operator's link; '' without one. */
  invitation: string;
  problem?: Problem;
}

/** Signing in, up and out. */
export function mountSignIn(serve: Serve, accounts: Accounts): void {
  const { signup, passwords } = accounts;
  /** Whether this visitor can create an account. */
  const isOpen = async ({ invitation }: Draft) =>
    signup === 'open' || (await invitedEmail(accounts, invitation)) !== undefined;
  const signUpPage = async (request: PageRequest, draft: Draft) => {
    if (passwords === 'operator') return closedPage(draft, accounts);
    if (await isOpen(draft)) return newAccountPage(request, draft, accounts);
    return signup === 'letter' ? requestPage(request, draft, accounts) : closedPage(draft, accounts);
  };

  serve.open('/sign-in', (request) => arrived(request) ?? signInPage(request, fresh(request), accounts));
  serve.open('/sign-up', async (request) => {
    const draft = fresh(request);
    const email = (await invitedEmail(accounts, draft.invitation)) ?? '';
    return arrived(request) ?? signUpPage(request, { ...draft, email });
  });

  serve.submit('/sign-in', async (request, form) => {
    const draft = draftOf(form);
    try {
      const signedIn = await signIn(accounts, credentialsOf(form), request.visitor);
      if ('pending' in signedIn) return { to: codePath(draft.next), pending: signedIn.pending };
      return { to: draft.next, session: signedIn.token, device: signedIn.device };
    } catch (error) {
      return signInPage(request, { ...draft, problem: problemOf(error) }, accounts);
    }
  });

  serve.submit('/sign-up', async (request, form) => {
    const draft = draftOf(form);
    const credentials = credentialsOf(form);
    if (signup === 'letter' && !(await isOpen(draft))) return requested(request, draft, credentials.email);
    const problem = whatIsWrong(form, credentials);
    if (problem) return signUpPage(request, { ...draft, problem });
    try {
      const { token, device } = await signUp(
        accounts,
        { ...credentials, invitation: draft.invitation },
        request.visitor,
      );
      return { to: draft.next, session: token, device };
    } catch (error) {
      return signUpPage(request, { ...draft, problem: problemOf(error) });
    }
  });

  async function requested(request: PageRequest, draft: Draft, email: string): Promise<Page> {
    if (email === '') return requestPage(request, { ...draft, problem: notAnEmail(draft.email) }, accounts);
    try {
      await requestSignUp(accounts, email, request.visitor);
      return requestedPage(draft);
    } catch (error) {
      return requestPage(request, { ...draft, problem: problemOf(error) }, accounts);
    }
  }

  serve.submitSignedIn('/sign-out', async ({ principal }, form) => {
    const next = form.get('next');
    await endBrowserSession(accounts, principal, principal.sessionId);
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

/** Returns the fields of a sign-in or sign-up form. */
export function credentialsOf(form: Form): Credentials {
  return { email: normalizeEmail(form.get('email') ?? '') ?? '', password: form.get('password') ?? '' };
}

/** Returns the problem of a new account's fields. */
export function whatIsWrong(form: Form, { email, password }: Credentials): Problem | undefined {
  if (email === '') return notAnEmail(form.get('email') ?? '');
  if (isPassword(password)) return undefined;
  return shortPassword('password');
}

function signInPage(
  request: PageRequest,
  { email, next, problem }: Draft,
  { signup, passwords, provider, firstRunFile }: Accounts,
): Page {
  // The file with the first password until it is used.
  const firstRun = firstRunFile?.waiting();
  const form = html`<form method="post" action="/sign-in">
      ${csrfField(request.csrf)}${hidden('next', next)} ${textField({ ...EMAIL, value: email, problem })}
      ${textField({ ...PASSWORD, autocomplete: 'current-password', problem })}
      <button ${provider && html`class="second"`} type="submit">Sign in${provider && ' with the password'}</button>
    </form>
    <p class="aside"><a href="/sign-in/forgotten">Forgot your password?</a></p>`;
  return cardPage(
    'Sign in',
    html`${next.startsWith('/device') && html`<p>Sign in to continue connecting your device.</p>`}
    ${firstRun !== undefined && firstRunNote(firstRun, request)} ${problemNote(problem)}
    ${provider && providerButton(provider, next)}
    ${
      passwords === 'operator'
        ? html`<details ${(firstRun !== undefined || email !== '') && html`open`}>
            <summary>The operator’s password</summary>
            ${form}
          </details>`
        : form
    }
    ${
      signup === 'closed'
        ? html`<p class="aside">${ASK_FOR_ACCOUNT}</p>`
        : passwords === 'everyone' &&
          html`<p class="aside">New here? <a href="${signInPath(next, '/sign-up')}">Create an account</a></p>`
    }`,
    problem,
  );
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

function requestPage(request: PageRequest, { email, next, problem }: Draft, { provider }: Accounts): Page {
  return cardPage(
    'Create an account',
    html`${problemNote(problem)} ${provider && providerButton(provider, next)}
      <form method="post" action="/sign-up">
        ${csrfField(request.csrf)}${hidden('next', next)}
        ${textField({ ...EMAIL, value: email, problem, hint: 'We send a link there. It works for seven days.' })}
        <button type="submit">Send the link</button>
      </form>
      ${signInHint(next)}`,
    problem,
  );
}

/** Returns the same page whether or not the address has an account; only the e-mail reveals it. */
function requestedPage({ next }: Draft): Page {
  return cardPage(
    'Check your e-mail',
    html`<p>We sent an e-mail to this address with the next step. You can close this page.</p>
      ${signInHint(next)}`,
  );
}

function closedPage({ next, problem, invitation }: Draft, { provider, passwords, signup }: Accounts): Page {
  if (provider && passwords === 'operator') {
    const invited = signup === 'closed' && html`<p>Choose an account with the e-mail address that was invited.</p>`;
    return cardPage('Create an account', html`${invited} ${providerButton(provider, next)}`, problem);
  }
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

function newAccountPage(
  request: PageRequest,
  { email, next, invitation, problem }: Draft,
  { provider }: Accounts,
): Page {
  return cardPage(
    'Create an account',
    html`${next.startsWith('/device') && html`<p>Once you have an account, you can connect your device.</p>`}
      ${problemNote(problem)} ${provider && providerButton(provider, next)}
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
        ${newPasswordField('Password', problem)}
        <button type="submit">Create an account</button>
      </form>
      ${signInHint(next)}`,
    problem,
  );
}

/** Returns the link for people who have an account. */
export function signInHint(next: string): Html {
  return html`<p class="aside">Have an account? <a href="${signInPath(next)}">Sign in</a></p>`;
}

/** The field for the e-mail address that signs a user in. */
export const EMAIL = {
  name: 'email',
  label: 'E-mail address',
  type: 'email',
  autocomplete: 'username',
  maxlength: 254,
} as const;
const PASSWORD = { name: 'password', label: 'Password', type: 'password', maxlength: PASSWORD_BYTES.most } as const;

const PATH = '/sign-in/code';

/** Returns the path of the page that asks for the code. */
function codePath(next: string): string {
  return `${PATH}?next=${encodeURIComponent(next)}`;
}

/** The second step of signing in, for browsers in which the password was given. Others are sent to the first step. */
export function mountSignInCode(serve: Serve, accounts: Accounts): void {
  serve.open(PATH, async (request) => {
    const next = nextPage(request.query.get('next'));
    if (request.principal) return { to: next };
    return (await isPending(request)) ? codePage(request, next) : { to: signInPath(next) };
  });

  serve.submit(PATH, async (request, form) => {
    const next = nextPage(form.get('next'));
    if (!(await isPending(request))) return { to: signInPath(next), pending: null };
    const code = codeIn(form);
    if (code === '') return codePage(request, next, NO_CODE);
    try {
      const { token, device } = await finishWithCode(accounts, code, request.visitor);
      return { to: next, session: token, device, pending: null };
    } catch (error) {
      return codePage(request, next, problemOf(error));
    }
  });

  async function isPending({ visitor, now }: PageRequest): Promise<boolean> {
    return (await pendingUser(accounts, visitor.pending, now)) !== undefined;
  }
}

function codePage(request: PageRequest, next: string, problem?: Problem): Page {
  return cardPage(
    'Enter your code',
    html`${problemNote(problem)}
      <form method="post" action="${PATH}">
        ${csrfField(request.csrf)}${hidden('next', next)} ${anyCodeField(problem)}
        <button type="submit">Sign in</button>
      </form>
      <p class="aside">
        Lost both? Ask your administrator to reset two-factor sign-in.
        <a href="${signInPath(next)}">Start again</a>
      </p>`,
    problem,
  );
}

/** Signing in with the provider: the way there, and the way back. Without a provider, mounts nothing. */
export function mountProviderSignIn(serve: Serve, accounts: Accounts): void {
  const { provider, secret } = accounts;
  if (!provider) return;
  const failed = (request: PageRequest, next: string, again: boolean, error: unknown) => {
    const problem = problemOf(error);
    if (!again || !request.principal)
      return signInPage(request, { email: '', next, invitation: '', problem }, accounts);
    const body = html`${problemNote(problem)}
      <p>You are still signed in. ${confirmLink(provider.name, next)} or <a href="${next}">go back</a>.</p>`;
    return cardPage('Confirm that it is you', body, problem);
  };

  serve.open(PROVIDER_PATH, async (request) => {
    const next = nextPage(request.query.get('next'));
    const again = request.principal !== undefined && request.query.has('again');
    const pending = newProviderFlow(next, request.now, again);
    try {
      if (request.principal && !again) return { to: next };
      return { to: await provider.begin(flowOf(secret, pending)), pending };
    } catch (error) {
      return failed(request, next, again, error);
    }
  });

  serve.open(CALLBACK, async (request) => {
    // The browser holds the token, so the page in it is checked again.
    const next = nextPage(nextOfFlow(request.visitor.pending, request.now) ?? null);
    const { again } = flowOf(secret, request.visitor.pending ?? '');
    try {
      if (again) {
        await confirmByProvider(accounts, provider, request.query, request.visitor, request.principal);
        return { to: next, pending: null };
      }
      const signedIn = await signInByProvider(accounts, provider, request.query, request.visitor);
      if ('pending' in signedIn) return { to: codePath(next), pending: signedIn.pending };
      return { to: next, session: signedIn.token, device: signedIn.device, pending: null };
    } catch (error) {
      return failed(request, next, again, error);
    }
  });
}

/** The home page for visitors. Signed-in users get their servers. */
export function mountHome(serve: Serve, { signup }: Accounts): void {
  serve.open('/', (request): Answer => (request.principal ? { to: '/servers' } : homePage(signup)));
}

/** The hint for people without an account if only operators create accounts. */
const ASK_FOR_ACCOUNT = 'New here? Ask your administrator for an invitation link.';

function homePage(signup: SignUp): Page {
  const main = html`<section class="card hero">
      <img src="${ASSETS.logo}" alt="A dormouse asleep under the moon" width="176" height="176" />
      <h1>Minecraft servers that sleep until someone joins</h1>
      <p>
        A Dormouse server costs nothing while it sleeps. When a player joins, it wakes up, and the player stays
        connected until it is ready: no kick, no second try.
      </p>
      <p class="actions">
        <a class="button" href="/sign-in">Sign in</a
        >${signup !== 'closed' && html`<a class="button second" href="/sign-up">Create an account</a>`}
      </p>
      ${signup === 'closed' && html`<p class="aside">${ASK_FOR_ACCOUNT}</p>`}
    </section>
    <div class="three">
      <section class="card">
        <h2>Join once</h2>
        <p>Dormouse holds your login while the server starts, then passes it on unchanged.</p>
      </section>
      <section class="card">
        <h2>Pay while awake</h2>
        <p>Viewing the server list does not wake your server. Your bill shows the cause of every minute.</p>
      </section>
      <section class="card">
        <h2>Use it from anywhere</h2>
        <p>
          Create a key in your <a href="/profile/keys">profile</a> and control everything through the
          <a href="/docs">API</a>.
        </p>
      </section>
    </div>`;
  return { title: 'Servers that sleep', main };
}
