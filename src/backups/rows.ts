import { EntitySchema, In } from 'typeorm';
import { type ServerModRow, listMods, replaceMods } from '../mods/rows.ts';
import { bigint, id, integer, ofServer, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** Only `ready` ones can be restored. `dropping`: the archive is being removed and no longer listed. */
export type BackupState = 'queued' | 'running' | 'ready' | 'failed' | 'dropping';

/** The reason for a backup. `previous` is not an archive but the folder replaced by a restore. */
export type BackupKind = 'manual' | 'schedule' | 'install' | 'reset' | 'restore' | 'previous';

/** The software and active world of a server at the time of a backup. A restore sets them again. */
export interface ServerSoftware {
  type: string;
  version: string;
  modpackPlatform: string;
  modpackRef: string;
  modpackVersion: string;
  /** The active world (`level-name`). */
  levelName: string;
}

/** The key of a backup. */
export interface Ref {
  serverId: string;
  id: string;
}

/** Returns a key that is unique among the backups of all servers. */
export function keyOf({ serverId, id }: Ref): string {
  return `${serverId}/${id}`;
}

/** The format of an archive: compressed with Zstandard, or plain for stores that compress and share pieces themselves. */
export type BackupFormat = 'tar.zst' | 'tar';

/** One backup of one server. */
export interface BackupRow extends Ref, ServerSoftware {
  kind: BackupKind;
  state: BackupState;
  createdAt: number;
  /** When it became `ready` or `failed`. */
  finishedAt: number | null;
  format: BackupFormat;
  /** The archive's size. */
  sizeBytes: number;
  /** The space that it takes: its size, or what it added to a store that shares pieces. Counts against the quota. */
  addedBytes: number;
  /** The size of the archived files. */
  treeBytes: number;
  /** The archive's checksum in hex; '' until it is ready. */
  sha256: string;
  locked: boolean;
  /** Why it failed; '' if it did not. */
  error: string;
  /** The occasion, such as `before the update to Paper 1.21.11`; '' if the kind says it. */
  label: string;
  /** A note to read before a restore; '' if the backup is complete. */
  note: string;
  /** For `previous`: fingerprint of the files that replaced it, to detect later changes. */
  replacedBy: string | null;
  /** The archive's place: '' for the folder, else `restic:<repository>` without credentials. */
  location: string;
}

/**
 * How many backups of a server are kept: the newest, and the newest of each of the last hours, days, weeks and months.
 */
export interface Retention {
  keepLast: number;
  hourly: number;
  daily: number;
  weekly: number;
  monthly: number;
}

export interface RetentionRow extends Retention {
  serverId: string;
}

/** A game whose saving is paused and must be resumed. */
export interface SavingOffRow {
  serverId: string;
  at: number;
}

/** The mods of a server at the time of a backup. Missing if not recorded. */
export interface BackupModsRow {
  serverId: string;
  backupId: string;
  /** JSON: its `server_mods`. */
  mods: string;
}

export const backups = new EntitySchema<BackupRow>({
  name: 'backups',
  columns: {
    serverId: id,
    id: id,
    kind: text,
    state: text,
    createdAt: bigint,
    finishedAt: { ...bigint, nullable: true },
    format: text,
    sizeBytes: bigint,
    addedBytes: bigint,
    treeBytes: bigint,
    sha256: text,
    locked: { type: 'boolean' },
    error: text,
    note: text,
    label: text,
    type: text,
    version: text,
    modpackPlatform: text,
    modpackRef: text,
    modpackVersion: text,
    levelName: text,
    replacedBy: { ...text, nullable: true },
    location: text,
  },
  indices: [{ columns: ['state'] }],
  foreignKeys: [ofServer],
});

export const backupRetention = new EntitySchema<RetentionRow>({
  name: 'backup_retention',
  columns: {
    serverId: id,
    keepLast: integer,
    hourly: integer,
    daily: integer,
    weekly: integer,
    monthly: integer,
  },
  foreignKeys: [ofServer],
});

export const savingOff = new EntitySchema<SavingOffRow>({
  name: 'saving_off',
  columns: { serverId: id, at: bigint },
  foreignKeys: [ofServer],
});

export const backupMods = new EntitySchema<BackupModsRow>({
  name: 'backup_mods',
  columns: { serverId: id, backupId: id, mods: text },
  foreignKeys: [
    {
      target: 'backups',
      columnNames: ['serverId', 'backupId'],
      referencedColumnNames: ['serverId', 'id'],
      onDelete: 'CASCADE',
    },
  ],
});

/** The columns of a backup that may change later. */
export type BackupPatch = Partial<Omit<BackupRow, 'serverId' | 'id' | 'createdAt'>>;

/** The id of the backup that stands for the folder replaced by a restore. */
export const PREVIOUS = 'previous';

/** Returns the row of a requested backup. */
export function emptyBackup({ serverId, id }: Ref, createdAt: number): BackupRow {
  const software = { type: '', version: '', modpackPlatform: '', modpackRef: '', modpackVersion: '', levelName: '' };
  const sizes = { sizeBytes: 0, addedBytes: 0, treeBytes: 0 };
  const archive = { finishedAt: null, format: 'tar.zst', ...sizes, sha256: '', location: '' } as const;
  const rest = { locked: false, error: '', note: '', label: '', replacedBy: null };
  return { serverId, id, kind: 'manual', state: 'queued', createdAt, ...software, ...archive, ...rest };
}

export async function insertBackup(tx: Tx, row: BackupRow): Promise<void> {
  await tx.manager.insert(backups, row);
}

export async function getBackup(db: Sql, serverId: string, id: string): Promise<BackupRow | undefined> {
  const sql = 'SELECT * FROM "backups" WHERE "serverId" = $1 AND "id" = $2';
  return (await db.query<StoredBackup>(sql, [serverId, id])).map(backupRow)[0];
}

/** Returns a server's backups, newest first, without those being removed. */
export async function listBackups(db: Sql, serverId: string): Promise<BackupRow[]> {
  const sql = `SELECT * FROM "backups" WHERE "serverId" = $1 AND "state" <> 'dropping' ORDER BY "createdAt" DESC, "id"`;
  return (await db.query<StoredBackup>(sql, [serverId])).map(backupRow);
}

/** Returns all backups in a state, of all servers, oldest first. */
export async function listBackupsIn(db: Sql, state: BackupState): Promise<BackupRow[]> {
  const sql = 'SELECT * FROM "backups" WHERE "state" = $1 ORDER BY "createdAt", "id"';
  return (await db.query<StoredBackup>(sql, [state])).map(backupRow);
}

/** Returns the folders replaced by restores, of all servers. */
export async function listPrevious(db: Sql): Promise<BackupRow[]> {
  const rows = await db.query<StoredBackup>(`SELECT * FROM "backups" WHERE "kind" = 'previous'`);
  return rows.map(backupRow);
}

/** Changes a backup in one of the given states. Returns false if no backup matches. */
export async function patchBackup(
  tx: Tx,
  { serverId, id }: Ref,
  fields: BackupPatch,
  from: readonly BackupState[],
): Promise<boolean> {
  const { affected } = await tx.manager.update(backups, { serverId, id, state: In([...from]) }, fields);
  return affected === 1;
}

export async function deleteBackup(tx: Tx, { serverId, id }: Ref): Promise<void> {
  await tx.run('DELETE FROM "backups" WHERE "serverId" = $1 AND "id" = $2', [serverId, id]);
}

/** Returns the owner's rules; undefined if none are set. */
export async function getRetention(db: Sql, serverId: string): Promise<Retention | undefined> {
  const sql = `SELECT "keepLast", "hourly", "daily", "weekly", "monthly" FROM "backup_retention"
    WHERE "serverId" = $1`;
  return (await db.query<Retention>(sql, [serverId]))[0];
}

export async function setRetention(tx: Tx, serverId: string, retention: Retention): Promise<void> {
  await tx.run('DELETE FROM "backup_retention" WHERE "serverId" = $1', [serverId]);
  await tx.manager.insert(backupRetention, { serverId, ...retention });
}

/** Records that a game's saving is being paused, until `forgetSavingOff`. Returns false if it was recorded already. */
export async function noteSavingOff(tx: Tx, serverId: string, at: number): Promise<boolean> {
  const sql = 'INSERT INTO "saving_off" ("serverId", "at") VALUES ($1, $2) ON CONFLICT ("serverId") DO NOTHING';
  return (await tx.run(sql, [serverId, at])) === 1;
}

export async function forgetSavingOff(tx: Tx, serverId: string): Promise<void> {
  await tx.run('DELETE FROM "saving_off" WHERE "serverId" = $1', [serverId]);
}

export async function isSavingOff(db: Sql, serverId: string): Promise<boolean> {
  return (await db.query('SELECT 1 FROM "saving_off" WHERE "serverId" = $1', [serverId])).length > 0;
}

export async function listSavingOff(db: Sql): Promise<string[]> {
  const rows = await db.query<{ serverId: string }>('SELECT "serverId" FROM "saving_off" ORDER BY "at"');
  return rows.map(({ serverId }) => serverId);
}

/** Records the server's current mods with a backup. */
export async function keepMods(tx: Tx, { serverId, id: backupId }: Ref): Promise<void> {
  const mods = JSON.stringify(await listMods(tx, serverId));
  await tx.run('DELETE FROM "backup_mods" WHERE "serverId" = $1 AND "backupId" = $2', [serverId, backupId]);
  await tx.manager.insert(backupMods, { serverId, backupId, mods });
}

/** Restores the mods that a server had at the time of a backup, if recorded. */
export async function restoreMods(tx: Tx, { serverId, id }: Ref): Promise<void> {
  const sql = 'SELECT "mods" FROM "backup_mods" WHERE "serverId" = $1 AND "backupId" = $2';
  const [kept] = await tx.query<{ mods: string }>(sql, [serverId, id]);
  if (kept) await replaceMods(tx, serverId, JSON.parse(kept.mods) as ServerModRow[]);
}

/** A row as raw SQL returns it: SQLite represents booleans as numbers. */
type StoredBackup = Omit<BackupRow, 'locked'> & { locked: boolean | number };

function backupRow(row: StoredBackup): BackupRow {
  return { ...row, locked: Boolean(row.locked) };
}
