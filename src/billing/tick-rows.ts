import { EntitySchema } from 'typeorm';
import { bigint, id, integer } from '../store/columns.ts';
import { type SqlPart, sql, statement } from '../store/sql.ts';
import type { Sql, Tx } from '../store/writer.ts';
import {
  CARRIED_ON,
  IS_COVERED,
  IS_DUE,
  TICK_PRICE,
  closesEntry,
  entryRef,
  hourOf,
  opensEntry,
  spentIn,
} from './rules.ts';

/** A charged minute: the n-th of its session. */
interface TickRow {
  serverId: string;
  sessionId: string;
  n: number;
  ramMb: number;
  rateMicros: number;
  amountMicros: number;
  at: number;
}

export const ticks = new EntitySchema<TickRow>({
  name: 'ticks',
  columns: {
    serverId: id,
    sessionId: id,
    n: { ...integer, primary: true },
    ramMb: integer,
    rateMicros: bigint,
    amountMicros: bigint,
    at: bigint,
  },
  indices: [{ columns: ['at'] }],
});

/** Ticks charged by the previous statement and not yet counted in their session. */
const CHARGED = sql`"awake_sessions" s JOIN "ticks" t
  ON t."serverId" = s."serverId" AND t."sessionId" = s."id" AND t."n" = s."ticks" + 1`;
const SESSION = sql`s."id"`;
const N = sql`t."n"`;

/**
 * Charges the next due tick of every session, or of one, in the caller's write. Tick key, ledger, wallet and session
 * change together. The rules are `IS_DUE`, `TICK_PRICE` and `IS_COVERED`. Returns the number of charged ticks; after an
 * outage, more may be due.
 */
export async function chargeNext(tx: Tx, at: number, month: string, session?: string): Promise<number> {
  const one = session === undefined ? sql`` : sql` AND s."id" = ${session}`;
  const open = session === undefined ? sql` AND s."endedAt" IS NULL` : one;
  const run = (part: SqlPart) => tx.run(...statement(part));
  const charged = await run(
    sql`INSERT INTO "ticks" ("at", "serverId", "sessionId", "n", "ramMb", "rateMicros", "amountMicros")
     SELECT ${at}, d."serverId", d."id", d."ticks" + 1, d."ramMb", d."rateMicros", d."amount"
     FROM (SELECT s."serverId", s."id", s."ticks", s."ramMb", s."rateMicros", ${TICK_PRICE} AS "amount",
         w."balanceMicros", w."spendCapMicros", w."spendCapAction", ${spentIn(month)} AS "spent", SUM(${TICK_PRICE}) OVER
           (PARTITION BY s."accountId" ORDER BY s."id" ROWS UNBOUNDED PRECEDING) AS "sum"
       FROM "awake_sessions" s JOIN "wallets" w ON w."accountId" = s."accountId"
       WHERE ${IS_DUE}${one}) d
     WHERE ${IS_COVERED}`,
  );
  if (charged === 0) return 0;
  await run(
    sql`INSERT INTO "ledger" ("ts", "id", "accountId", "serverId", "kind", "amountMicros", "note", "ref",
       "sessionId", "sessionHour", "closedAt")
     SELECT ${at}, (SELECT COALESCE(MAX("id"), 0) FROM "ledger") + ROW_NUMBER() OVER (ORDER BY s."id"), s."accountId",
       s."serverId", 'usage', 0, s."ramMb" || ' MB awake', ${entryRef(SESSION, N)}, s."id",
       CAST(${hourOf(N)} AS integer), NULL
     FROM ${CHARGED} WHERE ${opensEntry(N)}${open}`,
  );
  await run(
    sql`UPDATE "ledger" SET "amountMicros" = "amountMicros" - c."amount",
       "closedAt" = CASE WHEN ${closesEntry(sql`c."n"`)} THEN CAST(${at} AS bigint) ELSE NULL END
     FROM (SELECT t."n" AS "n", t."amountMicros" AS "amount", ${entryRef(SESSION, N)} AS "entry"
       FROM ${CHARGED} WHERE TRUE${open}) c
     WHERE "kind" = 'usage' AND "ref" = c."entry"`,
  );
  await run(
    sql`UPDATE "wallets" SET "balanceMicros" = "balanceMicros" - c."amount",
       "spentMicros" = CASE WHEN "spentMonth" >= ${month} THEN "spentMicros" ELSE 0 END + c."amount",
       "spentMonth" = CASE WHEN "spentMonth" >= ${month} THEN "spentMonth" ELSE ${month} END
     FROM (SELECT s."accountId" AS "payer", CAST(SUM(t."amountMicros") AS bigint) AS "amount"
       FROM ${CHARGED} WHERE TRUE${open} GROUP BY s."accountId") c
     WHERE "accountId" = c."payer"`,
  );
  // Runs last: until then, new ticks are recognised because they are one ahead of their session.
  await run(
    sql`UPDATE "awake_sessions" SET "ticks" = c."n", "remainder" = c."rest",
       "amountMicros" = "awake_sessions"."amountMicros" + c."amount"
     FROM (SELECT s."id" AS "session", t."n" AS "n", t."amountMicros" AS "amount", ${CARRIED_ON} AS "rest"
       FROM ${CHARGED} WHERE TRUE${open}) c
     WHERE "id" = c."session"`,
  );
  return charged;
}

/**
 * Deletes keys of ticks whose ledger entry was closed before an instant, because those cannot be charged again. Deletes
 * at most `most`, because all other writes wait for this one. Returns the number deleted.
 */
export async function purgeTicks(tx: Tx, before: number, most: number): Promise<number> {
  const part = sql`DELETE FROM "ticks" WHERE ("sessionId", "n") IN (SELECT t."sessionId", t."n" FROM "ticks" t
     WHERE t."at" < ${before} AND EXISTS (SELECT 1 FROM "ledger" l WHERE l."kind" = 'usage'
       AND l."ref" = ${entryRef(sql`t."sessionId"`, N)} AND l."closedAt" < ${before}) LIMIT ${most})`;
  return tx.run(...statement(part));
}

/** Returns the number and cost of the ticks charged after one instant, up to and including another. */
export async function sumTicks(db: Sql, after: number, until: number): Promise<{ ticks: number; micros: number }> {
  const sql = `SELECT COUNT(*) AS "ticks", CAST(COALESCE(SUM("amountMicros"), 0) AS bigint) AS "micros"
    FROM "ticks" WHERE "at" > $1 AND "at" <= $2`;
  const [row] = await db.query<{ ticks: number; micros: number }>(sql, [after, until]);
  return row ?? { ticks: 0, micros: 0 };
}
