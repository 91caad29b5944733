import type { Principal } from '../../http/principal.ts';
import { StatusError } from '../../kernel/status.ts';
import type { Sql } from '../../store/store.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { requireProvedSession } from '../fresh-password.ts';
import { forgetKeysOf } from '../keys/keys.ts';
import type { People } from '../people.ts';
import { type UserRow, countOperators, findUserOfAccount, setUserOperator } from '../rows.ts';

/**
 * Grants or revokes operator rights of an account's user, effective at once. PERMISSION_DENIED unless the session's
 * password was given recently, so that neither a leaked key nor an open browser can create operators; NOT_FOUND
 * ACCOUNT_NOT_FOUND; FAILED_PRECONDITION LAST_OPERATOR.
 */
export async function setOperator(
  people: People,
  principal: Principal,
  accountId: string,
  { operator, reason }: { operator: boolean; reason: string },
): Promise<void> {
  const { store, clock, accessChanges } = people;
  await requireProvedSession(people, principal);
  const changed = await store.write(async (tx) => {
    const user = await userOfAccount(tx, accountId);
    if (user.operator === operator) return undefined;
    if (!operator && (await countOperators(tx)) < 2) {
      const message = 'This is the only operator. Make another account an operator first.';
      throw new StatusError('FAILED_PRECONDITION', 'LAST_OPERATOR', message);
    }
    await setUserOperator(tx, user.id, operator);
    const action = operator ? 'account.makeOperator' : 'account.endOperator';
    await recordAudit(tx, auditActorOf(principal), { action, accountId, detail: reason, at: clock.now() });
    return user.id;
  });
  if (changed === undefined) return;
  forgetKeysOf(store, changed);
  accessChanges.announce({ userId: changed });
}

/** Returns the account's user. Throws NOT_FOUND ACCOUNT_NOT_FOUND. */
export async function userOfAccount(db: Sql, accountId: string): Promise<UserRow> {
  const user = await findUserOfAccount(db, accountId);
  if (user) return user;
  throw new StatusError('NOT_FOUND', 'ACCOUNT_NOT_FOUND', 'There is no such account.', { metadata: { accountId } });
}
