import { sql, statement } from '../store/sql.ts';
import type { Sql } from '../store/writer.ts';
import { MINUTES_OF_ENTRY, SESSION_OF_ENTRY } from './rules.ts';
import type { AwakeSessionRow } from './awake-session-rows.ts';

/**
 * The server of a usage report. Its creation time distinguishes it from an earlier one of the same name, which may have
 * belonged to another account.
 */
export interface UsedServer {
  id: string;
  accountId: string;
  createdAt: number;
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
    FROM "ledger" l JOIN "awake_sessions" s ON s."id" = ${SESSION_OF_ENTRY}
    WHERE l."serverId" = ${id} AND l."ts" >= ${from} AND l."ts" < ${to} AND l."kind" = 'usage'
      AND l."accountId" = ${accountId} AND s."serverCreatedAt" = ${createdAt}`;
  const [row] = await db.query<{ micros: number; mbMinutes: number }>(...statement(part));
  return row ?? { micros: 0, mbMinutes: 0 };
}

/** Returns the charges for flat periods that began in a span. */
export async function sumFlat(db: Sql, { id, accountId, createdAt }: UsedServer, { from, to }: Span): Promise<number> {
  const text = `SELECT CAST(COALESCE(SUM(-"amountMicros"), 0) AS bigint) AS "micros" FROM "ledger"
    WHERE "serverId" = $1 AND "ts" >= $2 AND "ts" < $3 AND "kind" = 'flat' AND "accountId" = $4
      AND SUBSTR("ref", 1, LENGTH($5)) = $5`;
  const [row] = await db.query<{ micros: number }>(text, [id, from, to, accountId, `${id}/${createdAt}/`]);
  return row?.micros ?? 0;
}

export type FlatRun = Pick<AwakeSessionRow, 'ramMb' | 'readyAt' | 'endedAt' | 'awakeMs'>;

/** Returns the times within a span when the server was up on the flat plan. */
export async function listFlatRuns(
  db: Sql,
  { id, accountId, createdAt }: UsedServer,
  { from, to }: Span,
): Promise<FlatRun[]> {
  const text = `SELECT "ramMb", "readyAt", "endedAt", "awakeMs" FROM "awake_sessions"
    WHERE "serverId" = $1 AND "startedAt" < $2 AND ("endedAt" IS NULL OR "endedAt" >= $3) AND "accountId" = $4
      AND "serverCreatedAt" = $5 AND "plan" = 'flat' AND "readyAt" IS NOT NULL`;
  return db.query<FlatRun>(text, [id, to, from, accountId, createdAt]);
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
