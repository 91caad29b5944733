import type { Sql } from '../store/writer.ts';

/** Returns the number of servers in each stored state. */
export async function countServersByState(db: Sql): Promise<{ state: string; count: number }[]> {
  return db.query('SELECT "state", COUNT(*) AS "count" FROM "servers" GROUP BY "state"');
}

/** Returns the number and cost of the ticks charged after one instant, up to and including another. */
export async function sumTicks(db: Sql, after: number, until: number): Promise<{ ticks: number; micros: number }> {
  const sql = `SELECT COUNT(*) AS "ticks", CAST(COALESCE(SUM("amountMicros"), 0) AS bigint) AS "micros"
    FROM "ticks" WHERE "at" > $1 AND "at" <= $2`;
  const [row] = await db.query<{ ticks: number; micros: number }>(sql, [after, until]);
  return row ?? { ticks: 0, micros: 0 };
}
