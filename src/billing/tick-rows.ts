import { EntitySchema } from 'typeorm';
import { bigint, id, integer } from '../store/columns.ts';
import type { Tx } from '../store/writer.ts';

/** One charged minute: the n-th of its session. */
export interface TickRow {
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

const HOUR = `(t."n" - 1) / 60`;

/** What a tick of session `s` comes to, before the part of a micro is set aside. */
const NUMERATOR = `s."remainder" + s."rateMicros" * s."ramMb"`;

/** Charged by the statement before, not yet counted in the session. */
const CHARGED = `"awake_sessions" s JOIN "ticks" t
  ON t."serverId" = s."serverId" AND t."sessionId" = s."id" AND t."n" = s."ticks" + 1`;

/**
 * Charges the next due tick of every session, or of one, in the caller's write: tick key, ledger, wallet and session move
 * together. A tick is due when the n-th full minute of the session is proven; it waits while the session may still be a false
 * wake, and while its wallet is empty, so that no wallet falls below zero by more than one tick. Gives the number charged;
 * behind an outage there may be more to charge.
 */
export async function chargeNext(tx: Tx, at: number, month: string, session?: string): Promise<number> {
  const one = session === undefined ? '' : ` AND s."id" = $2`;
  const given = session === undefined ? [] : [session];
  const open = session === undefined ? ` AND s."endedAt" IS NULL` : one;
  const charged = await tx.run(
    `INSERT INTO "ticks" ("at", "serverId", "sessionId", "n", "ramMb", "rateMicros", "amountMicros")
     SELECT $1, d."serverId", d."id", d."ticks" + 1, d."ramMb", d."rateMicros", d."amount"
     FROM (SELECT s."serverId", s."id", s."ticks", s."ramMb", s."rateMicros", (${NUMERATOR}) / 61440 AS "amount",
         w."balanceMicros", SUM((${NUMERATOR}) / 61440) OVER
           (PARTITION BY s."accountId" ORDER BY s."id" ROWS UNBOUNDED PRECEDING) AS "sum"
       FROM "awake_sessions" s JOIN "wallets" w ON w."accountId" = s."accountId"
       WHERE s."endedAt" IS NULL AND s."readyAt" IS NOT NULL AND s."billable" = 1 AND s."rateMicros" > 0
         AND (s."ticks" + 1) * 60000 <= s."awakeMs"${one}) d
     WHERE d."balanceMicros" - d."sum" + d."amount" > 0`,
    [at, ...given],
  );
  if (charged === 0) return 0;
  await tx.run(
    `INSERT INTO "ledger" ("ts", "id", "accountId", "serverId", "kind", "amountMicros", "note", "ref", "closedAt")
     SELECT $1, (SELECT COALESCE(MAX("id"), 0) FROM "ledger") + ROW_NUMBER() OVER (ORDER BY s."id"), s."accountId",
       s."serverId", 'usage', 0, s."ramMb" || ' MB awake', s."id" || '/' || (${HOUR}), NULL
     FROM ${CHARGED} WHERE (t."n" - 1) % 60 = 0${open}`,
    [at, ...given],
  );
  await tx.run(
    `UPDATE "ledger" SET "amountMicros" = "amountMicros" - c."amount",
       "closedAt" = CASE WHEN c."n" % 60 = 0 THEN CAST($1 AS bigint) ELSE NULL END
     FROM (SELECT t."n" AS "n", t."amountMicros" AS "amount", s."id" || '/' || (${HOUR}) AS "entry"
       FROM ${CHARGED} WHERE TRUE${open}) c
     WHERE "kind" = 'usage' AND "ref" = c."entry"`,
    [at, ...given],
  );
  await tx.run(
    `UPDATE "wallets" SET "balanceMicros" = "balanceMicros" - c."amount",
       "spentMicros" = CASE WHEN "spentMonth" >= $1 THEN "spentMicros" ELSE 0 END + c."amount",
       "spentMonth" = CASE WHEN "spentMonth" >= $1 THEN "spentMonth" ELSE $1 END
     FROM (SELECT s."accountId" AS "payer", CAST(SUM(t."amountMicros") AS bigint) AS "amount"
       FROM ${CHARGED} WHERE TRUE${open} GROUP BY s."accountId") c
     WHERE "accountId" = c."payer"`,
    [month, ...given],
  );
  // The last one: until it has run, the new ticks are told by being one ahead of their session.
  await tx.run(
    `UPDATE "awake_sessions" SET "ticks" = c."n", "remainder" = c."rest",
       "amountMicros" = "awake_sessions"."amountMicros" + c."amount"
     FROM (SELECT s."id" AS "session", t."n" AS "n", t."amountMicros" AS "amount", (${NUMERATOR}) % 61440 AS "rest"
       FROM ${CHARGED} WHERE TRUE${open.replace('$2', '$1')}) c
     WHERE "id" = c."session"`,
    given,
  );
  return charged;
}

/**
 * Forgets keys of ticks whose ledger entry was closed before an instant: nothing can charge them again. At most `most` at
 * once, as every other write waits for this one; gives how many they were.
 */
export async function purgeTicks(tx: Tx, before: number, most: number): Promise<number> {
  return tx.run(
    `DELETE FROM "ticks" WHERE ("sessionId", "n") IN (SELECT t."sessionId", t."n" FROM "ticks" t WHERE t."at" < $1
       AND EXISTS (SELECT 1 FROM "ledger" l WHERE l."kind" = 'usage'
         AND l."ref" = t."sessionId" || '/' || ((t."n" - 1) / 60) AND l."closedAt" < $1) LIMIT $2)`,
    [before, most],
  );
}
