import { sealedTokens } from './sealed-tokens-table.ts';
import type { SealedTokenRow } from './sealed-tokens-table.ts';
import type { Sql, Tx } from './writer.ts';

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
