import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/** `ready` alone can be restored; `dropping`: its file is being removed, and nobody is shown it any more. */
export type BackupState = 'queued' | 'running' | 'ready' | 'failed' | 'dropping';

/** Why there is a backup; `previous` is no archive but the folder that a restore has put aside. */
export type BackupKind = 'manual' | 'schedule' | 'install' | 'reset' | 'restore' | 'previous';

/** What a server was when a backup of it was made, so that a restore can tell the truth again. */
export interface ServerMake {
  type: string;
  version: string;
  modpackPlatform: string;
  modpackRef: string;
  modpackVersion: string;
  /** The active world (`level-name`). */
  levelName: string;
}

/** One backup of one server. */
export interface BackupRow extends ServerMake {
  serverId: string;
  id: string;
  kind: BackupKind;
  state: BackupState;
  createdAt: number;
  /** When it became `ready` or `failed`. */
  finishedAt: number | null;
  /** Of the archive. */
  sizeBytes: number;
  /** Of what is in it. */
  treeBytes: number;
  /** Of the archive, in hex; '' until it is ready. */
  sha256: string;
  locked: boolean;
  /** Why it failed; '' where it did not. */
  error: string;
  /** Of `previous`: what the files that took its place lay like (`markOf`), to tell whether they were changed since. */
  replacedBy: string | null;
}

/** The mods of a server when a backup of it was made; there is none for backups of before these were kept. */
export interface BackupModsRow {
  serverId: string;
  backupId: string;
  /** JSON: its `server_mods`. */
  mods: string;
}

/** How many backups of a server are kept: the newest, and the newest of so many hours, days, weeks and months. */
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

/** A game that was told not to save, and has to be told to save again. */
export interface SavingOffRow {
  serverId: string;
  at: number;
}

/** The job that a server's machine is at (`maintaining`), or has queued, and how far it has come. */
export interface MaintenanceRow {
  serverId: string;
  jobId: string;
  kind: string;
  target: string;
  /** The last step that is done for good; '' before the first. */
  step: string;
}

const text: EntitySchemaColumnOptions = { type: 'text' };
const transformer = { to: exact, from: <T>(value: T): T => value };
const bigint: EntitySchemaColumnOptions = { type: 'bigint', transformer };
const integer: EntitySchemaColumnOptions = { type: 'integer', transformer };
const ofServer = {
  target: 'servers',
  columnNames: ['serverId'],
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE' as const,
};

export const backups = new EntitySchema<BackupRow>({
  name: 'backups',
  columns: {
    serverId: id,
    id: id,
    kind: text,
    state: text,
    createdAt: bigint,
    finishedAt: { ...bigint, nullable: true },
    sizeBytes: bigint,
    treeBytes: bigint,
    sha256: text,
    locked: { type: 'boolean' },
    error: text,
    type: text,
    version: text,
    modpackPlatform: text,
    modpackRef: text,
    modpackVersion: text,
    levelName: text,
    replacedBy: { ...text, nullable: true },
  },
  indices: [{ columns: ['state'] }],
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

export const maintenance = new EntitySchema<MaintenanceRow>({
  name: 'maintenance',
  columns: { serverId: id, jobId: text, kind: text, target: text, step: text },
  foreignKeys: [ofServer],
});

/** In the order in which they are made. */
export const backupEntities = [backups, backupMods, backupRetention, savingOff, maintenance];
