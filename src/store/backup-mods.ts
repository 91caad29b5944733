import { backupMods } from './backups-table.ts';
import type { BackupModsRow, BackupRow } from './backups-table.ts';
import { listMods, replaceMods } from './server-mods.ts';
import type { ServerModRow } from './server-mods-table.ts';
import type { Tx } from './writer.ts';

type Ref = Pick<BackupRow, 'serverId' | 'id'>;

/** Notes with a backup the mods that its server has now. */
export async function keepMods(tx: Tx, { serverId, id: backupId }: Ref): Promise<void> {
  const mods = JSON.stringify(await listMods(tx, serverId));
  await tx.run('DELETE FROM "backup_mods" WHERE "serverId" = $1 AND "backupId" = $2', [serverId, backupId]);
  await tx.manager.insert(backupMods, { serverId, backupId, mods });
}

/** Gives a server the mods again that it had when a backup was made, where that is known. */
export async function restoreMods(tx: Tx, { serverId, id }: Ref): Promise<void> {
  const sql = 'SELECT "mods" FROM "backup_mods" WHERE "serverId" = $1 AND "backupId" = $2';
  const [kept] = await tx.query<Pick<BackupModsRow, 'mods'>>(sql, [serverId, id]);
  if (kept) await replaceMods(tx, serverId, JSON.parse(kept.mods) as ServerModRow[]);
}
