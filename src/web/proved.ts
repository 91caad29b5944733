import { provePassword } from '../access/fresh-password.ts';
import type { People } from '../access/people.ts';
import type { SessionPrincipal } from '../access/principal.ts';
import type { Form } from './serve.ts';
import type { SignedInVisit } from './visit.ts';

/** Who is signed in, once the password that a form brought along has been looked at (`passwordAgain`). Rejects where it is wrong. */
export async function proved(people: People, visit: SignedInVisit, form: Form): Promise<SessionPrincipal> {
  const password = form.get('password') ?? '';
  return password === '' ? visit.principal : provePassword(people, visit.principal, password, visit.visitor);
}
