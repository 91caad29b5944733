import { EntitySchema } from 'typeorm';
import { text } from '../../store/columns.ts';
import { exact } from '../../store/exact.ts';
import type { Sql, Tx } from '../../store/writer.ts';

/** The token of a grant that was redeemed within the last minute and whose answer may be lost. */
export interface SealedTokenRow {
  grantId: string;
  /** Encrypted under a key that only the device code yields, which is stored nowhere. */
  sealed: string;
  /** When the grant was redeemed. */
  at: number;
}

export const sealedTokens = new EntitySchema<SealedTokenRow>({
  name: 'sealed_tokens',
  columns: {
    grantId: { ...text, primary: true },
    sealed: text,
    at: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
  },
});

/** One for each grant. */
export async function insertSealedToken(tx: Tx, row: SealedTokenRow): Promise<void> {
  await tx.manager.insert(sealedTokens, row);
}

export async function getSealedToken(db: Sql, grantId: string): Promise<SealedTokenRow | undefined> {
  return (await db.query<SealedTokenRow>('SELECT * FROM "sealed_tokens" WHERE "grantId" = $1', [grantId]))[0];
}

export async function deleteSealedToken(tx: Tx, grantId: string): Promise<void> {
  await tx.run('DELETE FROM "sealed_tokens" WHERE "grantId" = $1', [grantId]);
}

/** Forgets those sealed up to an instant, and those of the future, from before somebody set the clock back. */
export async function deleteOldSealedTokens(tx: Tx, until: number, now: number): Promise<void> {
  await tx.run('DELETE FROM "sealed_tokens" WHERE "at" <= $1 OR "at" > $2', [until, now]);
}
