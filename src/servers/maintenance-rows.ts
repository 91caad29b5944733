import { EntitySchema } from 'typeorm';
import { id, ofServer, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** The current (`maintaining`) or queued job of a server's machine, and its progress. */
export interface MaintenanceRow {
  serverId: string;
  jobId: string;
  kind: string;
  target: string;
  /** The last completed step; '' before the first. */
  step: string;
}

export const maintenance = new EntitySchema<MaintenanceRow>({
  name: 'maintenance',
  columns: { serverId: id, jobId: text, kind: text, target: text, step: text },
  foreignKeys: [ofServer],
});

/**
 * Sets a server's job before its first step; null removes it. Call it in the write of the snapshot that names the job.
 */
export async function setMaintenance(
  tx: Tx,
  serverId: string,
  job: { id: string; kind: string; target: string } | null,
): Promise<void> {
  await tx.run('DELETE FROM "maintenance" WHERE "serverId" = $1', [serverId]);
  if (job === null) return;
  const insert = `INSERT INTO "maintenance" ("serverId", "jobId", "kind", "target", "step") VALUES ($1, $2, $3, $4, '')`;
  await tx.run(insert, [serverId, job.id, job.kind, job.target]);
}

export async function getMaintenance(db: Sql, serverId: string): Promise<MaintenanceRow | undefined> {
  const rows = await db.query<MaintenanceRow>('SELECT * FROM "maintenance" WHERE "serverId" = $1', [serverId]);
  return rows[0];
}

/** Returns the ids of all servers with a job. */
export async function listServersWithJob(db: Sql): Promise<string[]> {
  const rows = await db.query<{ serverId: string }>('SELECT "serverId" FROM "maintenance"');
  return rows.map(({ serverId }) => serverId);
}

/** Records a step as completed, for this job only. */
export async function noteStep(tx: Tx, jobId: string, step: string): Promise<void> {
  await tx.run('UPDATE "maintenance" SET "step" = $1 WHERE "jobId" = $2', [step, jobId]);
}
