import { accountLimits } from './entities.ts';
import type { AccountLimitsRow } from './rows.ts';
import type { Sql, Tx } from './writer.ts';

/** The limits of every account that has its own. */
export async function listAccountLimits(db: Sql): Promise<AccountLimitsRow[]> {
  return db.query<AccountLimitsRow>('SELECT * FROM "account_limits"');
}

/** Replaces what was set for the account. */
export async function saveAccountLimits(tx: Tx, row: AccountLimitsRow): Promise<void> {
  await deleteAccountLimits(tx, row.accountId);
  await tx.manager.insert(accountLimits, row);
}

export async function deleteAccountLimits(tx: Tx, accountId: string): Promise<void> {
  await tx.run('DELETE FROM "account_limits" WHERE "accountId" = $1', [accountId]);
}
