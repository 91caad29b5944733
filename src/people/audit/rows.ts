import { EntitySchema } from 'typeorm';
import { bigint, id, text } from '../../store/columns.ts';
import { DAY_MS } from '../../kernel/units.ts';
import type { Sql, Tx } from '../../store/writer.ts';
import type { OwnedServer } from '../members/owned-servers.ts';

/** One audit entry: actor, credential, action and time. Must not contain secrets. */
export interface AuditRow {
  /** Ids sort by time. */
  id: string;
  accountId: string;
  /** '' unless the entry is about a server. */
  serverId: string;
  /** '' if the actor is not a user, but a player, a schedule or the system. */
  userId: string;
  /** `server.start`, `key.mint`, … */
  action: string;
  detail: string;
  createdAt: number;
}

export const audit = new EntitySchema<AuditRow>({
  name: 'audit',
  columns: {
    id,
    accountId: text,
    serverId: text,
    userId: text,
    action: text,
    detail: text,
    createdAt: bigint,
  },
  indices: [{ columns: ['accountId', 'id'] }, { columns: ['serverId', 'id'] }],
});

export async function insertAudit(tx: Tx, row: AuditRow): Promise<void> {
  const { id, accountId, serverId, userId, action, detail, createdAt } = row;
  await tx.run(
    `INSERT INTO "audit" ("id", "accountId", "serverId", "userId", "action", "detail", "createdAt")
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, accountId, serverId, userId, action, detail, createdAt],
  );
}

/**
 * Limit of entries per action and account, so that a flood of one action does not displace others, and their lifetime.
 */
const MOST_OF_ACTION = 5_000;
const KEPT_MS = 400 * DAY_MS;
/** Limit of entries deleted in one write. */
const STEP = 2_000;

/**
 * Deletes the oldest entries of this action beyond the limit, and the account's oldest expired entries of any action.
 */
export async function pruneAudit(
  tx: Tx,
  { accountId, action, createdAt }: Pick<AuditRow, 'accountId' | 'action' | 'createdAt'>,
  most = MOST_OF_ACTION,
): Promise<void> {
  await tx.run(
    `DELETE FROM "audit" WHERE "id" IN (SELECT "id" FROM "audit" WHERE "accountId" = $1 AND "action" = $2
       AND "id" <= (SELECT "id" FROM "audit" WHERE "accountId" = $1 AND "action" = $2 ORDER BY "id" DESC LIMIT 1 OFFSET $3)
       ORDER BY "id" LIMIT ${STEP})`,
    [accountId, action, most],
  );
  await tx.run(
    `DELETE FROM "audit" WHERE "id" IN (SELECT "id" FROM "audit" WHERE "accountId" = $1 ORDER BY "id" LIMIT ${STEP})
       AND "createdAt" < $2`,
    [accountId, createdAt - KEPT_MS],
  );
}

/**
 * Returns the entries of an account: those of its keys, apps, members and sessions, newest first. Includes only the
 * creation and deletion of its servers.
 */
export async function listAccountAudit(db: Sql, accountId: string, limit: number): Promise<AuditRow[]> {
  return db.query<AuditRow>(
    `SELECT * FROM "audit" WHERE "accountId" = $1
       AND ("serverId" = '' OR "action" LIKE 'member.%' OR "action" IN ('server.create', 'server.delete'))
     ORDER BY "id" DESC LIMIT $2`,
    [accountId, limit],
  );
}

/**
 * Returns the entries of a server, newest first; with `members` also those of its invitations. Excludes those of an
 * earlier server with the same id, which may have belonged to another account.
 */
export async function listServerAudit(
  db: Sql,
  server: OwnedServer & { createdAt: number },
  { limit, members }: { limit: number; members: boolean },
): Promise<AuditRow[]> {
  return db.query<AuditRow>(
    `SELECT * FROM "audit" WHERE "serverId" = $1 AND "accountId" = $2 AND "createdAt" >= $3
       ${members ? '' : `AND "action" NOT LIKE 'member.%'`}
     ORDER BY "id" DESC LIMIT $4`,
    [server.id, server.accountId, server.createdAt, limit],
  );
}

/** Returns the user of a key; '' for an unknown one. */
export async function userOfKey(db: Sql, keyId: string): Promise<string> {
  const [row] = await db.query<{ userId: string }>('SELECT "userId" FROM "api_keys" WHERE "id" = $1', [keyId]);
  return row?.userId ?? '';
}
