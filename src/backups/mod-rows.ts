import { EntitySchema } from 'typeorm';
import { type ServerModRow, listMods, replaceMods } from '../mods/rows.ts';
import { id, text } from '../store/columns.ts';
import type { Tx } from '../store/writer.ts';
import type { BackupRow } from './rows.ts';

/** The mods of a server at the time of a backup. Missing if not recorded. */
export interface BackupModsRow {
  serverId: string;
  backupId: string;
  /** JSON: its `server_mods`. */
  mods: string;
}

export const backupMods = new EntitySchema<BackupModsRow>({
  name: 'backup_mods',
  columns: { serverId: id, backupId: id, mods: text },
  foreignKeys: [
    {
      target: 'backups',
      columnNames: ['serverId', 'backupId'],
      referencedColumnNames: ['serverId', 'id'],
      onDelete: 'CASCADE',
    },
  ],
});

type Ref = Pick<BackupRow, 'serverId' | 'id'>;

/** Records the server's current mods with a backup. */
export async function keepMods(tx: Tx, { serverId, id: backupId }: Ref): Promise<void> {
  const mods = JSON.stringify(await listMods(tx, serverId));
  await tx.run('DELETE FROM "backup_mods" WHERE "serverId" = $1 AND "backupId" = $2', [serverId, backupId]);
  await tx.manager.insert(backupMods, { serverId, backupId, mods });
}

/** Restores the mods that a server had at the time of a backup, if recorded. */
export async function restoreMods(tx: Tx, { serverId, id }: Ref): Promise<void> {
  const sql = 'SELECT "mods" FROM "backup_mods" WHERE "serverId" = $1 AND "backupId" = $2';
  const [kept] = await tx.query<Pick<BackupModsRow, 'mods'>>(sql, [serverId, id]);
  if (kept) await replaceMods(tx, serverId, JSON.parse(kept.mods) as ServerModRow[]);
}
