import { EntitySchema } from 'typeorm';
import { timeOrderedId } from '../kernel/ids.ts';
import { bigint, integer, maybeAt, maybeText, ofAccount, ofServer, text } from '../store/columns.ts';
import { countOf } from '../store/count.ts';
import type { Sql, Tx } from '../store/writer.ts';
import { EVENTS, type NewNotice, type NoticeKind } from './events.ts';

/** How a webhook's messages look: for a chat platform, or plain data. */
export type WebhookFormat = 'discord' | 'json';

/** An address that is notified of events of an account. */
export interface WebhookRow {
  id: string;
  accountId: string;
  /** Null: all servers of the account, and the account itself. */
  serverId: string | null;
  url: string;
  format: WebhookFormat;
  /** A JSON array of kinds of events. */
  kinds: string;
  /** The number of the signing secret, which is derived from it. */
  secretNth: number;
  /** When this secret replaced the one before; null for the first. */
  rotatedAt: number | null;
  /** The first failure since the last accepted message; null without one. */
  failingSince: number | null;
  /** When it was switched off; null while it is on. */
  offAt: number | null;
  createdAt: number;
}

export const webhooks = new EntitySchema<WebhookRow>({
  name: 'webhooks',
  columns: {
    id: { ...text, primary: true },
    accountId: text,
    serverId: maybeText,
    url: text,
    format: text,
    kinds: text,
    secretNth: integer,
    rotatedAt: maybeAt,
    failingSince: maybeAt,
    offAt: maybeAt,
    createdAt: bigint,
  },
  indices: [{ columns: ['accountId'] }, { columns: ['serverId'] }],
  foreignKeys: [ofAccount, ofServer],
});

/** `waiting` until the receiver accepts the message, or it is given up. */
export type DeliveryState = 'waiting' | 'delivered' | 'failed';

/** A message to a webhook, or an alert to the URL in a server's row. The URL is read when it is sent. */
export interface WebhookMessageRow {
  /** Sorts by time. It also identifies repetitions to the receiver. */
  id: string;
  /** Its receiver, to which messages are sent in order: the webhook, or the server of an alert. */
  queue: string;
  /** Null for an alert. */
  webhookId: string | null;
  /** Null if it is not about a server. */
  serverId: string | null;
  /** The notice, as JSON text. */
  notice: string;
  createdAt: number;
  /** The earliest time to send it. */
  dueAt: number;
  /** The number of failed attempts. */
  tries: number;
  /** Sent alerts are deleted. Sent messages to webhooks stay as a history. */
  state: DeliveryState;
  /** The HTTP status of the last answer; 0 without one. */
  status: number;
  /** The beginning of the last answer, or the reason that it is missing. */
  answer: string;
  /** When it was delivered or given up; null while waiting. */
  doneAt: number | null;
}

export const webhookMessages = new EntitySchema<WebhookMessageRow>({
  name: 'webhook_messages',
  columns: {
    id: { ...text, primary: true },
    queue: text,
    webhookId: maybeText,
    serverId: maybeText,
    notice: text,
    createdAt: bigint,
    dueAt: bigint,
    tries: integer,
    state: text,
    status: integer,
    answer: text,
    doneAt: maybeAt,
  },
  indices: [
    { columns: ['queue', 'id'] },
    { columns: ['state', 'dueAt'] },
    { columns: ['webhookId'] },
    { columns: ['serverId'] },
  ],
  foreignKeys: [
    { target: 'webhooks', columnNames: ['webhookId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' },
    ofServer,
  ],
});

/** The newest messages kept for each webhook once they are finished, and the most while they wait. */
const KEPT = 50;
const MOST_WAITING = 1_000;

/** Queues a notice for each webhook that has chosen its kind, in the caller's write. */
export async function addNotice(tx: Tx, { event, accountId, serverId, detail, at }: NewNotice): Promise<void> {
  const kind = EVENTS[event]?.kind;
  if (kind === undefined || kind === 'test') return;
  const given = serverId === '' ? null : serverId;
  for (const webhook of await listListeners(tx, accountId, serverId, kind))
    await insertNotice(tx, webhook.id, given, { event, detail, at });
}

/** Queues a message to one webhook. Keeps its newest finished messages, and those that wait. */
export async function insertNotice(
  tx: Tx,
  webhookId: string,
  serverId: string | null,
  { at, ...notice }: Pick<NewNotice, 'event' | 'detail' | 'at'>,
): Promise<void> {
  const sql = `INSERT INTO "webhook_messages" ("id", "queue", "webhookId", "serverId", "notice", "createdAt", "dueAt",
      "tries", "state", "status", "answer") VALUES ($1, $2, $2, $3, $4, $5, $5, 0, 'waiting', 0, '')`;
  await tx.run(sql, [timeOrderedId('dlv', at), webhookId, serverId, JSON.stringify({ ...notice, at }), at]);
  await keepNewest(tx, webhookId, KEPT, `"state" <> 'waiting'`);
  await keepNewest(tx, webhookId, MOST_WAITING);
}

/** Returns the webhooks that are on and have chosen a kind of event of an account or one of its servers. */
export async function listListeners(
  db: Sql,
  accountId: string,
  serverId: string,
  kind: NoticeKind,
): Promise<WebhookRow[]> {
  const sql = `SELECT * FROM "webhooks" WHERE "accountId" = $1 AND "offAt" IS NULL
    AND ("serverId" IS NULL OR "serverId" = $2) ORDER BY "id"`;
  return (await db.query<WebhookRow>(sql, [accountId, serverId])).filter((row) => kindsOf(row).includes(kind));
}

export function kindsOf({ kinds }: { kinds: string }): NoticeKind[] {
  return JSON.parse(kinds) as NoticeKind[];
}

/** Stores an alert if the server has a URL for alerts. Keeps only the server's newest `keep` alerts. */
export async function insertAlert(
  tx: Tx,
  { id, serverId, notice, at }: { id: string; serverId: string; notice: string; at: number },
  keep: number,
): Promise<void> {
  const sql = `INSERT INTO "webhook_messages" ("id", "queue", "serverId", "notice", "createdAt", "dueAt", "tries",
      "state", "status", "answer")
    SELECT CAST($1 AS text), "id", "id", CAST($2 AS text), CAST($3 AS bigint), CAST($3 AS bigint), 0, 'waiting', 0, ''
    FROM "servers" WHERE "id" = $4 AND "alertWebhookUrl" <> ''`;
  await tx.run(sql, [id, notice, at, serverId]);
  await keepNewest(tx, serverId, keep);
}

/** Deletes all but the newest messages of a queue for which `which` holds. */
async function keepNewest(tx: Tx, queue: string, keep: number, which = 'TRUE'): Promise<void> {
  await tx.run(
    `DELETE FROM "webhook_messages" WHERE "queue" = $1 AND "id" IN
       (SELECT "id" FROM "webhook_messages" WHERE "queue" = $1 AND ${which} ORDER BY "id" DESC LIMIT 1000 OFFSET $2)`,
    [queue, keep],
  );
}

/** A message with the current fields of its receiver. */
export interface DueMessage extends WebhookMessageRow {
  /** '' if the server's URL has been removed. */
  url: string;
  /** Null if it is not about a server. */
  serverName: string | null;
  accountId: string;
  /** The next fields are those of its webhook; null for an alert. */
  format: WebhookFormat | null;
  secretNth: number | null;
  rotatedAt: number | null;
  failingSince: number | null;
}

/** Returns the oldest waiting message of each receiver if it is due, because messages are sent in order. */
export async function listDueMessages(db: Sql, at: number, limit: number): Promise<DueMessage[]> {
  const sql = `SELECT m.*, COALESCE(w."url", s."alertWebhookUrl") AS "url", s."name" AS "serverName",
      COALESCE(w."accountId", s."accountId") AS "accountId", w."format", w."secretNth", w."rotatedAt", w."failingSince"
    FROM "webhook_messages" m
      LEFT JOIN "servers" s ON s."id" = m."serverId" LEFT JOIN "webhooks" w ON w."id" = m."webhookId"
    WHERE m."state" = 'waiting' AND m."dueAt" <= $1 AND NOT EXISTS
      (SELECT 1 FROM "webhook_messages" o WHERE o."queue" = m."queue" AND o."state" = 'waiting' AND o."id" < m."id")
    ORDER BY m."dueAt", m."id" LIMIT $2`;
  return db.query<DueMessage>(sql, [at, limit]);
}

/** The last answer to a message. */
export interface LastAnswer {
  status: number;
  answer: string;
}

/** Stores a failed attempt, or a delay without an attempt. */
export async function postponeMessage(
  tx: Tx,
  { id, tries, status, answer }: Pick<WebhookMessageRow, 'id' | 'tries'> & LastAnswer,
  dueAt: number,
): Promise<void> {
  const sql = `UPDATE "webhook_messages" SET "dueAt" = $1, "tries" = $2, "status" = $3, "answer" = $4 WHERE "id" = $5`;
  await tx.run(sql, [dueAt, tries, status, answer, id]);
}

/** Stores the outcome of a message to a webhook. */
export async function finishMessage(
  tx: Tx,
  { id, state, status, answer }: Pick<WebhookMessageRow, 'id' | 'state'> & LastAnswer,
  doneAt: number,
): Promise<void> {
  const sql = `UPDATE "webhook_messages" SET "state" = $1, "status" = $2, "answer" = $3, "doneAt" = $4 WHERE "id" = $5`;
  await tx.run(sql, [state, status, answer, doneAt, id]);
}

export async function deleteMessage(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM "webhook_messages" WHERE "id" = $1', [id]);
}

export async function countMessages(db: Sql): Promise<number> {
  return countOf(db, `SELECT COUNT(*) AS "count" FROM "webhook_messages" WHERE "state" = 'waiting'`);
}

/** Sends a finished message again, from its first attempt. Returns false if it is gone or still waiting. */
export async function resendMessage(tx: Tx, webhookId: string, id: string, at: number): Promise<boolean> {
  const sql = `UPDATE "webhook_messages" SET "state" = 'waiting', "dueAt" = $1, "tries" = 0, "doneAt" = NULL
    WHERE "id" = $2 AND "webhookId" = $3 AND "state" <> 'waiting'`;
  return (await tx.run(sql, [at, id, webhookId])) === 1;
}

/** Returns a webhook's last messages, newest first. */
export async function listDeliveries(db: Sql, webhookId: string): Promise<WebhookMessageRow[]> {
  const sql = 'SELECT * FROM "webhook_messages" WHERE "webhookId" = $1 ORDER BY "id" DESC LIMIT $2';
  return db.query<WebhookMessageRow>(sql, [webhookId, KEPT]);
}

/** Returns an account's webhooks, oldest first. */
export async function listWebhooks(db: Sql, accountId: string): Promise<WebhookRow[]> {
  return db.query<WebhookRow>('SELECT * FROM "webhooks" WHERE "accountId" = $1 ORDER BY "createdAt", "id"', [
    accountId,
  ]);
}

export async function findWebhook(db: Sql, accountId: string, id: string): Promise<WebhookRow | undefined> {
  const sql = 'SELECT * FROM "webhooks" WHERE "accountId" = $1 AND "id" = $2';
  const [row] = await db.query<WebhookRow>(sql, [accountId, id]);
  return row;
}

export async function insertWebhook(tx: Tx, row: WebhookRow): Promise<void> {
  await tx.manager.insert(webhooks, row);
}

/** Stores the first failure since the last accepted message. */
export async function noteFailing(tx: Tx, id: string, at: number): Promise<void> {
  await tx.run('UPDATE "webhooks" SET "failingSince" = $1 WHERE "id" = $2 AND "failingSince" IS NULL', [at, id]);
}

export async function updateWebhook(tx: Tx, id: string, fields: Partial<Omit<WebhookRow, 'id'>>): Promise<void> {
  await tx.manager.update(webhooks, { id }, fields);
}

/** Deletes a webhook with its messages. */
export async function deleteWebhook(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM "webhooks" WHERE "id" = $1', [id]);
}

/** Switches a webhook off. Its waiting messages are given up. */
export async function switchOff(tx: Tx, id: string, at: number): Promise<void> {
  await updateWebhook(tx, id, { offAt: at });
  const sql = `UPDATE "webhook_messages" SET "state" = 'failed', "doneAt" = $1 WHERE "webhookId" = $2
    AND "state" = 'waiting'`;
  await tx.run(sql, [at, id]);
}
