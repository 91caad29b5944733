import type { Sql } from './writer.ts';

/** What a query counts as `"count"`. PostgreSQL counts in int8, which its driver may give as text. */
export async function countOf(db: Sql, query: string, parameters: unknown[] = []): Promise<number> {
  const [row] = await db.query<{ count: number | string }>(query, parameters);
  return Number(row?.count ?? 0);
}
