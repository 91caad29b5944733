import { EntitySchema } from 'typeorm';
import { MINUTE_MS } from '../kernel/units.ts';
import { bigint, id, json, maybeAt, ofAccount, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

export interface ApiKeyRow {
  id: string;
  /** SHA-256 of the whole key, hex. */
  hash: string;
  name: string;
  /** The last four characters, for display. */
  last4: string;
  userId: string;
  accountId: string;
  scopes: string[];
  createdAt: number;
  lastUsedAt: number | null;
  expiresAt: number | null;
  revokedAt: number | null;
  /** The only servers the key reaches; null: all of its account. */
  serverIds: string[] | null;
}

export const apiKeys = new EntitySchema<ApiKeyRow>({
  name: 'api_keys',
  columns: {
    id,
    hash: text,
    name: text,
    last4: text,
    userId: text,
    accountId: text,
    scopes: json,
    createdAt: bigint,
    lastUsedAt: maybeAt,
    expiresAt: maybeAt,
    revokedAt: maybeAt,
    serverIds: { ...json, nullable: true },
  },
  uniques: [{ columns: ['hash'] }],
  indices: [{ columns: ['accountId'] }, { columns: ['userId'] }],
  foreignKeys: [{ target: 'users', columnNames: ['userId'], referencedColumnNames: ['id'] }, ofAccount],
});

/** A key with the state of its user. */
export interface KeyOfUser extends ApiKeyRow {
  /** Whether the key's user is an operator. */
  operator: boolean;
}

const USE_NOTED_EVERY_MS = MINUTE_MS;

export async function insertKey(tx: Tx, row: ApiKeyRow): Promise<void> {
  await tx.manager.insert(apiKeys, row);
}

/** Returns a key by the `hashToken` of the whole key. Includes revoked and expired ones: the caller checks the row. */
export async function getKeyByHash(db: Sql, hash: string): Promise<KeyOfUser | undefined> {
  const rows = await db.query<StoredKey & { operator: number | boolean }>(
    `SELECT k.*, u."operator" FROM "api_keys" k JOIN "users" u ON u."id" = k."userId" WHERE k."hash" = $1`,
    [hash],
  );
  const [row] = rows;
  return row && { ...keyRow(row), operator: Boolean(row.operator) };
}

/** Returns an account's keys, oldest first, including revoked ones. */
export async function listKeys(db: Sql, accountId: string): Promise<ApiKeyRow[]> {
  const sql = 'SELECT * FROM "api_keys" WHERE "accountId" = $1 ORDER BY "createdAt", "id"';
  return (await db.query<StoredKey>(sql, [accountId])).map(keyRow);
}

/** Records a use, at most once a minute. */
export async function touchKey(tx: Tx, id: string, at: number): Promise<void> {
  const sql = 'UPDATE "api_keys" SET "lastUsedAt" = $1 WHERE "id" = $2 AND COALESCE("lastUsedAt", 0) <= $3';
  await tx.run(sql, [at, id, at - USE_NOTED_EVERY_MS]);
}

/** Whether the key is revoked or no longer exists. */
export async function isKeyRevoked(db: Sql, id: string): Promise<boolean> {
  const [row] = await db.query<{ revokedAt: unknown }>('SELECT "revokedAt" FROM "api_keys" WHERE "id" = $1', [id]);
  return row === undefined || row.revokedAt !== null;
}

/** Marks a key of the account as revoked; false without an active one. Use `revokeOwnKey` of `keys.ts`. */
export async function markKeyRevoked(tx: Tx, accountId: string, id: string, at: number): Promise<boolean> {
  const sql = 'UPDATE "api_keys" SET "revokedAt" = $1 WHERE "id" = $2 AND "accountId" = $3 AND "revokedAt" IS NULL';
  return (await tx.run(sql, [at, id, accountId])) > 0;
}

/** A row as returned by raw SQL, with JSON still as text. */
type StoredKey = Omit<ApiKeyRow, 'scopes' | 'serverIds'> & { scopes: string; serverIds: string | null };

function keyRow(row: StoredKey): ApiKeyRow {
  const serverIds = row.serverIds === null ? null : (JSON.parse(row.serverIds) as string[]);
  return { ...row, scopes: JSON.parse(row.scopes) as string[], serverIds };
}
