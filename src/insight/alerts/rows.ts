import { EntitySchema } from 'typeorm';
import { bigint, ofServer, text } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';

interface TpsIncidentRow {
  serverId: string;
  openedAt: number;
}

export const tpsIncidents = new EntitySchema<TpsIncidentRow>({
  name: 'tps_incidents',
  columns: { serverId: { ...text, primary: true }, openedAt: bigint },
  foreignKeys: [ofServer],
});

/** Returns one server of an account for each of its different webhooks. */
export async function listWebhookServers(db: Sql, accountId: string): Promise<string[]> {
  const sql = `SELECT MIN("id") AS "id" FROM "servers" WHERE "accountId" = $1 AND "alertWebhookUrl" <> ''
    AND "state" <> 'deleting' GROUP BY "alertWebhookUrl" ORDER BY 1`;
  return (await db.query<{ id: string }>(sql, [accountId])).map(({ id }) => id);
}

export async function listIncidents(db: Sql): Promise<TpsIncidentRow[]> {
  return db.query<TpsIncidentRow>('SELECT * FROM "tps_incidents"');
}

export async function findIncident(db: Sql, serverId: string): Promise<TpsIncidentRow | undefined> {
  const [row] = await db.query<TpsIncidentRow>('SELECT * FROM "tps_incidents" WHERE "serverId" = $1', [serverId]);
  return row;
}

/** Does nothing if the server is gone. */
export async function insertIncident(tx: Tx, { serverId, openedAt }: TpsIncidentRow): Promise<void> {
  const sql = `INSERT INTO "tps_incidents" ("serverId", "openedAt")
    SELECT "id", CAST($1 AS bigint) FROM "servers" WHERE "id" = $2`;
  await tx.run(sql, [openedAt, serverId]);
}

export async function deleteIncident(tx: Tx, serverId: string): Promise<void> {
  await tx.run('DELETE FROM "tps_incidents" WHERE "serverId" = $1', [serverId]);
}
