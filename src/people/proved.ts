import type { SessionPrincipal } from '../http/principal.ts';
import type { Form } from '../web/serve.ts';
import type { SignedInVisit } from '../web/visit.ts';
import { provePassword } from './fresh-password.ts';
import type { People } from './people.ts';

/** Who is signed in, once the password that a form brought along has been looked at (`passwordAgain`). Rejects where it is wrong. */
export async function proved(people: People, visit: SignedInVisit, form: Form): Promise<SessionPrincipal> {
  const password = form.get('password') ?? '';
  return password === '' ? visit.principal : provePassword(people, visit.principal, password, visit.visitor);
}
