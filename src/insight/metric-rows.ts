import { EntitySchema } from 'typeorm';
import { bigint, id, ofServer, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

interface MetricSampleRow {
  serverId: string;
  at: number;
  /** JSON text of `Figures` (metrics.ts). */
  figures: string;
}

export const metricSamples = new EntitySchema<MetricSampleRow>({
  name: 'metric_samples',
  columns: { serverId: id, at: { ...bigint, primary: true }, figures: text },
  indices: [{ columns: ['at'] }],
  foreignKeys: [ofServer],
});

/** The figures of one minute, in the order of storage. */
type Figures = readonly [
  cpuPercent: number,
  memUsedMb: number,
  memLimitMb: number,
  mspt: number,
  tps: number,
  players: number,
];

export interface StoredSample {
  at: number;
  figures: Figures;
}

/** Stores a minute of a server. Does nothing if the server is gone. */
export async function insertSample(tx: Tx, serverId: string, { at, figures }: StoredSample): Promise<void> {
  const sql = `INSERT INTO "metric_samples" ("serverId", "at", "figures")
    SELECT CAST($1 AS text), CAST($2 AS bigint), CAST($3 AS text)
    WHERE EXISTS (SELECT 1 FROM "servers" WHERE "id" = $1)`;
  await tx.run(sql, [serverId, at, JSON.stringify(figures)]);
}

/** Returns the newest samples since an instant, oldest first. */
export async function listSamples(db: Sql, serverId: string, since: number, limit: number): Promise<StoredSample[]> {
  const sql = `SELECT "at", "figures" FROM "metric_samples" WHERE "serverId" = $1 AND "at" >= $2
    ORDER BY "at" DESC LIMIT $3`;
  const rows = await db.query<{ at: number; figures: string }>(sql, [serverId, since, limit]);
  return rows.toReversed().map(({ at, figures }) => ({ at, figures: JSON.parse(figures) as Figures }));
}

export async function deleteSamplesBefore(tx: Tx, at: number): Promise<void> {
  await tx.run('DELETE FROM "metric_samples" WHERE "at" < $1', [at]);
}

/** Returns the time of the oldest sample of all servers; undefined if none is stored. */
export async function oldestSampleAt(db: Sql): Promise<number | undefined> {
  const [row] = await db.query<{ at: number | null }>('SELECT MIN("at") AS "at" FROM "metric_samples"');
  return row?.at ?? undefined;
}

/** Keeps only the first sample of each slot of time that a server has between two instants. */
export async function thinSamples(
  tx: Tx,
  { from, to, slotMs }: { from: number; to: number; slotMs: number },
): Promise<void> {
  const sql = `DELETE FROM "metric_samples" WHERE "at" >= $1 AND "at" < $2 AND EXISTS (SELECT 1 FROM "metric_samples" e
    WHERE e."serverId" = "metric_samples"."serverId" AND e."at" < "metric_samples"."at"
      AND e."at" >= "metric_samples"."at" - "metric_samples"."at" % $3)`;
  await tx.run(sql, [from, to, slotMs]);
}
