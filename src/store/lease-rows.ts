import { EntitySchema } from 'typeorm';
import { bigint, id, integer, text } from './columns.ts';
import type { Dialect } from './data-source.ts';
import type { Sql, Tx } from './writer.ts';

/** The holder of a right that only one process may have. Written by `lease.ts`. */
export interface LeaseRow {
  /** The name of the lease. */
  name: string;
  /** Random, new with every holder. */
  token: string;
  hostname: string;
  /** The machine's boot and PID namespace, in which `pid` is valid. */
  scope: string;
  pid: number;
  /** The start of that process, in its kernel's own unit; '' if the system does not report it. */
  startedAt: string;
  /** Changes with each renewal. Others only check whether it changed; it is not compared with a clock. */
  expiresAt: number;
}

export const leases = new EntitySchema<LeaseRow>({
  name: 'leases',
  columns: {
    name: id,
    token: text,
    hostname: text,
    scope: text,
    pid: integer,
    startedAt: text,
    expiresAt: bigint,
  },
});

export async function getLease(db: Sql, name: string): Promise<LeaseRow | undefined> {
  const [row] = await db.query<LeaseRow>('SELECT * FROM "leases" WHERE "name" = $1', [name]);
  return row;
}

/**
 * Replaces the lease `from` with `row`. `from` is the lease as it was read; undefined if there was no lease. Returns
 * false if the lease has a new holder or was renewed since.
 */
export async function takeLease(tx: Tx, row: LeaseRow, from: LeaseRow | undefined): Promise<boolean> {
  if (from !== undefined) {
    const { name, token, expiresAt } = from;
    return (await tx.manager.update(leases, { name, token, expiresAt }, row)).affected === 1;
  }
  const values = [row.name, row.token, row.hostname, row.scope, row.pid, row.startedAt, row.expiresAt];
  const inserted = await tx.run(
    `INSERT INTO "leases" ("name", "token", "hostname", "scope", "pid", "startedAt", "expiresAt")
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
    values,
  );
  return inserted === 1;
}

/**
 * Reports whether the token still holds the lease. On PostgreSQL the lease cannot be taken before this transaction has
 * ended.
 */
export async function holdsLease(db: Sql, dialect: Dialect, name: string, token: string): Promise<boolean> {
  const sql = 'SELECT 1 FROM "leases" WHERE "name" = $1 AND "token" = $2';
  // SQLite has one writer at a time, and does not know this clause.
  return (await db.query(dialect === 'postgres' ? `${sql} FOR SHARE` : sql, [name, token])).length > 0;
}

/**
 * Stores an instant that differs from the previous one, even if the clock was set back: a waiting process checks for a
 * difference.
 */
export async function renewLease(tx: Tx, name: string, token: string, expiresAt: number): Promise<void> {
  await tx.run(
    `UPDATE "leases" SET "expiresAt" = CASE WHEN "expiresAt" >= $1 THEN "expiresAt" + 1 ELSE $1 END
     WHERE "name" = $2 AND "token" = $3`,
    [expiresAt, name, token],
  );
}

export async function releaseLease(tx: Tx, name: string, token: string): Promise<void> {
  await tx.run('DELETE FROM "leases" WHERE "name" = $1 AND "token" = $2', [name, token]);
}
