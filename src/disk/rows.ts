import { EntitySchema } from 'typeorm';
import { bigint } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** The size of a server's files at the last measurement, and an operator's quota for it. */
export interface ServerDiskRow {
  serverId: string;
  /** 0: none. */
  quotaOverrideMb: number;
  /** Allocated bytes at the last measurement; null: never measured. */
  realBytes: number | null;
  /** Sum of the files' lengths at the last measurement; null: never measured. */
  logicalBytes: number | null;
  measuredAt: number | null;
}

export const serverDisks = new EntitySchema<ServerDiskRow>({
  name: 'server_disks',
  columns: {
    serverId: { type: 'text', primary: true },
    quotaOverrideMb: bigint,
    realBytes: { ...bigint, nullable: true },
    logicalBytes: { ...bigint, nullable: true },
    measuredAt: { ...bigint, nullable: true },
  },
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
});

/** Returns the rows of every server that was measured or has its own quota. */
export async function listServerDisks(db: Sql): Promise<ServerDiskRow[]> {
  return db.query<ServerDiskRow>('SELECT * FROM "server_disks"');
}

/**
 * Returns the servers of an account with the size of their backups. Excludes folders replaced by a restore, which are
 * removed after the next start.
 */
export async function listAccountDisk(
  db: Sql,
  accountId: string,
): Promise<{ serverId: string; backupBytes: number }[]> {
  const sql = `SELECT s."id" AS "serverId", COALESCE(SUM(b."sizeBytes"), 0) AS "bytes"
    FROM "servers" s LEFT JOIN "backups" b ON b."serverId" = s."id" AND b."kind" <> 'previous'
    WHERE s."accountId" = $1 GROUP BY s."id"`;
  const rows = await db.query<{ serverId: string; bytes: number | string }>(sql, [accountId]);
  // PostgreSQL sums in numeric, which its driver returns as text.
  return rows.map(({ serverId, bytes }) => ({ serverId, backupBytes: Number(bytes) }));
}

/** Returns the accounts whose servers and backups together exceed a number of bytes at the last measurement. */
export async function listFullAccounts(db: Sql, bytes: number): Promise<string[]> {
  const sql = `SELECT s."accountId" AS "accountId" FROM "servers" s
    LEFT JOIN "server_disks" d ON d."serverId" = s."id"
    LEFT JOIN (SELECT "serverId", SUM("sizeBytes") AS "bytes" FROM "backups" WHERE "kind" <> 'previous' GROUP BY "serverId") b
      ON b."serverId" = s."id"
    GROUP BY s."accountId"
    HAVING SUM(COALESCE(CASE WHEN d."realBytes" > d."logicalBytes" THEN d."realBytes" ELSE d."logicalBytes" END, 0)
      + COALESCE(b."bytes", 0)) > $1`;
  return (await db.query<{ accountId: string }>(sql, [bytes])).map(({ accountId }) => accountId);
}

/** Stores a measurement. Does nothing if the server is gone. */
export async function saveDiskUsage(
  tx: Tx,
  serverId: string,
  usage: { realBytes: number; logicalBytes: number; measuredAt: number },
): Promise<void> {
  const { realBytes, logicalBytes, measuredAt } = usage;
  const sql = `INSERT INTO "server_disks" ("serverId", "quotaOverrideMb", "realBytes", "logicalBytes", "measuredAt")
    SELECT CAST($1 AS text), 0, CAST($2 AS bigint), CAST($3 AS bigint), CAST($4 AS bigint)
    WHERE EXISTS (SELECT 1 FROM "servers" WHERE "id" = $1)
    ON CONFLICT ("serverId") DO UPDATE SET "realBytes" = excluded."realBytes",
      "logicalBytes" = excluded."logicalBytes", "measuredAt" = excluded."measuredAt"`;
  await tx.run(sql, [serverId, realBytes, logicalBytes, measuredAt]);
}

/** Stores an operator's quota for a server, in MB; 0: none. */
export async function saveQuotaOverride(tx: Tx, serverId: string, quotaOverrideMb: number): Promise<void> {
  const sql = `INSERT INTO "server_disks" ("serverId", "quotaOverrideMb") VALUES ($1, $2)
    ON CONFLICT ("serverId") DO UPDATE SET "quotaOverrideMb" = excluded."quotaOverrideMb"`;
  await tx.run(sql, [serverId, quotaOverrideMb]);
}
