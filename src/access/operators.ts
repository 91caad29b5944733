import type { Accounts } from '../accounts/accounts.ts';
import { type FirstRun, readFirstRun, writeFirstRun } from '../accounts/first-run.ts';
import { hashPassword, requireProvedSession } from '../accounts/passwords.ts';
import {
  countOperators,
  hasUsers,
  insertAccount,
  insertUser,
  isOperatorAccount,
  setUserOperator,
  userOfAccount,
} from '../accounts/rows.ts';
import { detachFromGroup } from '../accounts/provider-rows.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import type { Principal } from '../http/principal.ts';
import { KEY_SCOPES } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import { newId, randomBase62 } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import type { Store } from '../store/store.ts';
import { insertKey } from './key-rows.ts';
import { mintKey } from './keys.ts';

/**
 * Grants or revokes operator rights of an account's user, effective at once. PERMISSION_DENIED unless the session's
 * password was given recently, so that neither a leaked key nor an open browser can create operators; NOT_FOUND
 * ACCOUNT_NOT_FOUND; FAILED_PRECONDITION LAST_OPERATOR.
 */
export async function setOperator(
  accounts: Accounts,
  principal: Principal,
  accountId: string,
  { operator, reason }: { operator: boolean; reason: string },
): Promise<void> {
  const { store, clock, accessChanges } = accounts;
  await requireProvedSession(accounts, principal);
  const changed = await store.write(async (tx) => {
    const user = await userOfAccount(tx, accountId);
    // Rights that people grant or revoke no longer depend on a group at the sign-in provider.
    await detachFromGroup(tx, user.id);
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
  accessChanges.announce({ userId: changed });
}

/**
 * On an empty database, creates the operator: account, user and a key with every scope. Returns the credentials and
 * stores them in `first-run.json` in the data directory, readable by this system user only. Later starts return the
 * same, with the current address, until the operator has signed in and the password is removed; then undefined.
 *
 * The file is on disk before the rows are committed. If the process is killed before the commit, the database is still
 * empty, and the next start creates another operator and replaces the file; if it is killed afterwards, the file
 * matches. An operator without known credentials never exists.
 */
export async function firstRun(
  store: Store,
  {
    clock,
    dataDir,
    baseUrl,
    onAccount,
  }: { clock: Clock; dataDir: string; baseUrl: string; onAccount?: Accounts['onAccount'] },
): Promise<FirstRun | undefined> {
  if (await hasUsers(store)) return stillToSay(store, dataDir, baseUrl);
  const password = randomBase62(20);
  const passwordHash = await hashPassword(password);
  return store.write(async (tx) => {
    if (await hasUsers(tx)) return undefined;
    const createdAt = clock.now();
    const accountId = newId('acc');
    const userId = newId('usr');
    const email = 'operator@localhost';
    const { key, row } = mintKey({
      name: 'first run',
      userId,
      accountId,
      scopes: KEY_SCOPES,
      createdAt,
      expiresAt: null,
    });
    await insertAccount(tx, { id: accountId, name: 'Operator', createdAt });
    await onAccount?.(tx, accountId, createdAt);
    await insertUser(tx, {
      id: userId,
      email,
      emailVerified: true,
      passwordHash,
      accountId,
      operator: true,
      createdAt,
    });
    await insertKey(tx, row);
    const made: FirstRun = { email, password, accountId, apiKey: key, baseUrl };
    await writeFirstRun(dataDir, made);
    return made;
  });
}

/** Returns the credentials left by an earlier start if they belong to this database. */
async function stillToSay(store: Store, dataDir: string, baseUrl: string): Promise<FirstRun | undefined> {
  const left = await readFirstRun(dataDir);
  if (left?.accountId === undefined || !(await isOperatorAccount(store, left.accountId))) return undefined;
  const { email = '', password, accountId, apiKey = '' } = left;
  if (password === undefined) return undefined;
  const now: FirstRun = { email, password, accountId, apiKey, baseUrl };
  if (left.baseUrl !== baseUrl) await writeFirstRun(dataDir, now);
  return now;
}
