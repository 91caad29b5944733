import { EntitySchema } from 'typeorm';
import type { Sql, Tx } from '../../store/store.ts';

/** The salt of the console password of a server's latest start. */
export interface ConsoleSaltRow {
  serverId: string;
  salt: string;
}

export const consoleSalts = new EntitySchema<ConsoleSaltRow>({
  name: 'console_salts',
  columns: { serverId: { type: 'text', primary: true }, salt: { type: 'text' } },
  foreignKeys: [
    { target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' as const },
  ],
});

/** Returns the salts of all servers, by server id. */
export async function listConsoleSalts(db: Sql): Promise<Map<string, string>> {
  const rows = await db.query<{ serverId: string; salt: string }>('SELECT "serverId", "salt" FROM "console_salts"');
  return new Map(rows.map(({ serverId, salt }) => [serverId, salt]));
}

export async function setConsoleSalt(tx: Tx, serverId: string, salt: string): Promise<void> {
  await tx.run(
    'INSERT INTO "console_salts" ("serverId", "salt") VALUES ($1, $2) ON CONFLICT ("serverId") DO UPDATE SET "salt" = $2',
    [serverId, salt],
  );
}

export async function deleteConsoleSalt(tx: Tx, serverId: string): Promise<void> {
  await tx.run('DELETE FROM "console_salts" WHERE "serverId" = $1', [serverId]);
}
