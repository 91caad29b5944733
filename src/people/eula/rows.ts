import { EntitySchema } from 'typeorm';
import { bigint, id, ofAccount, ofUser, text } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';

/** An account's acceptance of Mojang's EULA. */
export interface EulaAcceptanceRow {
  accountId: string;
  /** The user who accepted. */
  userId: string;
  /** The address of the accepted text. */
  url: string;
  acceptedAt: number;
}

export const eulaAcceptances = new EntitySchema<EulaAcceptanceRow>({
  name: 'eula_acceptances',
  columns: { accountId: id, userId: text, url: text, acceptedAt: bigint },
  foreignKeys: [ofAccount, ofUser],
});

export async function getEulaAcceptance(db: Sql, accountId: string): Promise<EulaAcceptanceRow | undefined> {
  const sql = 'SELECT * FROM "eula_acceptances" WHERE "accountId" = $1';
  return (await db.query<EulaAcceptanceRow>(sql, [accountId]))[0];
}

export async function insertEulaAcceptance(tx: Tx, row: EulaAcceptanceRow): Promise<void> {
  await tx.manager.insert(eulaAcceptances, row);
}
