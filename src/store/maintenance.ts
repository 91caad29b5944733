import type { MaintenanceRow } from './backups-table.ts';
import type { Sql, Tx } from './writer.ts';

/** Sets the job of a server, before its first step; null: it has none. In the write of the snapshot that says so. */
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

/** Notes a step as done for good, of this job and no later one. */
export async function noteStep(tx: Tx, jobId: string, step: string): Promise<void> {
  await tx.run('UPDATE "maintenance" SET "step" = $1 WHERE "jobId" = $2', [step, jobId]);
}
