import type { Sql } from '../store/writer.ts';
import type { AwakeSessionRow } from './session-rows.ts';

/** Whose usage; its birth tells it from an earlier server of the same name, which may have been somebody else's. */
export interface UsedServer {
  id: string;
  accountId: string;
  createdAt: number;
}

/** From an instant on, up to another and without it. */
export interface Span {
  from: number;
  to: number;
}

/** A usage entry's `ref` is its session, and the how-many-eth hour of it. */
const SESSION = `RTRIM(RTRIM(l."ref", '0123456789'), '/')`;
const MINUTES = `(s."ticks" - 60 * CAST(SUBSTR(l."ref", LENGTH(s."id") + 2) AS bigint))`;

/** What the usage entries that began in a span come to: micros, and MB times minutes. */
export async function sumMetered(
  db: Sql,
  { id, accountId, createdAt }: UsedServer,
  { from, to }: Span,
): Promise<{ micros: number; mbMinutes: number }> {
  const sql = `SELECT CAST(COALESCE(SUM(-l."amountMicros"), 0) AS bigint) AS "micros",
      CAST(COALESCE(SUM(s."ramMb" * CASE WHEN ${MINUTES} > 60 THEN 60 ELSE ${MINUTES} END), 0) AS bigint) AS "mbMinutes"
    FROM "ledger" l JOIN "awake_sessions" s ON s."id" = ${SESSION}
    WHERE l."serverId" = $1 AND l."ts" >= $2 AND l."ts" < $3 AND l."kind" = 'usage' AND l."accountId" = $4
      AND s."serverCreatedAt" = $5`;
  const [row] = await db.query<{ micros: number; mbMinutes: number }>(sql, [id, from, to, accountId, createdAt]);
  return row ?? { micros: 0, mbMinutes: 0 };
}

/** What was charged in a span for periods of the flat plan. */
export async function sumFlat(db: Sql, { id, accountId, createdAt }: UsedServer, { from, to }: Span): Promise<number> {
  const sql = `SELECT CAST(COALESCE(SUM(-"amountMicros"), 0) AS bigint) AS "micros" FROM "ledger"
    WHERE "serverId" = $1 AND "ts" >= $2 AND "ts" < $3 AND "kind" = 'flat' AND "accountId" = $4
      AND SUBSTR("ref", 1, LENGTH($5)) = $5`;
  const [row] = await db.query<{ micros: number }>(sql, [id, from, to, accountId, `${id}/${createdAt}/`]);
  return row?.micros ?? 0;
}

export type FlatRun = Pick<AwakeSessionRow, 'ramMb' | 'readyAt' | 'endedAt' | 'awakeMs'>;

/** When the server was up on the flat plan, as far as that touches a span. */
export async function listFlatRuns(
  db: Sql,
  { id, accountId, createdAt }: UsedServer,
  { from, to }: Span,
): Promise<FlatRun[]> {
  const sql = `SELECT "ramMb", "readyAt", "endedAt", "awakeMs" FROM "awake_sessions"
    WHERE "serverId" = $1 AND "startedAt" < $2 AND ("endedAt" IS NULL OR "endedAt" >= $3) AND "accountId" = $4
      AND "serverCreatedAt" = $5 AND "plan" = 'flat' AND "readyAt" IS NOT NULL`;
  return db.query<FlatRun>(sql, [id, to, from, accountId, createdAt]);
}
