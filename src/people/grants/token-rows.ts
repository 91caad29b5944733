import { EntitySchema } from 'typeorm';
import { text } from '../../store/columns.ts';
import { exact } from '../../store/exact.ts';
import type { Sql, Tx } from '../../store/writer.ts';

/** The token of a grant redeemed within the last minute, whose answer may be lost. */
export interface SealedTokenRow {
  grantId: string;
  /** Encrypted under a key derived from the device code, which is not stored. */
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

/** Stores a grant's token; each grant has at most one. */
export async function insertSealedToken(tx: Tx, row: SealedTokenRow): Promise<void> {
  await tx.manager.insert(sealedTokens, row);
}

export async function getSealedToken(db: Sql, grantId: string): Promise<SealedTokenRow | undefined> {
  return (await db.query<SealedTokenRow>('SELECT * FROM "sealed_tokens" WHERE "grantId" = $1', [grantId]))[0];
}

export async function deleteSealedToken(tx: Tx, grantId: string): Promise<void> {
  await tx.run('DELETE FROM "sealed_tokens" WHERE "grantId" = $1', [grantId]);
}

/**
 * Deletes tokens sealed up to an instant, and those with an instant in the future, from before the clock was set back.
 */
export async function deleteOldSealedTokens(tx: Tx, until: number, now: number): Promise<void> {
  await tx.run('DELETE FROM "sealed_tokens" WHERE "at" <= $1 OR "at" > $2', [until, now]);
}
