import { EntitySchema } from 'typeorm';
import { bigint, boolean, id, maybeAt, ofServer, text } from '../store/columns.ts';
import { exact } from '../store/exact.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** The public status of a server. */
export interface PublicStatusRow {
  serverId: string;
  /** The last part of the page's address; null until first enabled, then permanent. */
  slug: string | null;
  enabled: boolean;
  showAddress: boolean;
}

export const WAKE_MODES = ['anyone', 'known', 'whitelist', 'verified', 'nobody'] as const;

/** Players whose login can wake a server. */
export type WakeMode = (typeof WAKE_MODES)[number];

/**
 * Players who can wake a server by joining, and its server-list text while asleep. No row: anyone, and the default
 * texts.
 */
export interface WakePolicyRow {
  serverId: string;
  mode: WakeMode;
  /** Limit of wakes by players, counted from midnight UTC; 0 = unlimited. */
  maxWakesPerDay: number;
  /** Server-list text while asleep; '' for the default. */
  asleepMotd: string;
  /** Unless '', joining does not wake the server and players get this message. */
  maintenanceText: string;
}

export const publicStatuses = new EntitySchema<PublicStatusRow>({
  name: 'public_statuses',
  columns: { serverId: id, slug: { ...text, nullable: true }, enabled: boolean, showAddress: boolean },
  uniques: [{ columns: ['slug'] }],
  foreignKeys: [ofServer],
});

export const wakePolicies = new EntitySchema<WakePolicyRow>({
  name: 'wake_policies',
  columns: {
    serverId: id,
    mode: text,
    maxWakesPerDay: { type: 'integer', transformer: { to: exact, from: <T>(value: T): T => value } },
    asleepMotd: text,
    maintenanceText: text,
  },
  foreignKeys: [ofServer],
});

/** Returns all public statuses, including those switched off. */
export async function listPublicStatuses(db: Sql): Promise<PublicStatusRow[]> {
  return (await db.query<StoredStatus>('SELECT * FROM "public_statuses"')).map(statusRow);
}

export async function getPublicStatus(db: Sql, serverId: string): Promise<PublicStatusRow | undefined> {
  const sql = 'SELECT * FROM "public_statuses" WHERE "serverId" = $1';
  return (await db.query<StoredStatus>(sql, [serverId])).map(statusRow)[0];
}

/** Replaces the server's public status. */
export async function savePublicStatus(tx: Tx, row: PublicStatusRow): Promise<void> {
  await tx.run('DELETE FROM "public_statuses" WHERE "serverId" = $1', [row.serverId]);
  await tx.manager.insert(publicStatuses, row);
}

/** Returns all stored wake policies. */
export async function listWakePolicies(db: Sql): Promise<WakePolicyRow[]> {
  return db.query<WakePolicyRow>('SELECT * FROM "wake_policies"');
}

/** Replaces the server's wake policy. */
export async function saveWakePolicy(tx: Tx, row: WakePolicyRow): Promise<void> {
  await tx.run('DELETE FROM "wake_policies" WHERE "serverId" = $1', [row.serverId]);
  await tx.manager.insert(wakePolicies, row);
}

/** The server and stored cause of an awake session. */
interface WakeRow {
  serverId: string;
  cause: string;
}

/** Returns a server's awake sessions that began since an instant. */
export async function listWakes(db: Sql, serverId: string, since: number): Promise<WakeRow[]> {
  const sql = 'SELECT "serverId", "cause" FROM "awake_sessions" WHERE "serverId" = $1 AND "startedAt" >= $2';
  return db.query<WakeRow>(sql, [serverId, since]);
}

/** Returns the awake sessions of all servers of an account that began since an instant. */
export async function listWakesOfAccount(db: Sql, accountId: string, since: number): Promise<WakeRow[]> {
  const sql = `SELECT "serverId", "cause" FROM "awake_sessions"
    WHERE "serverId" IN (SELECT "id" FROM "servers" WHERE "accountId" = $1) AND "startedAt" >= $2`;
  return db.query<WakeRow>(sql, [accountId, since]);
}

/** SQLite has no booleans, PostgreSQL does. */
type StoredStatus = Omit<PublicStatusRow, 'enabled' | 'showAddress'> &
  Record<'enabled' | 'showAddress', number | boolean>;

function statusRow(row: StoredStatus): PublicStatusRow {
  return { ...row, enabled: Boolean(row.enabled), showAddress: Boolean(row.showAddress) };
}

/**
 * A further name of a server. A name with a dot is a host name of its owners, which counts while DNS proves it. A name
 * without a dot is the first label of a former address, reserved until it expires.
 */
export interface ServerNameRow {
  name: string;
  serverId: string;
  createdAt: number;
  /** The last proof by DNS; null if there has been none, and for former addresses. */
  provedAt: number | null;
  expiresAt: number;
}

export const serverNames = new EntitySchema<ServerNameRow>({
  name: 'server_names',
  columns: { name: id, serverId: id, createdAt: bigint, provedAt: maybeAt, expiresAt: bigint },
  indices: [{ columns: ['serverId'] }],
  foreignKeys: [ofServer],
});

/** PostgreSQL returns its 64-bit integers as text. */
type StoredName = Omit<ServerNameRow, 'createdAt' | 'provedAt' | 'expiresAt'> &
  Record<'createdAt' | 'expiresAt', number | string> & { provedAt: number | string | null };

/** Returns the further names of all servers or of one, oldest first. */
export async function listServerNames(db: Sql, serverId?: string): Promise<ServerNameRow[]> {
  const [where, values] = serverId === undefined ? ['', []] : ['WHERE "serverId" = $1', [serverId]];
  const rows = await db.query<StoredName>(`SELECT * FROM "server_names" ${where} ORDER BY "createdAt", "name"`, values);
  return rows.map((row) => ({
    name: row.name,
    serverId: row.serverId,
    createdAt: Number(row.createdAt),
    provedAt: row.provedAt === null ? null : Number(row.provedAt),
    expiresAt: Number(row.expiresAt),
  }));
}

/** Inserts or replaces a name of a server. */
export async function saveServerName(tx: Tx, row: ServerNameRow): Promise<void> {
  await deleteServerName(tx, row);
  await tx.manager.insert(serverNames, row);
}

export async function deleteServerName(tx: Tx, { name, serverId }: { name: string; serverId: string }): Promise<void> {
  await tx.run('DELETE FROM "server_names" WHERE "name" = $1 AND "serverId" = $2', [name, serverId]);
}
