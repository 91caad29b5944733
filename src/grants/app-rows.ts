import { EntitySchema } from 'typeorm';
import { MINUTE_MS } from '../kernel/units.ts';
import { bigint, id, json, maybeAt, ofUser, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

export interface AppTokenRow {
  id: string;
  /** SHA-256 of the token, hex. */
  hash: string;
  clientId: string;
  userId: string;
  scope: string;
  createdAt: number;
  lastUsedAt: number | null;
  revokedAt: number | null;
  /** Extended by each use. */
  expiresAt: number;
}

export const appTokens = new EntitySchema<AppTokenRow>({
  name: 'app_tokens',
  columns: {
    id,
    hash: text,
    clientId: text,
    userId: text,
    scope: text,
    createdAt: bigint,
    lastUsedAt: maybeAt,
    revokedAt: maybeAt,
    expiresAt: bigint,
  },
  uniques: [{ columns: ['hash'] }],
  indices: [{ columns: ['userId', 'clientId'] }],
  foreignKeys: [ofUser, { target: 'clients', columnNames: ['clientId'], referencedColumnNames: ['id'] }],
});

/** An app token with the state of its user and app. */
export interface AppTokenOfUser extends AppTokenRow {
  accountId: string;
  /** When the operator disabled the app; null while it is enabled. */
  clientDisabledAt: number | null;
}

/** An app that holds live tokens of a user. */
export interface ConnectedApp {
  clientId: string;
  name: string;
  homepage: string;
  /** The scopes of its tokens, without duplicates. */
  scopes: string[];
  /** When its first live token was issued. */
  connectedAt: number;
  /** Null: never. */
  lastUsedAt: number | null;
  /** When its last token expires unless used before. */
  expiresAt: number;
}

const USE_NOTED_EVERY_MS = MINUTE_MS;

export async function insertAppToken(tx: Tx, row: AppTokenRow): Promise<void> {
  await tx.manager.insert(appTokens, row);
}

/** Returns a token by its `hashToken`. Includes revoked ones and those of disabled apps: the caller checks the row. */
export async function getAppTokenByHash(db: Sql, hash: string): Promise<AppTokenOfUser | undefined> {
  const [row] = await db.query<AppTokenOfUser>(
    `SELECT t.*, u."accountId", c."disabledAt" AS "clientDisabledAt" FROM "app_tokens" t
       JOIN "users" u ON u."id" = t."userId" JOIN "clients" c ON c."id" = t."clientId" WHERE t."hash" = $1`,
    [hash],
  );
  return row;
}

/** Records a use and the new expiry, at most once a minute. */
export async function touchAppToken(tx: Tx, id: string, at: number, expiresAt: number): Promise<void> {
  const sql =
    'UPDATE "app_tokens" SET "lastUsedAt" = $1, "expiresAt" = $2 WHERE "id" = $3 AND COALESCE("lastUsedAt", 0) <= $4';
  await tx.run(sql, [at, expiresAt, id, at - USE_NOTED_EVERY_MS]);
}

/** Marks one token as revoked; false if it already is. Use `revokeAppToken` of `app-tokens.ts`. */
export async function markAppTokenRevoked(tx: Tx, id: string, at: number): Promise<boolean> {
  const sql = 'UPDATE "app_tokens" SET "revokedAt" = $1 WHERE "id" = $2 AND "revokedAt" IS NULL';
  return (await tx.run(sql, [at, id])) > 0;
}

/** Marks all of an app's tokens for a user as revoked and returns their number. Use `revokeApp` of `app-tokens.ts`. */
export async function markAppTokensRevoked(tx: Tx, userId: string, clientId: string, at: number): Promise<number> {
  const sql =
    'UPDATE "app_tokens" SET "revokedAt" = $1 WHERE "userId" = $2 AND "clientId" = $3 AND "revokedAt" IS NULL';
  return tx.run(sql, [at, userId, clientId]);
}

/** Returns the apps with live tokens of a user, in order of approval, including disabled ones. */
export async function listConnectedApps(db: Sql, userId: string, now: number): Promise<ConnectedApp[]> {
  const rows = await db.query<AppTokenRow & { name: string; homepage: string }>(
    `SELECT t.*, c."name", c."homepage" FROM "app_tokens" t JOIN "clients" c ON c."id" = t."clientId"
       WHERE t."userId" = $1 AND t."revokedAt" IS NULL AND t."expiresAt" > $2 ORDER BY t."createdAt", t."id"`,
    [userId, now],
  );
  const apps = new Map<string, ConnectedApp>();
  for (const { clientId, name, homepage, scope, createdAt, lastUsedAt, expiresAt } of rows) {
    const known = apps.get(clientId);
    const scopes = [...new Set([...(known?.scopes ?? []), ...scope.split(' ')])];
    const used = Math.max(known?.lastUsedAt ?? 0, lastUsedAt ?? 0) || null;
    const connectedAt = known?.connectedAt ?? createdAt;
    const until = Math.max(known?.expiresAt ?? 0, expiresAt);
    apps.set(clientId, { clientId, name, homepage, scopes, connectedAt, lastUsedAt: used, expiresAt: until });
  }
  return [...apps.values()];
}

/** A registered third-party app. */
export interface ClientRow {
  /** The `client_id`, which is not secret. */
  id: string;
  name: string;
  homepage: string;
  scopes: string[];
  createdAt: number;
  disabledAt: number | null;
}

export const clients = new EntitySchema<ClientRow>({
  name: 'clients',
  columns: { id, name: text, homepage: text, scopes: json, createdAt: bigint, disabledAt: maybeAt },
});

export async function insertClient(tx: Tx, row: ClientRow): Promise<void> {
  await tx.manager.insert(clients, row);
}

/** Returns an app, even if disabled: the caller checks the row. */
export async function getClient(db: Sql, id: string): Promise<ClientRow | undefined> {
  return (await db.query<StoredClient>('SELECT * FROM "clients" WHERE "id" = $1', [id])).map(clientRow)[0];
}

/** Returns all apps, oldest first, including disabled ones. */
export async function listClients(db: Sql): Promise<ClientRow[]> {
  return (await db.query<StoredClient>('SELECT * FROM "clients" ORDER BY "createdAt", "id"')).map(clientRow);
}

/** Null enables the app. Use `disableClient` and `enableClient` of `clients.ts`. */
export async function setClientDisabledAt(tx: Tx, id: string, disabledAt: number | null): Promise<void> {
  await tx.run('UPDATE "clients" SET "disabledAt" = $1 WHERE "id" = $2', [disabledAt, id]);
}

/** A row as returned by raw SQL, with JSON still as text. */
type StoredClient = Omit<ClientRow, 'scopes'> & { scopes: string };

function clientRow(row: StoredClient): ClientRow {
  return { ...row, scopes: JSON.parse(row.scopes) as string[] };
}
