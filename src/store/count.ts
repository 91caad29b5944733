import type { Sql } from './writer.ts';

/** Returns a query's `"count"`. PostgreSQL counts in int8, which its driver may return as text. */
export async function countOf(db: Sql, query: string, parameters: unknown[] = []): Promise<number> {
  const [row] = await db.query<{ count: number | string }>(query, parameters);
  return Number(row?.count ?? 0);
}
