import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import type { Store } from '../store/store.ts';
import { recordAudit } from './audit/audit.ts';
import { deleteOtherBrowserSessions } from './browser-session-rows.ts';
import { hashPassword } from './passwords.ts';
import { findFirstOperator, getUserByEmail, replacePassword } from './rows.ts';

/**
 * Gives a user (default: the first operator) a new password and ends all their sessions; keys and connected apps stay. For
 * whoever has the machine itself: nobody is asked for the old one. Gives what to say. NOT_FOUND where there is no such user.
 */
export async function resetPassword(store: Store, clock: Clock, email?: string): Promise<string> {
  const user = await (email === undefined
    ? findFirstOperator(store)
    : getUserByEmail(store, email.trim().toLowerCase()));
  if (!user) throw notFound(email);
  const password = randomBase62(20);
  const passwordHash = await hashPassword(password);
  await store.write(async (tx) => {
    if (!(await replacePassword(tx, user.id, user.passwordHash, passwordHash))) throw notFound(email);
    await deleteOtherBrowserSessions(tx, user.id, '');
    const { accountId } = user;
    const by = { userId: '', through: 'the machine itself' };
    await recordAudit(tx, by, { action: 'session.resetPassword', accountId, at: clock.now() });
  });
  return `${user.email} signs in with the password ${password} from now on. All their browsers are signed out.\n`;
}

function notFound(email: string | undefined): StatusError {
  const message =
    email === undefined
      ? 'There is no operator yet: the first start makes one.'
      : `Nobody has an account with the address ${email}.`;
  return new StatusError('NOT_FOUND', 'USER_NOT_FOUND', message);
}
