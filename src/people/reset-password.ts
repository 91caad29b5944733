import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import type { Store } from '../store/store.ts';
import { recordAudit } from './audit/audit.ts';
import { deleteOtherBrowserSessions } from './browser-session-rows.ts';
import { deleteAllEmailTokens } from './mail/token-rows.ts';
import { hashPassword } from './passwords.ts';
import { type UserRow, findFirstOperator, getUserByEmail, replacePassword } from './rows.ts';
import { removeSecondFactorHere } from './second-factor/removal.ts';
import { secondFactorOf } from './second-factor/second-factor.ts';

/**
 * Sets a new password for a user (default: the first operator) and ends all their sessions; keys, connected apps and
 * the second factor stay. For the person with access to the machine: the old password is not required. Returns the text
 * to print. NOT_FOUND for an unknown user.
 */
export async function resetPassword(store: Store, clock: Clock, email?: string): Promise<string> {
  const user = await known(store, email);
  const password = randomBase62(20);
  const passwordHash = await hashPassword(password);
  await store.write(async (tx) => {
    if (!(await replacePassword(tx, user.id, user.passwordHash, passwordHash))) throw notFound(email);
    await deleteOtherBrowserSessions(tx, user.id, '');
    await deleteAllEmailTokens(tx, user.id);
    const { accountId } = user;
    const by = { userId: '', through: 'the machine itself' };
    await recordAudit(tx, by, { action: 'session.resetPassword', accountId, at: clock.now() });
  });
  const { enabledAt } = await secondFactorOf(store, user.id);
  const factor = enabledAt === null ? '' : `Two-factor sign-in stays on. ${SWITCH_OFF}\n`;
  return `The new password of ${user.email} is ${password}. All their browsers are signed out.\n${factor}`;
}

/**
 * Turns off a user's second factor (default: the first operator's). Returns the text to print. Rejects like
 * `resetPassword`, and if it is not on.
 */
export async function removeSecondFactor(store: Store, clock: Clock, email?: string): Promise<string> {
  const user = await known(store, email);
  await removeSecondFactorHere({ store, clock }, user.accountId);
  return `Two-factor sign-in is off for ${user.email}.\n`;
}

const SWITCH_OFF = 'If phone and recovery codes are lost, turn it off with npm run remove-second-factor.';

async function known(store: Store, email: string | undefined): Promise<UserRow> {
  const user = await (email === undefined
    ? findFirstOperator(store)
    : getUserByEmail(store, email.trim().toLowerCase()));
  if (!user) throw notFound(email);
  return user;
}

function notFound(email: string | undefined): StatusError {
  const message =
    email === undefined
      ? 'There is no operator yet. The first start creates one.'
      : `No account has the address ${email}.`;
  return new StatusError('NOT_FOUND', 'USER_NOT_FOUND', message);
}
