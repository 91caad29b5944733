import { EntitySchema } from 'typeorm';
import { bigint, integer, ofServer, text } from '../../store/columns.ts';
import { countOf } from '../../store/count.ts';
import type { Sql, Tx } from '../../store/writer.ts';

/**
 * A message to a server's webhook that the receiver has not accepted yet. The URL is read from the server's row when it
 * is sent.
 */
interface WebhookMessageRow {
  /** Sorts by time. It also identifies repetitions to the receiver. */
  id: string;
  serverId: string;
  /** The notice, as JSON text. */
  notice: string;
  createdAt: number;
  /** The earliest time to send it. */
  dueAt: number;
  /** The number of failed attempts. */
  tries: number;
}

interface TpsIncidentRow {
  serverId: string;
  openedAt: number;
}

export const webhookMessages = new EntitySchema<WebhookMessageRow>({
  name: 'webhook_messages',
  columns: {
    id: { ...text, primary: true },
    serverId: text,
    notice: text,
    createdAt: bigint,
    dueAt: bigint,
    tries: integer,
  },
  indices: [{ columns: ['serverId', 'id'] }, { columns: ['dueAt'] }],
  foreignKeys: [ofServer],
});

export const tpsIncidents = new EntitySchema<TpsIncidentRow>({
  name: 'tps_incidents',
  columns: { serverId: { ...text, primary: true }, openedAt: bigint },
  foreignKeys: [ofServer],
});

/** A message with the current fields of its server. */
export interface DueMessage extends WebhookMessageRow {
  /** '' if the webhook has been removed. */
  url: string;
  serverName: string;
  accountId: string;
}

/** Stores a message if the server has a webhook. Keeps only the server's newest `keep` messages. */
export async function insertWebhookMessage(tx: Tx, row: WebhookMessageRow, keep: number): Promise<void> {
  const { id, serverId, notice, createdAt, dueAt, tries } = row;
  const sql = `INSERT INTO "webhook_messages" ("id", "serverId", "notice", "createdAt", "dueAt", "tries")
    SELECT CAST($1 AS text), "id", CAST($2 AS text), CAST($3 AS bigint), CAST($4 AS bigint), CAST($5 AS integer)
    FROM "servers" WHERE "id" = $6 AND "alertWebhookUrl" <> ''`;
  await tx.run(sql, [id, notice, createdAt, dueAt, tries, serverId]);
  await tx.run(
    `DELETE FROM "webhook_messages" WHERE "serverId" = $1 AND "id" IN
       (SELECT "id" FROM "webhook_messages" WHERE "serverId" = $1 ORDER BY "id" DESC LIMIT 1000 OFFSET $2)`,
    [serverId, keep],
  );
}

/** Returns the oldest message of each server if it is due, because a server's messages are sent in order. */
export async function listDueMessages(db: Sql, at: number, limit: number): Promise<DueMessage[]> {
  const sql = `SELECT m.*, s."alertWebhookUrl" AS "url", s."name" AS "serverName", s."accountId" AS "accountId"
    FROM "webhook_messages" m JOIN "servers" s ON s."id" = m."serverId"
    WHERE m."dueAt" <= $1 AND NOT EXISTS
      (SELECT 1 FROM "webhook_messages" o WHERE o."serverId" = m."serverId" AND o."id" < m."id")
    ORDER BY m."dueAt", m."id" LIMIT $2`;
  return db.query<DueMessage>(sql, [at, limit]);
}

export async function postponeMessage(tx: Tx, id: string, dueAt: number, tries: number): Promise<void> {
  await tx.run('UPDATE "webhook_messages" SET "dueAt" = $1, "tries" = $2 WHERE "id" = $3', [dueAt, tries, id]);
}

export async function deleteMessage(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM "webhook_messages" WHERE "id" = $1', [id]);
}

export async function countMessages(db: Sql): Promise<number> {
  return countOf(db, 'SELECT COUNT(*) AS "count" FROM "webhook_messages"');
}

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
