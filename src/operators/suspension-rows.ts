import { EntitySchema } from 'typeorm';
import { exact } from '../store/exact.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** An operator's suspension, which keeps a server from waking. */
export interface SuspensionRow {
  serverId: string;
  /** Shown to its owner. */
  reason: string;
  /** The operator's user id. */
  userId: string;
  at: number;
}

export const suspensions = new EntitySchema<SuspensionRow>({
  name: 'suspensions',
  columns: {
    serverId: { type: 'text', primary: true },
    reason: { type: 'text' },
    userId: { type: 'text' },
    at: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
  },
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
});

export async function listSuspensions(db: Sql): Promise<SuspensionRow[]> {
  return db.query<SuspensionRow>('SELECT * FROM "suspensions"');
}

/** Replaces an earlier suspension of the server. */
export async function saveSuspension(tx: Tx, row: SuspensionRow): Promise<void> {
  await deleteSuspension(tx, row.serverId);
  await tx.manager.insert(suspensions, row);
}

/** Deletes a suspension; false if there was none. */
export async function deleteSuspension(tx: Tx, serverId: string): Promise<boolean> {
  return (await tx.run('DELETE FROM "suspensions" WHERE "serverId" = $1', [serverId])) > 0;
}
