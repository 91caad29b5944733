import { type ServerModRow, serverMods } from './server-mods-table.ts';
import type { Sql, Tx } from './writer.ts';

/** A server's mods, those that were asked for first, by name. */
export async function listMods(db: Sql, serverId: string): Promise<ServerModRow[]> {
  const sql = 'SELECT * FROM "server_mods" WHERE "serverId" = $1 ORDER BY "wished" DESC, "name", "projectId"';
  return (await db.query<Stored>(sql, [serverId])).map(asRow);
}

/** Puts a server's mods in place of those it had. */
export async function replaceMods(tx: Tx, serverId: string, rows: readonly ServerModRow[]): Promise<void> {
  await tx.run('DELETE FROM "server_mods" WHERE "serverId" = $1', [serverId]);
  for (const row of rows) await tx.manager.insert(serverMods, row);
}

/** SQLite gives booleans as 0 and 1. */
type Stored = Omit<ServerModRow, 'wished'> & { wished: boolean | number };

function asRow(stored: Stored): ServerModRow {
  return { ...stored, wished: Boolean(stored.wished) };
}
