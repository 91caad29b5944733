import { EntitySchema } from 'typeorm';
import { isDuplicate } from '../store/errors.ts';
import type { Sql, Tx } from '../store/writer.ts';

/**
 * A database on the database server, including one that is being created or removed. The row has the desired state;
 * `settled` shows whether it is reached.
 */
export interface ServerDatabaseRow {
  /** The name of the database and its user; never reused. */
  name: string;
  /** Null: the database no longer belongs to a server and will be removed. */
  serverId: string | null;
  /** Number of the current password, which is derived from it and never stored. */
  generation: number;
  /** Whether the database server has confirmed this row. */
  settled: boolean;
  createdAt: number;
}

// No foreign key: the row outlives its server until the database is really gone.
export const serverDatabases = new EntitySchema<ServerDatabaseRow>({
  name: 'server_databases',
  columns: {
    name: { type: 'text', primary: true },
    serverId: { type: 'text', nullable: true },
    generation: { type: 'integer' },
    settled: { type: 'boolean' },
    createdAt: { type: 'bigint' },
  },
  uniques: [{ columns: ['serverId'] }],
});

/** Records that a server wants a database. Returns false if it already has one. */
export async function insertDatabase(tx: Tx, row: ServerDatabaseRow): Promise<boolean> {
  try {
    await tx.manager.insert(serverDatabases, row);
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

export async function getDatabase(db: Sql, name: string): Promise<ServerDatabaseRow | undefined> {
  const rows = await db.query<Stored>('SELECT * FROM "server_databases" WHERE "name" = $1', [name]);
  return rows.map(asRow)[0];
}

export async function databaseOf(db: Sql, serverId: string): Promise<ServerDatabaseRow | undefined> {
  const rows = await db.query<Stored>('SELECT * FROM "server_databases" WHERE "serverId" = $1', [serverId]);
  return rows.map(asRow)[0];
}

/** Returns databases that the database server does not agree with yet, oldest first. */
export async function listUnsettled(db: Sql): Promise<ServerDatabaseRow[]> {
  const sql = 'SELECT * FROM "server_databases" WHERE NOT "settled" ORDER BY "createdAt", "name"';
  return (await db.query<Stored>(sql)).map(asRow);
}

/** Requests the next password. */
export async function renewDatabase(tx: Tx, name: string): Promise<void> {
  const sql = 'UPDATE "server_databases" SET "generation" = "generation" + 1, "settled" = $1 WHERE "name" = $2';
  await tx.run(sql, [false, name]);
}

/** Marks a database for removal; no-op if it is marked already. */
export async function releaseDatabase(tx: Tx, name: string): Promise<void> {
  const sql = `UPDATE "server_databases" SET "serverId" = NULL, "settled" = $1
    WHERE "name" = $2 AND "serverId" IS NOT NULL`;
  await tx.run(sql, [false, name]);
}

/**
 * Records that the database server agrees with the row, unless the row has changed since. Deletes the row of a removed
 * database.
 */
export async function settleDatabase(tx: Tx, { name, serverId, generation }: ServerDatabaseRow): Promise<void> {
  if (serverId === null) await tx.run('DELETE FROM "server_databases" WHERE "name" = $1', [name]);
  else {
    const sql = `UPDATE "server_databases" SET "settled" = $1
      WHERE "name" = $2 AND "generation" = $3 AND "serverId" IS NOT NULL`;
    await tx.run(sql, [true, name, generation]);
  }
}

/** SQLite returns booleans as 0 and 1. */
type Stored = Omit<ServerDatabaseRow, 'settled'> & { settled: boolean | number };

function asRow(stored: Stored): ServerDatabaseRow {
  return { ...stored, settled: Boolean(stored.settled) };
}
