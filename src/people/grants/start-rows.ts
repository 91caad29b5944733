import { EntitySchema } from 'typeorm';
import { bigint, id } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';

/** One accepted start of a device grant by an address; the limit per hour counts them. */
export interface GrantStartRow {
  address: string;
  at: number;
  /** Distinguishes starts of the same millisecond. */
  nth: number;
}

export const grantStarts = new EntitySchema<GrantStartRow>({
  name: 'grant_starts',
  columns: { address: id, at: { ...bigint, primary: true }, nth: { ...bigint, primary: true } },
  indices: [{ columns: ['at'] }],
});

/** Returns the instants of an address's starts since an instant, oldest first. */
export async function listGrantStarts(db: Sql, address: string, since: number): Promise<number[]> {
  const sql = 'SELECT "at" FROM "grant_starts" WHERE "address" = $1 AND "at" > $2 ORDER BY "at"';
  return (await db.query<{ at: number }>(sql, [address, since])).map(({ at }) => at);
}

/** Adds a start. `nth` distinguishes starts of the same address and millisecond. */
export async function insertGrantStart(tx: Tx, address: string, at: number, nth: number): Promise<void> {
  await tx.manager.insert(grantStarts, { address, at, nth });
}

/** Deletes up to `limit` starts up to an instant, oldest first. */
export async function pruneGrantStarts(tx: Tx, until: number, limit: number): Promise<void> {
  const sql = 'SELECT "at" FROM "grant_starts" WHERE "at" <= $1 ORDER BY "at" LIMIT 1 OFFSET $2';
  const [last] = await tx.query<{ at: number }>(sql, [until, limit]);
  await tx.run('DELETE FROM "grant_starts" WHERE "at" <= $1', [Math.min(until, last?.at ?? until)]);
}

/** Keeps the newest `count` starts of all addresses, and those of the same instant as the oldest of them. */
export async function keepNewestGrantStarts(tx: Tx, count: number): Promise<void> {
  const sql = 'SELECT "at" FROM "grant_starts" ORDER BY "at" DESC LIMIT 1 OFFSET $1';
  const [oldest] = await tx.query<{ at: number }>(sql, [count - 1]);
  if (oldest) await tx.run('DELETE FROM "grant_starts" WHERE "at" < $1', [oldest.at]);
}
