import { EntitySchema } from 'typeorm';
import { bigint, maybeAt, ofAccount, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** `usage` of the metered plan and `flat` for a period of the other are spent; the others are given or corrected. */
export type LedgerKind = 'usage' | 'flat' | 'topup' | 'credit' | 'refund' | 'adjustment';

/** One movement of money. Never changes once closed; corrections are new entries. */
export interface LedgerRow {
  /** Grows with time. */
  id: number;
  accountId: string;
  /** '' where it is not about a server. */
  serverId: string;
  kind: LedgerKind;
  /** Negative where it is spent. */
  amountMicros: number;
  note: string;
  /** The subject, unique within its kind. */
  ref: string;
  ts: number;
  /** Null while a usage entry still grows. */
  closedAt: number | null;
}

export const ledger = new EntitySchema<LedgerRow>({
  name: 'ledger',
  columns: {
    id: { ...bigint, primary: true },
    accountId: text,
    serverId: text,
    kind: text,
    amountMicros: bigint,
    note: text,
    ref: text,
    ts: bigint,
    closedAt: maybeAt,
  },
  uniques: [{ columns: ['kind', 'ref'] }],
  indices: [{ columns: ['accountId', 'id'] }, { columns: ['serverId', 'ts'] }],
  foreignKeys: [ofAccount],
});

/** Appends an entry; false, and nothing has changed, where one of its kind has the same `ref`. */
export async function insertEntry(tx: Tx, entry: Omit<LedgerRow, 'id'>): Promise<boolean> {
  const { accountId, serverId, kind, amountMicros, note, ref, ts, closedAt } = entry;
  // There is one writer at a time, so the next number is the highest and one; no two databases agree on sequences.
  const sql = `INSERT INTO "ledger"
      ("id", "accountId", "serverId", "kind", "amountMicros", "note", "ref", "ts", "closedAt")
    VALUES ((SELECT COALESCE(MAX("id"), 0) + 1 FROM "ledger"), $1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT ("kind", "ref") DO NOTHING`;
  return (await tx.run(sql, [accountId, serverId, kind, amountMicros, note, ref, ts, closedAt])) === 1;
}

/** An account's entries, newest first; those before the entry `before`. */
export async function listLedger(
  db: Sql,
  accountId: string,
  limit: number,
  before = Number.MAX_SAFE_INTEGER,
): Promise<LedgerRow[]> {
  const sql = 'SELECT * FROM "ledger" WHERE "accountId" = $1 AND "id" < $2 ORDER BY "id" DESC LIMIT $3';
  return db.query<LedgerRow>(sql, [accountId, before, limit]);
}

/** How much has been refunded under references that begin so. */
export async function refundedMicros(db: Sql, accountId: string, refPrefix: string): Promise<number> {
  const sql = `SELECT CAST(COALESCE(SUM(-"amountMicros"), 0) AS bigint) AS "sum" FROM "ledger"
    WHERE "accountId" = $1 AND "kind" = 'refund' AND SUBSTR("ref", 1, LENGTH($2)) = $2`;
  const [row] = await db.query<{ sum: number }>(sql, [accountId, refPrefix]);
  return row?.sum ?? 0;
}

/** Returns the newest entry for a flat period of a server; undefined without one. */
export async function lastFlatEntry(
  db: Sql,
  server: { id: string; accountId: string; createdAt: number },
): Promise<LedgerRow | undefined> {
  // A server of the same name may have been there before, even somebody else's. The clock, which may have been set back since
  // it was created, does not tell them apart.
  const sql = `SELECT * FROM "ledger" WHERE "kind" = 'flat' AND "accountId" = $1 AND SUBSTR("ref", 1, LENGTH($2)) = $2
    ORDER BY "id" DESC LIMIT 1`;
  const [row] = await db.query<LedgerRow>(sql, [server.accountId, flatRefOf(server)]);
  return row;
}

/** The newest entry for a flat period of each id that a server of the account has, or once had. */
export async function listLastFlatEntries(db: Sql, accountId: string): Promise<LedgerRow[]> {
  const sql = `SELECT * FROM "ledger" WHERE "id" IN
    (SELECT MAX("id") FROM "ledger" WHERE "kind" = 'flat' AND "accountId" = $1 GROUP BY "serverId")`;
  return db.query<LedgerRow>(sql, [accountId]);
}

/** How the `ref` of each flat entry of a server begins. */
export function flatRefOf({ id, createdAt }: { id: string; createdAt: number }): string {
  return `${id}/${createdAt}/`;
}
