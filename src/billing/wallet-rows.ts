import { EntitySchema } from 'typeorm';
import { bigint, id, ofAccount, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** An account's balance and its spend cap. */
export interface WalletRow {
  accountId: string;
  /** Always the sum of the account's ledger. */
  balanceMicros: number;
  /** Per calendar month (UTC); 0: no cap. */
  spendCapMicros: number;
  spendCapAction: SpendCapAction;
  /** The month that `spentMicros` counts, as `2026-11`; '' before any spending. */
  spentMonth: string;
  spentMicros: number;
  /** The last month in which owners were notified of the cap; '' if never. */
  capNotifiedMonth: string;
  createdAt: number;
}

/** The action when the spend cap is reached. */
export type SpendCapAction = 'notify' | 'stop';

export const wallets = new EntitySchema<WalletRow>({
  name: 'wallets',
  columns: {
    accountId: id,
    balanceMicros: bigint,
    spendCapMicros: bigint,
    spendCapAction: text,
    spentMonth: text,
    spentMicros: bigint,
    capNotifiedMonth: text,
    createdAt: bigint,
  },
  foreignKeys: [ofAccount],
});

/** Returns undefined for an account that never had money. */
export async function getWallet(db: Sql, accountId: string): Promise<WalletRow | undefined> {
  const [row] = await db.query<WalletRow>('SELECT * FROM "wallets" WHERE "accountId" = $1', [accountId]);
  return row;
}

/** Creates an empty wallet. Returns false if there is one. */
export async function insertWallet(tx: Tx, accountId: string, createdAt: number): Promise<boolean> {
  const sql = `INSERT INTO "wallets" ("accountId", "balanceMicros", "spendCapMicros", "spendCapAction", "spentMonth",
      "spentMicros", "capNotifiedMonth", "createdAt")
    VALUES ($1, 0, 0, 'notify', '', 0, '', $2) ON CONFLICT ("accountId") DO NOTHING`;
  return (await tx.run(sql, [accountId, createdAt])) === 1;
}

/** Adds to the balance. Must be called together with the ledger entry that explains it. */
export async function addToBalance(tx: Tx, accountId: string, amountMicros: number): Promise<void> {
  const sql = 'UPDATE "wallets" SET "balanceMicros" = "balanceMicros" + $1 WHERE "accountId" = $2';
  await tx.run(sql, [amountMicros, accountId]);
}

/**
 * Counts spending in a month (`2026-11`) against the spend cap. A clock set back to an earlier month does not reset the
 * count.
 */
export async function addToSpent(tx: Tx, accountId: string, month: string, micros: number): Promise<void> {
  const sql = `UPDATE "wallets" SET "spentMonth" = CASE WHEN "spentMonth" >= $1 THEN "spentMonth" ELSE $1 END,
      "spentMicros" = CASE WHEN "spentMonth" >= $1 THEN "spentMicros" ELSE 0 END + $2
    WHERE "accountId" = $3`;
  await tx.run(sql, [month, micros, accountId]);
}

/** Sets the cap. Owners will be notified again when it is reached. */
export async function setSpendCap(tx: Tx, accountId: string, micros: number, action: SpendCapAction): Promise<void> {
  const sql = `UPDATE "wallets" SET "spendCapMicros" = $1, "spendCapAction" = $2, "capNotifiedMonth" = ''
    WHERE "accountId" = $3`;
  await tx.run(sql, [micros, action, accountId]);
}

/** Returns false if owners were already notified this month. */
export async function markCapNotified(tx: Tx, accountId: string, month: string): Promise<boolean> {
  const sql = 'UPDATE "wallets" SET "capNotifiedMonth" = $1 WHERE "accountId" = $2 AND "capNotifiedMonth" <> $1';
  return (await tx.run(sql, [month, accountId])) === 1;
}

/** A wallet that is empty or at its cap. `metered` is 0 if none of its awake servers is charged by the minute. */
type SpentWallet = WalletRow & { metered: number };

/** Returns the wallets that are empty, or at their cap in `month`, while servers of theirs are awake. */
export async function listSpentWallets(db: Sql, month: string): Promise<SpentWallet[]> {
  const sql = `SELECT w.*, s."metered" FROM "wallets" w JOIN
      (SELECT "accountId" AS "payer", MAX(CASE WHEN "rateMicros" > 0 THEN 1 ELSE 0 END) AS "metered"
       FROM "awake_sessions" WHERE "endedAt" IS NULL GROUP BY "accountId") s ON s."payer" = w."accountId"
    WHERE "balanceMicros" <= 0 OR ("spendCapMicros" > 0 AND "spentMonth" >= $1 AND "spentMicros" >= "spendCapMicros")`;
  return db.query<SpentWallet>(sql, [month]);
}

/** An account whose wallet differs from the sum of its ledger. */
export interface Unbalanced {
  accountId: string;
  balanceMicros: number;
  ledgerMicros: number;
}

/** Returns the wallets that differ from their ledger: none, unless the database was changed by hand. */
export async function listUnbalanced(db: Sql): Promise<Unbalanced[]> {
  // Sums by account first, so that an account without a wallet is included.
  return db.query(
    `SELECT a."id" AS "accountId", COALESCE(w."balanceMicros", 0) AS "balanceMicros",
       CAST(COALESCE(l."sum", 0) AS bigint) AS "ledgerMicros"
     FROM "accounts" a
       LEFT JOIN "wallets" w ON w."accountId" = a."id"
       LEFT JOIN (SELECT "accountId", SUM("amountMicros") AS "sum" FROM "ledger" GROUP BY "accountId") l
         ON l."accountId" = a."id"
     WHERE COALESCE(w."balanceMicros", 0) <> COALESCE(l."sum", 0) ORDER BY a."id"`,
  );
}
