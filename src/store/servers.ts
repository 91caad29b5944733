import { StatusError } from '../status.ts';
import { servers } from './entities.ts';
import { isDuplicate } from './errors.ts';
import type { RouteRow, ServerRow } from './rows.ts';
import type { Sql, Tx } from './writer.ts';

/** What an owner or a run may change of a server; `saveSnapshot` alone writes the rest. */
export type ServerPatch = Partial<Omit<ServerRow, 'id' | 'accountId' | 'createdAt' | 'snapshot' | 'state'>>;

const COLD_STARTS = 10;

/** ALREADY_EXISTS where another server has the id or the host name. */
export async function insertServer(tx: Tx, row: ServerRow): Promise<void> {
  try {
    await tx.manager.insert(servers, row);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const message = `There is a server called ${row.id} already, or one at ${row.hostname}; choose another name.`;
    const metadata = { id: row.id, hostname: row.hostname };
    throw new StatusError('ALREADY_EXISTS', 'SERVER_EXISTS', message, { metadata, cause: error });
  }
}

export async function getServer(db: Sql, id: string): Promise<ServerRow | undefined> {
  const rows = await db.query<StoredServer>('SELECT * FROM "servers" WHERE "id" = $1', [id]);
  return rows.map(serverRow)[0];
}

/** NOT_FOUND for a server that is not there, or not for long: nothing new may be given to it, as nobody would clear it away. */
export async function requireServer(tx: Tx, id: string): Promise<void> {
  const sql = `SELECT "id" FROM "servers" WHERE "id" = $1 AND "state" <> 'deleting'`;
  if ((await tx.query(sql, [id])).length === 0) throw serverNotFound(id);
}

/** An account's servers, oldest first. */
export async function listServersByAccount(db: Sql, accountId: string): Promise<ServerRow[]> {
  const sql = 'SELECT * FROM "servers" WHERE "accountId" = $1 ORDER BY "createdAt", "id"';
  return (await db.query<StoredServer>(sql, [accountId])).map(serverRow);
}

/** All servers, as far as players may see them. */
export async function listRoutes(db: Sql): Promise<RouteRow[]> {
  const rows = await db.query<StoredRoute>(
    'SELECT "id", "hostname", "state", "motd", "version", "properties", "lastStatus", "createdAt" FROM "servers"',
  );
  return rows.map(routeRow);
}

/** Of all servers, those being deleted too. */
export async function listServerIds(db: Sql): Promise<string[]> {
  return (await db.query<{ id: string }>('SELECT "id" FROM "servers"')).map(({ id }) => id);
}

/** Writes the given fields only. NOT_FOUND for an unknown server. */
export async function patchServer(tx: Tx, id: string, fields: ServerPatch): Promise<void> {
  if (Object.keys(fields).length === 0) return;
  const { affected } = await tx.manager.update(servers, { id }, fields);
  if (affected !== 1) throw serverNotFound(id);
}

/** Adds the duration of a cold start in ms; the last ten are kept. Nothing happens for an unknown server. */
export async function appendColdStart(tx: Tx, id: string, durationMs: number): Promise<void> {
  const rows = await tx.query<{ coldStartsMs: string }>('SELECT "coldStartsMs" FROM "servers" WHERE "id" = $1', [id]);
  for (const row of rows) {
    const coldStartsMs = [...(JSON.parse(row.coldStartsMs) as number[]), durationMs].slice(-COLD_STARTS);
    await tx.manager.update(servers, { id }, { coldStartsMs });
  }
}

/** Removes the row and its transitions; nothing happens for an unknown server. */
export async function deleteServer(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM "servers" WHERE "id" = $1', [id]);
}

export function serverNotFound(id: string): StatusError {
  return new StatusError('NOT_FOUND', 'SERVER_NOT_FOUND', `There is no server ${id}.`, { metadata: { id } });
}

/** A row as raw SQL gives it: JSON is still text. */
type Stored<Row, Json extends keyof Row> = Omit<Row, Json> & Record<Json, string>;
type StoredServer = Stored<Omit<ServerRow, 'sftpEnabled'>, 'properties' | 'coldStartsMs'> & {
  /** SQLite has no booleans. */
  sftpEnabled: boolean | number;
};
type StoredRoute = Stored<RouteRow, 'properties'>;

function serverRow(row: StoredServer): ServerRow {
  const coldStartsMs = JSON.parse(row.coldStartsMs) as number[];
  return { ...row, properties: properties(row.properties), coldStartsMs, sftpEnabled: Boolean(row.sftpEnabled) };
}

function routeRow(row: StoredRoute): RouteRow {
  return { ...row, properties: properties(row.properties) };
}

function properties(json: string): Record<string, string> {
  return JSON.parse(json) as Record<string, string>;
}
