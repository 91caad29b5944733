import { EntitySchema } from 'typeorm';
import { bigint, id, text } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';
import type { BackupRow } from '../rows.ts';

/** A backup, or all backups of a server. */
export interface OneOrAll {
  serverId: string;
  id?: string;
}

interface Key {
  serverId: string;
  backupId: string;
}

/** A finished backup in the folder that is waiting for its upload or being uploaded. */
export interface BackupUploadRow extends Key {
  /** The target: `restic:<repository>`, without credentials. */
  location: string;
  at: number;
}

/** An archive off site to be removed. Remains until that is done, even if its server is deleted. */
export interface OffsiteRemovalRow {
  location: string;
  serverId: string;
  backupId: string;
  at: number;
}

export const backupUploads = new EntitySchema<BackupUploadRow>({
  name: 'backup_uploads',
  columns: { serverId: id, backupId: id, location: text, at: bigint },
  foreignKeys: [
    {
      target: 'backups',
      columnNames: ['serverId', 'backupId'],
      referencedColumnNames: ['serverId', 'id'],
      onDelete: 'CASCADE',
    },
  ],
});

export const offsiteRemovals = new EntitySchema<OffsiteRemovalRow>({
  name: 'offsite_removals',
  columns: { location: id, serverId: id, backupId: id, at: bigint },
});

/** Records that a backup must be uploaded. */
export async function insertUpload(tx: Tx, row: BackupUploadRow): Promise<void> {
  await tx.manager.insert(backupUploads, row);
}

/** Oldest first. */
export async function listUploads(db: Sql): Promise<BackupUploadRow[]> {
  return await db.query<BackupUploadRow>('SELECT * FROM "backup_uploads" ORDER BY "at", "backupId"');
}

/**
 * Returns the number of backups waiting for their upload or being uploaded, and since when the oldest waits; null
 * without any.
 */
export async function countUploads(db: Sql): Promise<{ count: number; since: number | null }> {
  const sql = 'SELECT COUNT(*) AS "count", MIN("at") AS "since" FROM "backup_uploads"';
  const [row] = await db.query<{ count: number | string; since: number | string | null }>(sql);
  const since = row?.since ?? null;
  return { count: Number(row?.count ?? 0), since: since === null ? null : Number(since) };
}

/** Returns the ids of a server's backups still to be uploaded. */
export async function listUploadsOf(db: Sql, serverId: string): Promise<Set<string>> {
  const sql = 'SELECT "backupId" FROM "backup_uploads" WHERE "serverId" = $1';
  const found = await db.query<{ backupId: string }>(sql, [serverId]);
  return new Set(found.map(({ backupId }) => backupId));
}

/** Returns a pending upload; undefined if it is done or its backup was removed. */
export async function getUpload(db: Sql, { serverId, backupId }: Key): Promise<BackupUploadRow | undefined> {
  const sql = 'SELECT * FROM "backup_uploads" WHERE "serverId" = $1 AND "backupId" = $2';
  return (await db.query<BackupUploadRow>(sql, [serverId, backupId]))[0];
}

export async function deleteUpload(tx: Tx, { serverId, backupId }: Key): Promise<void> {
  await tx.run('DELETE FROM "backup_uploads" WHERE "serverId" = $1 AND "backupId" = $2', [serverId, backupId]);
}

/**
 * Records the removal of the off-site archives of one backup, or of all of a server's, including begun uploads, and
 * cancels their pending uploads.
 */
export async function noteRemovals(tx: Tx, { serverId, id: backupId }: OneOrAll, at: number): Promise<void> {
  const one = backupId === undefined ? '' : ' AND b."id" = $3';
  const given = backupId === undefined ? [at, serverId] : [at, serverId, backupId];
  // A backup being uploaded is still located in the folder.
  for (const [location, from] of [
    ['b."location"', '"backups" b'],
    ['u."location"', '"backups" b JOIN "backup_uploads" u ON u."serverId" = b."serverId" AND u."backupId" = b."id"'],
  ]) {
    const sql = `INSERT INTO "offsite_removals" ("location", "serverId", "backupId", "at")
      SELECT ${location}, b."serverId", b."id", CAST($1 AS bigint) FROM ${from}
      WHERE b."serverId" = $2 AND ${location} <> ''${one}
      ON CONFLICT ("location", "serverId", "backupId") DO NOTHING`;
    await tx.run(sql, given);
  }
  const ofOne = backupId === undefined ? '' : ' AND "backupId" = $2';
  const key = backupId === undefined ? [serverId] : [serverId, backupId];
  await tx.run(`DELETE FROM "backup_uploads" WHERE "serverId" = $1${ofOne}`, key);
}

/** Records that an archive off site must be removed. */
export async function insertRemoval(tx: Tx, row: OffsiteRemovalRow): Promise<void> {
  await tx.manager.insert(offsiteRemovals, row);
}

/** Returns `<server>/<backup>` of all archives at a location, including pending uploads and removals. */
export async function listKnown(db: Sql, location: string): Promise<Set<string>> {
  const sql = `SELECT "serverId", "id" AS "backupId" FROM "backups" WHERE "location" = $1
    UNION SELECT "serverId", "backupId" FROM "backup_uploads" WHERE "location" = $1
    UNION SELECT "serverId", "backupId" FROM "offsite_removals" WHERE "location" = $1`;
  const found = await db.query<Key>(sql, [location]);
  return new Set(found.map(({ serverId, backupId }) => `${serverId}/${backupId}`));
}

/**
 * Keeps account of the space of an off-site backup that is being removed: its pieces may still be used by the next newer
 * one, so they count there from now on, up to that one's size. One still to be uploaded gets them on top of its size.
 */
export async function passOnAdded(tx: Tx, { serverId, location, createdAt, addedBytes }: BackupRow): Promise<void> {
  const sql = `UPDATE "backups" SET "addedBytes" = CASE
      WHEN "location" <> '' AND "addedBytes" + CAST($1 AS bigint) > "sizeBytes" THEN "sizeBytes"
      ELSE "addedBytes" + CAST($1 AS bigint) END
    WHERE "serverId" = $2 AND "id" = (SELECT "id" FROM "backups" WHERE "serverId" = $2 AND "location" IN ($3, '')
      AND "state" = 'ready' AND "kind" <> 'previous' AND "createdAt" > $4 ORDER BY "createdAt" LIMIT 1)`;
  await tx.run(sql, [addedBytes, serverId, location, createdAt]);
}

/** Oldest first. */
export async function listRemovals(db: Sql): Promise<OffsiteRemovalRow[]> {
  return await db.query<OffsiteRemovalRow>('SELECT * FROM "offsite_removals" ORDER BY "at", "backupId"');
}

export async function deleteRemoval(tx: Tx, { location, serverId, backupId }: OffsiteRemovalRow): Promise<void> {
  const sql = 'DELETE FROM "offsite_removals" WHERE "location" = $1 AND "serverId" = $2 AND "backupId" = $3';
  await tx.run(sql, [location, serverId, backupId]);
}

/** Reports whether backups are stored at a location. */
export async function hasArchives(db: Sql, location: string): Promise<boolean> {
  return (await db.query('SELECT 1 FROM "backups" WHERE "location" = $1 LIMIT 1', [location])).length > 0;
}
