import type { SessionPrincipal } from '../http/principal.ts';
import { textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Problem } from '../web/problem.ts';
import type { Form } from '../web/serve.ts';
import type { SignedInRequest } from '../web/page-request.ts';
import { isPasswordFresh, provePassword } from './fresh-password.ts';
import type { People } from './people.ts';
import { PASSWORD_BYTES } from './users.ts';

/** The password field of a form, shown if the password was given too long ago. */
export function passwordAgain(
  { principal, now }: SignedInRequest,
  problem: Problem | undefined,
  hint = 'This gives access to your account. Enter your password again.',
): Html | undefined {
  if (isPasswordFresh(principal, now)) return undefined;
  return html`<input type="text" name="username" value="${principal.email}" autocomplete="username" hidden />
    ${textField({
      name: 'password',
      label: 'Confirm your password',
      type: 'password',
      autocomplete: 'current-password',
      hint,
      maxlength: PASSWORD_BYTES.most,
      problem,
    })}`;
}

/** Returns the signed-in user after checking the form's password (`passwordAgain`). Rejects if it is wrong. */
export async function proved(people: People, request: SignedInRequest, form: Form): Promise<SessionPrincipal> {
  const password = form.get('password') ?? '';
  return password === '' ? request.principal : provePassword(people, request.principal, password, request.visitor);
}
