import { EntitySchema } from 'typeorm';
import { id, maybeInteger, ofAccount } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** The limits of an account that differ from the installation's. */
export interface AccountLimitsRow {
  accountId: string;
  /** Null: the installation's; 0: unlimited. */
  maxServers: number | null;
  /** Null: the installation's. */
  maxRamMb: number | null;
}

export const accountLimits = new EntitySchema<AccountLimitsRow>({
  name: 'account_limits',
  columns: { accountId: id, maxServers: maybeInteger, maxRamMb: maybeInteger },
  foreignKeys: [ofAccount],
});

/** Returns the limits of every account that has its own. */
export async function listAccountLimits(db: Sql): Promise<AccountLimitsRow[]> {
  return db.query<AccountLimitsRow>('SELECT * FROM "account_limits"');
}

/** Replaces the limits of the account. */
export async function saveAccountLimits(tx: Tx, row: AccountLimitsRow): Promise<void> {
  await deleteAccountLimits(tx, row.accountId);
  await tx.manager.insert(accountLimits, row);
}

export async function deleteAccountLimits(tx: Tx, accountId: string): Promise<void> {
  await tx.run('DELETE FROM "account_limits" WHERE "accountId" = $1', [accountId]);
}
