import { suspensions } from './suspensions-table.ts';
import type { SuspensionRow } from './suspensions-table.ts';
import type { Sql, Tx } from './writer.ts';

export async function listSuspensions(db: Sql): Promise<SuspensionRow[]> {
  return db.query<SuspensionRow>('SELECT * FROM "suspensions"');
}

/** Replaces an earlier suspension of the server. */
export async function saveSuspension(tx: Tx, row: SuspensionRow): Promise<void> {
  await deleteSuspension(tx, row.serverId);
  await tx.manager.insert(suspensions, row);
}

/** Gives whether there was one. */
export async function deleteSuspension(tx: Tx, serverId: string): Promise<boolean> {
  return (await tx.run('DELETE FROM "suspensions" WHERE "serverId" = $1', [serverId])) > 0;
}
