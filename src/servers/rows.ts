import { EntitySchema } from 'typeorm';
import { isTagged } from '../../machines/server.ts';
import type { OwnerSettings } from '../game/settings.ts';
import { StatusError } from '../kernel/status.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { bigint, boolean, id, integer, json, maybeJson, ofAccount, text } from '../store/columns.ts';
import { countOf } from '../store/count.ts';
import { isDuplicate } from '../store/errors.ts';
import type { Sql, Store, Tx } from '../store/store.ts';

/** Client versions that can play: the server's own only, any, or, by default, those its software reports. */
export type ClientVersions = 'auto' | 'own' | 'any';

/** When a server changes to a newer build of its core: on request only, or by itself while it sleeps. */
export type Builds = 'pinned' | 'latest-when-asleep';

/** A core, its Minecraft version and its build; '' if the build is unknown. */
export interface CoreBuild {
  type: string;
  version: string;
  build: string;
}

/** A change of a server's software that no run has confirmed yet. */
export interface PendingUpdate {
  /** The software that ran last. */
  from: CoreBuild;
  /** The software of the next start. */
  to: CoreBuild;
  /** The backup of the files as `from` left them; '' without one. */
  backupId: string;
  /** The service changed the build by itself, and takes it back if a start fails. */
  automatic: boolean;
  /** Names of mods without a version for `to`. */
  modsWithoutVersion: string[];
}

/** An owner's settings, and data from earlier runs. The actor's snapshot holds the live part. */
export interface ServerRow extends OwnerSettings {
  /** A slug, also the host name's first label; unique in the installation. */
  id: string;
  name: string;
  hostname: string;
  accountId: string;
  container: string;
  plan: string;
  region: string;
  /** -1: it never sleeps by itself; 0: the service's default. */
  idleTimeoutMinutes: number;
  /** When it stays awake without players: see `parseAwakeHours`; '' if never. */
  awakeHours: string;
  /** The IANA time zone of `awakeHours`. */
  awakeTimeZone: string;
  /** Players that do not keep it awake: see `ignoredIn`. */
  ignoredPlayers: string;
  /** Words by which its owner groups servers. */
  tags: readonly string[];
  alertWebhookUrl: string;
  sftpEnabled: boolean;
  waitingRoom: boolean;
  /** The server in front of this private backend, or `external`; '' if this server is public. */
  networkFront: string;
  /** The port at which the front finds this private backend; null if this server is public. */
  networkPort: number | null;
  /** Client versions that can play: see `ClientVersions`. */
  clientVersions: ClientVersions;
  builds: Builds;
  /** Null once a run of the new software has ended in order. */
  pendingUpdate: PendingUpdate | null;
  /** The newest build that failed its first start, and is therefore not adopted again; '' without one. */
  refusedBuild: string;
  createdAt: number;
  updatedAt: number;
  /** Durations of the last ten cold starts, in ms, newest last. */
  coldStartsMs: number[];
  /** The game's last status, as JSON; '' if it never ran. */
  lastStatus: string;
  /** The actor's persisted snapshot (XState), as JSON text. */
  snapshot: string;
  /** The snapshot's wire state, for queries; `deleting` once deletion has begun. */
  state: string;
}

/** Returns the build that the next start has to try; undefined if the recorded one applies. */
export function buildOnTrial({ type, version, modpackPlatform, pendingUpdate }: ServerRow): string | undefined {
  if (modpackPlatform !== '' || pendingUpdate === null) return undefined;
  const { to } = pendingUpdate;
  return to.type === type && to.version === version && to.build !== '' ? to.build : undefined;
}

/** The columns players may see, without the snapshot: enough to route to ten thousand servers at boot. */
const ROUTE_COLUMNS = [
  'id',
  'name',
  'hostname',
  'networkPort',
  'state',
  'type',
  'motd',
  'version',
  'properties',
  'waitingRoom',
  'clientVersions',
  'lastStatus',
  'createdAt',
] as const;
export type RouteRow = Pick<ServerRow, (typeof ROUTE_COLUMNS)[number]>;

export const servers = new EntitySchema<ServerRow>({
  name: 'servers',
  columns: {
    id,
    name: text,
    hostname: text,
    accountId: text,
    container: text,
    type: text,
    version: text,
    ramMb: integer,
    plan: text,
    region: text,
    state: text,
    motd: text,
    properties: json,
    idleTimeoutMinutes: integer,
    awakeHours: text,
    awakeTimeZone: text,
    ignoredPlayers: text,
    tags: json,
    alertWebhookUrl: text,
    sftpEnabled: boolean,
    waitingRoom: boolean,
    networkFront: text,
    networkPort: { type: 'integer', nullable: true },
    clientVersions: text,
    jvmPreset: text,
    jvmOptions: text,
    builds: text,
    pendingUpdate: maybeJson,
    refusedBuild: text,
    modpackPlatform: text,
    modpackRef: text,
    modpackVersion: text,
    createdAt: bigint,
    updatedAt: bigint,
    lastStatus: text,
    coldStartsMs: json,
    snapshot: text,
  },
  uniques: [{ columns: ['hostname'] }, { columns: ['networkPort'] }],
  indices: [{ columns: ['accountId', 'createdAt', 'id'] }, { columns: ['state', 'id'] }],
  foreignKeys: [ofAccount],
});

const COLUMNS: Readonly<Record<string, unknown>> = servers.options.columns;

/** The columns an owner or a run may change; only `saveSnapshot` writes the rest. */
export type ServerPatch = Partial<Omit<ServerRow, 'id' | 'accountId' | 'createdAt' | 'snapshot' | 'state'>>;

/** Throws ALREADY_EXISTS if another server has the id or the host name, or had the host name until recently. */
export async function insertServer(tx: Tx, row: ServerRow): Promise<void> {
  await requireHostname(tx, row);
  try {
    await tx.manager.insert(servers, row);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw serverExists(row, error);
  }
}

/** Throws ALREADY_EXISTS if another server has a host name, or if it is reserved as another server's former one. */
export async function requireHostname(tx: Tx, { id, hostname }: { id: string; hostname: string }): Promise<void> {
  const sql = `SELECT "id" FROM "servers" WHERE "hostname" = $1 AND "id" <> $2
    UNION ALL SELECT "serverId" FROM "server_names" WHERE "name" = $3 AND "serverId" <> $4`;
  if ((await tx.query(sql, [hostname, id, hostname, id])).length > 0) throw serverExists({ id, hostname });
}

/** Returns the error for an id or host name that another server has. */
export function serverExists({ id, hostname }: { id: string; hostname: string }, cause?: unknown): StatusError {
  const message = `A server called ${id} or at ${hostname} already exists. Choose another name.`;
  return new StatusError('ALREADY_EXISTS', 'SERVER_EXISTS', message, { metadata: { hostname, id }, cause });
}

export async function getServer(db: Sql, id: string): Promise<ServerRow | undefined> {
  const rows = await db.query<StoredServer>('SELECT * FROM "servers" WHERE "id" = $1', [id]);
  return rows.map(serverRow)[0];
}

/** Returns the existing rows of these servers, in no particular order. */
export async function listServersById(db: Sql, ids: readonly string[]): Promise<ServerRow[]> {
  const found: ServerRow[] = [];
  for (let from = 0; from < ids.length; from += MOST_IDS) {
    const some = ids.slice(from, from + MOST_IDS);
    const names = some.map((_, index) => `$${index + 1}`).join(', ');
    const rows = await db.query<StoredServer>(`SELECT * FROM "servers" WHERE "id" IN (${names})`, some);
    found.push(...rows.map(serverRow));
  }
  return found;
}

/** Limit of ids per query. */
const MOST_IDS = 500;

/**
 * Throws NOT_FOUND if the server is missing or being deleted. New rows must not be attached to such a server, because
 * they would never be removed.
 */
export async function requireServer(tx: Tx, id: string): Promise<void> {
  const sql = `SELECT "id" FROM "servers" WHERE "id" = $1 AND "state" <> 'deleting'`;
  if ((await tx.query(sql, [id])).length === 0) throw serverNotFound(id);
}

/** A server's position among those of its account, oldest first. */
export type ServerPlace = Pick<ServerRow, 'createdAt' | 'id'>;

/** Returns up to `limit` of an account's servers, oldest first, optionally after a place. */
export async function listServersByAccount(
  db: Store,
  accountId: string,
  limit: number,
  { createdAt, id }: ServerPlace = { createdAt: -1, id: '' },
): Promise<ServerRow[]> {
  const isPacked = db.dialect === 'sqlite';
  const sql = `SELECT ${isPacked ? PACKED : '*'} FROM "servers" WHERE "accountId" = $1 AND ("createdAt", "id") > ($2, $3)
    ORDER BY "createdAt", "id" LIMIT $4`;
  const rows = await db.query<StoredServer | PackedRow>(sql, [accountId, createdAt, id, limit]);
  return rows.map((row) => ('packed' in row ? unpacked(row) : serverRow(row)));
}

/** Returns the number of an account's servers, except those being deleted. */
export async function countServersOfAccount(db: Sql, accountId: string): Promise<number> {
  const sql = `SELECT COUNT(*) AS "count" FROM "servers" WHERE "accountId" = $1 AND "state" <> 'deleting'`;
  return countOf(db, sql, [accountId]);
}

/** Returns the total RAM of an account's servers, asleep or awake, optionally without one of them. */
export async function ramOfAccount(db: Sql, accountId: string, without = ''): Promise<number> {
  const sql = `SELECT COALESCE(SUM("ramMb"), 0) AS "count" FROM "servers"
    WHERE "accountId" = $1 AND "id" <> $2 AND "state" <> 'deleting'`;
  return countOf(db, sql, [accountId, without]);
}

/** Returns the ids of sleeping servers that change to newer builds by themselves. */
export async function listSleepersForNewBuilds(db: Sql): Promise<string[]> {
  const sql = `SELECT "id" FROM "servers" WHERE "builds" = 'latest-when-asleep' AND "state" = 'hibernated' ORDER BY "id"`;
  return (await db.query<{ id: string }>(sql)).map(({ id }) => id);
}

/** Returns the ids of servers whose start failed while an update was pending. */
export async function listFailedUpdates(db: Sql): Promise<string[]> {
  const sql = `SELECT "id" FROM "servers" WHERE "state" = 'start_failed' AND "pendingUpdate" IS NOT NULL ORDER BY "id"`;
  return (await db.query<{ id: string }>(sql)).map(({ id }) => id);
}

/** Returns the number of servers in each stored state. */
export async function countServersByState(db: Sql): Promise<{ state: string; count: number }[]> {
  const sql = 'SELECT "state", COUNT(*) AS "count" FROM "servers" GROUP BY "state"';
  const found = await db.query<{ state: string; count: number | string }>(sql);
  return found.map(({ state, count }) => ({ state, count: Number(count) }));
}

/** Returns the number of servers not at rest, including those being deleted. */
export async function countAwake(db: Sql): Promise<number> {
  const found = await countServersByState(db);
  return found.reduce((sum, { state, count }) => sum + (isTagged(state, 'at-rest') ? 0 : count), 0);
}

/** Returns all servers with the columns that players may see. */
export async function listRoutes(db: Sql): Promise<RouteRow[]> {
  const columns = ROUTE_COLUMNS.map((name) => `"${name}"`).join(', ');
  const rows = await db.query<StoredRoute>(`SELECT ${columns} FROM "servers"`);
  return rows.map(routeRow);
}

/** Returns the ports of all private backends, including those being deleted. */
export async function listNetworkPorts(db: Sql): Promise<number[]> {
  const sql = 'SELECT "networkPort" FROM "servers" WHERE "networkPort" IS NOT NULL';
  return (await db.query<{ networkPort: number }>(sql)).map(({ networkPort }) => networkPort);
}

/** Returns the private backends behind a front of their account, oldest first, except those being deleted. */
export async function listBackends(
  db: Sql,
  { id, accountId }: Pick<ServerRow, 'id' | 'accountId'>,
): Promise<{ id: string; networkPort: number }[]> {
  const sql = `SELECT "id", "networkPort" FROM "servers" WHERE "networkFront" = $1 AND "accountId" = $2
    AND "networkPort" IS NOT NULL AND "state" <> 'deleting' ORDER BY "createdAt", "id"`;
  return await db.query(sql, [id, accountId]);
}

/** Returns the ids of all servers, including those being deleted. */
export async function listServerIds(db: Sql): Promise<string[]> {
  return (await db.query<{ id: string }>('SELECT "id" FROM "servers"')).map(({ id }) => id);
}

/** Writes the given fields only. Throws NOT_FOUND for an unknown server. */
export async function patchServer(tx: Tx, id: string, fields: ServerPatch): Promise<void> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  if (given.length === 0) return;
  const values: unknown[] = [];
  const sets = given.map(([name, value]) => {
    const column = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
    if (column === undefined) throw new Error(`servers have no column ${name}`);
    values.push(isJson(column) && value !== null ? JSON.stringify(value) : value);
    return `"${name}" = $${values.length}`;
  });
  const sql = `UPDATE "servers" SET ${sets.join(', ')} WHERE "id" = $${values.length + 1}`;
  if ((await tx.run(sql, [...values, id])) !== 1) throw serverNotFound(id);
}

function isJson(column: unknown): boolean {
  return column === json || column === maybeJson;
}

/** Removes the row and its transitions; no-op for an unknown server. */
export async function deleteServer(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM "servers" WHERE "id" = $1', [id]);
}

/** A row as returned by raw SQL, with JSON still as text. */
type Stored<Row, Json extends keyof Row> = Omit<Row, Json> & Record<Json, string>;

/** SQLite has no booleans. */
type StoredFlags<Row, Flags extends keyof Row> = Omit<Row, Flags> & Record<Flags, boolean | number>;

type Flag = 'sftpEnabled' | 'waitingRoom';

type StoredServer = StoredFlags<
  Stored<Omit<ServerRow, 'pendingUpdate'>, 'properties' | 'tags' | 'coldStartsMs'> & { pendingUpdate: string | null },
  Flag
>;

type StoredRoute = StoredFlags<Stored<RouteRow, 'properties'>, 'waitingRoom'>;

/**
 * A row packed into one text, because SQLite's driver is slow at returning single columns: that would take most of a
 * list's time.
 */
interface PackedRow {
  packed: string;
}

const FIELDS = Object.keys(COLUMNS).map(
  (name) => `'${name}', ${isJson(COLUMNS[name]) ? `json("${name}")` : `"${name}"`}`,
);
const PACKED = `json_object(${FIELDS.join(', ')}) AS "packed"`;

function unpacked({ packed }: PackedRow): ServerRow {
  const row = JSON.parse(packed) as StoredFlags<ServerRow, Flag>;
  return { ...row, sftpEnabled: Boolean(row.sftpEnabled), waitingRoom: Boolean(row.waitingRoom) };
}

function serverRow(row: StoredServer): ServerRow {
  const coldStartsMs = JSON.parse(row.coldStartsMs) as number[];
  const tags = JSON.parse(row.tags) as string[];
  const flags = { sftpEnabled: Boolean(row.sftpEnabled), waitingRoom: Boolean(row.waitingRoom) };
  const pendingUpdate = row.pendingUpdate === null ? null : (JSON.parse(row.pendingUpdate) as PendingUpdate);
  return { ...row, ...flags, properties: properties(row.properties), tags, coldStartsMs, pendingUpdate };
}

function routeRow(row: StoredRoute): RouteRow {
  return { ...row, properties: properties(row.properties), waitingRoom: Boolean(row.waitingRoom) };
}

function properties(json: string): Record<string, string> {
  return JSON.parse(json) as Record<string, string>;
}
