import type { Principal } from '../../http/principal.ts';
import { StatusError } from '../../kernel/status.ts';
import { requireProvedSession } from '../fresh-password.ts';
import { type AuditActor, auditActorOf, recordAudit } from '../audit/audit.ts';
import { noticeSecondFactor } from '../mail/notices.ts';
import type { People } from '../people.ts';
import { deleteSecondFactor, listSecondFactorUsers } from './rows.ts';

/**
 * Turns off the second factor of an account's users who have lost app and recovery codes; an e-mail notifies them. The
 * calling operator has verified their identity. PERMISSION_DENIED unless the session's password was given recently;
 * FAILED_PRECONDITION SECOND_FACTOR_OFF, or OWN_SECOND_FACTOR, which requires a code.
 */
export async function removeSecondFactorOf(
  people: People,
  principal: Principal,
  accountId: string,
  reason: string,
): Promise<void> {
  if (accountId === principal.accountId) {
    const message = 'This is your own account. Turn off two-factor sign-in at /profile/second-factor.';
    throw new StatusError('FAILED_PRECONDITION', 'OWN_SECOND_FACTOR', message);
  }
  await requireProvedSession(people, principal);
  const users = await removed(people, auditActorOf(principal), accountId, reason);
  for (const user of users) {
    noticeSecondFactor(people, user, `An operator turned off two-factor sign-in for your account (“${reason}”)`);
  }
}

/** Turns off a second factor for the person with access to the machine. */
export async function removeSecondFactorHere(
  people: Pick<People, 'store' | 'clock'>,
  accountId: string,
): Promise<void> {
  await removed(people, { userId: '', through: 'the machine itself' }, accountId, '');
}

async function removed(
  { store, clock }: Pick<People, 'store' | 'clock'>,
  by: AuditActor,
  accountId: string,
  detail: string,
) {
  return store.write(async (tx) => {
    const users = await listSecondFactorUsers(tx, accountId);
    if (users.length === 0) {
      throw new StatusError('FAILED_PRECONDITION', 'SECOND_FACTOR_OFF', 'Two-factor sign-in is off for this account.');
    }
    for (const { id } of users) await deleteSecondFactor(tx, id);
    await recordAudit(tx, by, { action: 'secondFactor.remove', accountId, detail, at: clock.now() });
    return users;
  });
}
