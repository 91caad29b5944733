import type { SessionPrincipal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page, PageRequest, SignedInRequest } from '../web/page-request.ts';
import { type Problem, invalid, withProblem } from '../web/problem.ts';
import type { Form } from '../web/serve.ts';
import { plainName } from '../web/text.ts';
import type { Accounts } from './accounts.ts';
import { PASSWORD_BYTES, isPasswordFresh, onlyProvider, provePassword } from './passwords.ts';
import { confirmLink } from './provider-pages.ts';

const TABS = [
  ['/profile', 'Profile'],
  ['/profile/second-factor', 'Two-factor sign-in'],
  ['/profile/keys', 'API keys'],
  ['/profile/ssh', 'SSH keys'],
  ['/profile/apps', 'Connected apps'],
  ['/profile/sessions', 'Sessions'],
  ['/profile/webhooks', 'Webhooks'],
  ['/profile/invitations', 'Invitations'],
  ['/profile/audit', 'Audit log'],
] as const;

/** The paths of the profile pages. */
export const PROFILE_PATHS: readonly string[] = TABS.map(([path]) => path);

/** Returns a profile page beside the links to the others. */
export function profilePage({ path }: PageRequest, title: string, main: Html, problem?: Problem): Page {
  const [here = ''] = path.split('?', 1);
  const present = TABS.findLast(([tab]) => here === tab || here.startsWith(`${tab}/`))?.[0];
  const framed = html`<div class="profile">
    <div class="head"><h1>${title}</h1></div>
    ${main}
  </div>`;
  const links = TABS.map(([href, label]) => ({ href, label, isCurrent: href === present }));
  return withProblem({ title, main: framed, pages: { label: 'Profile', groups: [{ links }] } }, problem);
}

/** Long enough to copy a key, even after a reload of the page. */
export const REVEAL_MS = 5 * MINUTE_MS;
const MOST = 10_000;

/**
 * Keeps the latest value of each session for a short time, in memory only. This lets a GET show a secret that a POST
 * created, without putting it in an address.
 */
export class Reveals<T> {
  readonly #clock: Clock;
  readonly #kept = new Map<string, { value: T; until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put(sessionId: string, value: T): void {
    const now = this.#clock.now();
    for (const [id, { until }] of this.#kept) {
      if (until > now && this.#kept.size < MOST) break;
      this.#kept.delete(id);
    }
    this.#kept.delete(sessionId);
    this.#kept.set(sessionId, { value, until: now + REVEAL_MS });
  }

  /** Returns undefined once the time is over. */
  see(sessionId: string): T | undefined {
    const found = this.#kept.get(sessionId);
    return found && found.until > this.#clock.now() ? found.value : undefined;
  }
}

/** Returns a page with one narrow card below its title. */
export function cardPage(title: string, body: Html, problem?: Problem, heading: Html | string = title): Page {
  const main = html`<section class="card narrow">
    <h1>${heading}</h1>
    ${body}
  </section>`;
  return withProblem({ title, main }, problem);
}

/** The field for a new password. */
export function newPasswordField(label: string, problem: Problem | undefined): Html {
  return textField({
    name: 'password',
    label,
    type: 'password',
    autocomplete: 'new-password',
    minlength: PASSWORD_BYTES.least,
    maxlength: PASSWORD_BYTES.most,
    problem,
    hint: `At least ${PASSWORD_BYTES.least} characters. A short sentence is easy to remember.`,
  });
}

/** The problem of a new password that is too short. */
export function shortPassword(field: string): Problem {
  return invalid(field, `Choose a password of at least ${PASSWORD_BYTES.least} characters.`);
}

/** The problem of an invalid e-mail address. */
export function notAnEmail(given: string): Problem {
  return invalid('email', `“${plainName(given)}” is not an e-mail address.`);
}

/** The field for a signed-in user's password, with the user name for password managers. */
export function ownPasswordField(email: string, label: string, problem: Problem | undefined, hint?: string): Html {
  return html`<input type="text" name="username" value="${email}" autocomplete="username" hidden /> ${textField({
      name: 'password',
      label,
      type: 'password',
      autocomplete: 'current-password',
      hint,
      maxlength: PASSWORD_BYTES.most,
      problem,
    })}`;
}

/**
 * The password field of a form, shown if the password was given too long ago. Users with an account at the sign-in
 * provider can confirm there, and return to the page at `path`. Those without a password have no field.
 */
export function passwordAgain(
  { principal, now, path }: SignedInRequest,
  problem: Problem | undefined,
  hint = 'This gives access to your account. Enter your password again.',
): Html | undefined {
  if (isPasswordFresh(principal, now)) return undefined;
  const link = principal.confirmWith && confirmLink(principal.confirmWith.provider, path);
  if (onlyProvider(principal) !== undefined) {
    return html`<p>You signed in a while ago. Confirm that it is you before you continue: ${link}</p>`;
  }
  const field = ownPasswordField(principal.email, 'Confirm your password', problem, hint);
  return html`${field}${link && html`<p class="aside">Or without it: ${link}</p>`}`;
}

/** Returns the signed-in user after checking the form's password (`passwordAgain`). Rejects if it is wrong. */
export async function proved(accounts: Accounts, request: SignedInRequest, form: Form): Promise<SessionPrincipal> {
  const password = form.get('password') ?? '';
  return password === '' ? request.principal : provePassword(accounts, request.principal, password, request.visitor);
}
