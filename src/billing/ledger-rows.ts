import { EntitySchema } from 'typeorm';
import { bigint, integer, maybeAt, ofAccount, text } from '../store/columns.ts';
import { sql, statement } from '../store/sql.ts';
import type { Sql, Tx } from '../store/writer.ts';
import { MINUTES_OF_ENTRY } from './rules.ts';

/**
 * A server in the books. Its creation time distinguishes it from an earlier one of the same name, which may have
 * belonged to another account.
 */
export interface UsedServer {
  id: string;
  accountId: string;
  createdAt: number;
}

/** `usage` (metered plan) and `flat` (a period of the flat plan) are spent; the others are credits or corrections. */
export type LedgerKind = 'usage' | 'flat' | 'topup' | 'credit' | 'refund' | 'adjustment';

/** A movement of money. Immutable once closed; corrections are new entries. */
export interface LedgerRow {
  /** Ascending in time. */
  id: number;
  accountId: string;
  /** '' if it concerns no server. */
  serverId: string;
  kind: LedgerKind;
  /** Negative if spent. */
  amountMicros: number;
  note: string;
  /** Its subject, unique within the kind. */
  ref: string;
  /** The awake session of a usage entry; otherwise ''. */
  sessionId: string;
  /** The hour of the session that a usage entry covers, numbered from 0; otherwise 0. */
  sessionHour: number;
  ts: number;
  /** Null while a usage entry is still growing. */
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
    sessionId: text,
    sessionHour: integer,
    ts: bigint,
    closedAt: maybeAt,
  },
  uniques: [{ columns: ['kind', 'ref'] }],
  indices: [{ columns: ['accountId', 'id'] }, { columns: ['serverId', 'ts'] }],
  foreignKeys: [ofAccount],
});

/** Appends an entry other than usage. Returns false, without a change, if an entry of this kind has the same `ref`. */
export async function insertEntry(
  tx: Tx,
  entry: Omit<LedgerRow, 'id' | 'sessionId' | 'sessionHour'>,
): Promise<boolean> {
  const { accountId, serverId, kind, amountMicros, note, ref, ts, closedAt } = entry;
  // There is only one writer at a time, so the highest id plus one is free. Sequences differ between databases.
  const sql = `INSERT INTO "ledger"
      ("id", "accountId", "serverId", "kind", "amountMicros", "note", "ref", "sessionId", "sessionHour", "ts", "closedAt")
    VALUES ((SELECT COALESCE(MAX("id"), 0) + 1 FROM "ledger"), $1, $2, $3, $4, $5, $6, '', 0, $7, $8)
    ON CONFLICT ("kind", "ref") DO NOTHING`;
  return (await tx.run(sql, [accountId, serverId, kind, amountMicros, note, ref, ts, closedAt])) === 1;
}

/** Returns an account's entries, newest first, from before the entry `before`. */
export async function listLedger(
  db: Sql,
  accountId: string,
  limit: number,
  before = Number.MAX_SAFE_INTEGER,
): Promise<LedgerRow[]> {
  const sql = 'SELECT * FROM "ledger" WHERE "accountId" = $1 AND "id" < $2 ORDER BY "id" DESC LIMIT $3';
  return db.query<LedgerRow>(sql, [accountId, before, limit]);
}

/** Returns the sum of refunds whose references have a prefix. */
export async function refundedMicros(db: Sql, accountId: string, refPrefix: string): Promise<number> {
  const sql = `SELECT CAST(COALESCE(SUM(-"amountMicros"), 0) AS bigint) AS "sum" FROM "ledger"
    WHERE "accountId" = $1 AND "kind" = 'refund' AND SUBSTR("ref", 1, LENGTH($2)) = $2`;
  const [row] = await db.query<{ sum: number }>(sql, [accountId, refPrefix]);
  return row?.sum ?? 0;
}

/** Returns the newest entry for a flat period of a server; undefined if absent. */
export async function lastFlatEntry(db: Sql, server: UsedServer): Promise<LedgerRow | undefined> {
  // The prefix contains the creation time, which distinguishes an earlier server of the same name. The account is
  // compared, too, because the clock may have been set back, and the earlier server may have belonged to another
  // account.
  const sql = `SELECT * FROM "ledger" WHERE "kind" = 'flat' AND "accountId" = $1 AND SUBSTR("ref", 1, LENGTH($2)) = $2
    ORDER BY "id" DESC LIMIT 1`;
  const [row] = await db.query<LedgerRow>(sql, [server.accountId, flatRefOf(server)]);
  return row;
}

/** Returns the newest flat entry of each server id that the account has or has had. */
export async function listLastFlatEntries(db: Sql, accountId: string): Promise<LedgerRow[]> {
  const sql = `SELECT * FROM "ledger" WHERE "id" IN
    (SELECT MAX("id") FROM "ledger" WHERE "kind" = 'flat' AND "accountId" = $1 GROUP BY "serverId")`;
  return db.query<LedgerRow>(sql, [accountId]);
}

/** Returns the prefix of the `ref` of each flat entry of a server. */
export function flatRefOf({ id, createdAt }: { id: string; createdAt: number }): string {
  return `${id}/${createdAt}/`;
}

/** A time span that includes `from` and excludes `to`. */
export interface Span {
  from: number;
  to: number;
}

/** Returns the sums of usage entries that began in a span: micros, and MB times minutes. */
export async function sumMetered(
  db: Sql,
  { id, accountId, createdAt }: UsedServer,
  { from, to }: Span,
): Promise<{ micros: number; mbMinutes: number }> {
  const part = sql`SELECT CAST(COALESCE(SUM(-l."amountMicros"), 0) AS bigint) AS "micros",
      CAST(COALESCE(SUM(s."ramMb" * ${MINUTES_OF_ENTRY}), 0) AS bigint) AS "mbMinutes"
    FROM "ledger" l JOIN "awake_sessions" s ON s."id" = l."sessionId"
    WHERE l."serverId" = ${id} AND l."ts" >= ${from} AND l."ts" < ${to} AND l."kind" = 'usage'
      AND l."accountId" = ${accountId} AND s."serverCreatedAt" = ${createdAt}`;
  const [row] = await db.query<{ micros: number; mbMinutes: number }>(...statement(part));
  return row ?? { micros: 0, mbMinutes: 0 };
}

/** Returns the charges for flat periods that began in a span. */
export async function sumFlat(db: Sql, server: UsedServer, { from, to }: Span): Promise<number> {
  const text = `SELECT CAST(COALESCE(SUM(-"amountMicros"), 0) AS bigint) AS "micros" FROM "ledger"
    WHERE "serverId" = $1 AND "ts" >= $2 AND "ts" < $3 AND "kind" = 'flat' AND "accountId" = $4
      AND SUBSTR("ref", 1, LENGTH($5)) = $5`;
  const [row] = await db.query<{ micros: number }>(text, [server.id, from, to, server.accountId, flatRefOf(server)]);
  return row?.micros ?? 0;
}

/** Returns the charges of each existing server of an account since an instant, without servers that have none. */
export async function spentByServer(
  db: Sql,
  accountId: string,
  from: number,
): Promise<{ serverId: string; spentMicros: number }[]> {
  const text = `SELECT s."id" AS "serverId", CAST(SUM(-l."amountMicros") AS bigint) AS "spentMicros"
    FROM "servers" s JOIN "ledger" l ON l."serverId" = s."id" AND l."ts" >= $1
    WHERE s."accountId" = $2 AND l."accountId" = s."accountId" AND l."ts" >= s."createdAt" AND l."kind" IN ('usage', 'flat')
    GROUP BY s."id" ORDER BY s."id"`;
  return db.query(text, [from, accountId]);
}
