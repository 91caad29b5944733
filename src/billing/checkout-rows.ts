import { EntitySchema } from 'typeorm';
import { bigint, id, integer, maybeAt, maybeText, ofAccount, text } from '../store/columns.ts';
import { countOf } from '../store/count.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** A payment on a provider's page. */
export interface CheckoutRow {
  id: string;
  accountId: string;
  provider: 'stripe' | 'test';
  amountUsd: number;
  amountMicros: number;
  state: 'open' | 'paid' | 'expired';
  /** The provider's id; null until known. */
  providerRef: string | null;
  createdAt: number;
  paidAt: number | null;
}

export const checkouts = new EntitySchema<CheckoutRow>({
  name: 'checkouts',
  columns: {
    id,
    accountId: text,
    provider: text,
    amountUsd: integer,
    amountMicros: bigint,
    state: text,
    providerRef: maybeText,
    createdAt: bigint,
    paidAt: maybeAt,
  },
  uniques: [{ columns: ['providerRef'] }],
  indices: [{ columns: ['accountId'] }],
  foreignKeys: [ofAccount],
});

export async function insertCheckout(tx: Tx, row: CheckoutRow): Promise<void> {
  await tx.manager.insert(checkouts, row);
}

export async function getCheckout(db: Sql, id: string): Promise<CheckoutRow | undefined> {
  const [row] = await db.query<CheckoutRow>('SELECT * FROM "checkouts" WHERE "id" = $1', [id]);
  return row;
}

/** Counts the checkouts that an account has opened since an instant, except those that the provider refused. */
export async function countCheckouts(db: Sql, accountId: string, since: number): Promise<number> {
  const sql = `SELECT COUNT(*) AS "count" FROM "checkouts" WHERE "accountId" = $1 AND "createdAt" >= $2
    AND NOT ("state" = 'expired' AND "providerRef" IS NULL AND "provider" <> 'test')`;
  return countOf(db, sql, [accountId, since]);
}

/** Stores the provider's id of a checkout that has none yet. */
export async function nameCheckout(tx: Tx, id: string, providerRef: string): Promise<void> {
  await tx.run('UPDATE "checkouts" SET "providerRef" = $1 WHERE "id" = $2 AND "providerRef" IS NULL', [
    providerRef,
    id,
  ]);
}

/** Marks a checkout paid. Returns false if it was already. */
export async function markCheckoutPaid(tx: Tx, id: string, at: number): Promise<boolean> {
  const sql = `UPDATE "checkouts" SET "state" = 'paid', "paidAt" = $1 WHERE "id" = $2 AND "state" <> 'paid'`;
  return (await tx.run(sql, [at, id])) === 1;
}

/** Marks an open checkout expired. Returns false if it was not open. */
export async function markCheckoutExpired(tx: Tx, id: string): Promise<boolean> {
  const sql = `UPDATE "checkouts" SET "state" = 'expired' WHERE "id" = $1 AND "state" = 'open'`;
  return (await tx.run(sql, [id])) === 1;
}
