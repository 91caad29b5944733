import { EntitySchema } from 'typeorm';
import { bigint, maybeAt, text } from '../store/columns.ts';
import { countOf } from '../store/count.ts';
import { AT_SLEEP, playHours } from './next-run.ts';
import type { Sql, Tx } from '../store/writer.ts';

export const MOST_WARN_SECONDS = 600;

export type ScheduleKind = 'command' | 'start' | 'stop' | 'restart' | 'backup' | 'update';

/** A recurring task on a server. */
export interface ScheduleRow {
  id: string;
  serverId: string;
  kind: ScheduleKind;
  /** For kind `command`; otherwise ''. */
  command: string;
  /** Five fields, in `timeZone`; or `@sleep` or `@play 6h`, which are due on an occasion. */
  cronExpr: string;
  /** An IANA time zone name. */
  timeZone: string;
  enabled: boolean;
  /** Whether runs are skipped while players may be online. */
  onlyWhenEmpty: boolean;
  /** How long before a stop, restart or backup players are warned; 0: never. At most `MOST_WARN_SECONDS`. */
  warnSeconds: number;
  /** The result of the last run; '' before the first run and while a run is in progress. */
  lastStatus: '' | 'ok' | 'error' | 'skipped';
  /** The reason for an error or a skipped run; '' otherwise. */
  lastError: string;
  createdAt: number;
  lastRunAt: number | null;
  /** Null while disabled, and until the occasion of `@sleep` or `@play`. */
  nextRunAt: number | null;
  /** Minutes of play since `@play` was last due. */
  playedMinutes: number;
  /** Start of the run in progress; null without one. */
  runningSince: number | null;
  /** The user who created or last enabled the schedule. It acts on their behalf; '' if unknown. */
  userId: string;
  /** The API key they used; '' without one. */
  keyId: string;
}

export const schedules = new EntitySchema<ScheduleRow>({
  name: 'schedules',
  columns: {
    id: { type: 'text', primary: true },
    serverId: text,
    kind: text,
    command: text,
    cronExpr: text,
    timeZone: text,
    enabled: { type: 'boolean' },
    onlyWhenEmpty: { type: 'boolean' },
    warnSeconds: { type: 'integer' },
    lastStatus: text,
    lastError: text,
    createdAt: bigint,
    lastRunAt: maybeAt,
    nextRunAt: maybeAt,
    playedMinutes: { type: 'integer' },
    runningSince: maybeAt,
    userId: text,
    keyId: text,
  },
  indices: [{ columns: ['serverId'] }, { columns: ['nextRunAt'] }],
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
});

export type ScheduleOutcome = Pick<ScheduleRow, 'lastStatus' | 'lastError'>;

export async function insertSchedule(tx: Tx, row: ScheduleRow): Promise<void> {
  await tx.manager.insert(schedules, row);
}

/** Returns a schedule of this server; undefined if the server has no schedule with this id. */
export async function getSchedule(db: Sql, serverId: string, id: string): Promise<ScheduleRow | undefined> {
  const sql = 'SELECT * FROM "schedules" WHERE "serverId" = $1 AND "id" = $2';
  return (await db.query<Stored>(sql, [serverId, id])).map(asRow)[0];
}

/** Returns a server's schedules, oldest first. */
export async function listSchedules(db: Sql, serverId: string): Promise<ScheduleRow[]> {
  const sql = 'SELECT * FROM "schedules" WHERE "serverId" = $1 ORDER BY "createdAt", "id"';
  return (await db.query<Stored>(sql, [serverId])).map(asRow);
}

export async function countSchedules(db: Sql, serverId: string): Promise<number> {
  const sql = 'SELECT COUNT(*) AS "count" FROM "schedules" WHERE "serverId" = $1';
  return countOf(db, sql, [serverId]);
}

/** Deletes a schedule. Returns false if the server has no such schedule. */
export async function deleteSchedule(tx: Tx, serverId: string, id: string): Promise<boolean> {
  return (await tx.run('DELETE FROM "schedules" WHERE "serverId" = $1 AND "id" = $2', [serverId, id])) === 1;
}

/** Changes a schedule's action, time and author. A run in progress continues. */
export async function changeSchedule(tx: Tx, row: ScheduleRow): Promise<void> {
  const { id, kind, command, cronExpr, timeZone, nextRunAt, playedMinutes, userId, keyId } = row;
  const sql = `UPDATE "schedules" SET "kind" = $1, "command" = $2, "cronExpr" = $3, "nextRunAt" = $4, "userId" = $5,
    "keyId" = $6, "timeZone" = $7, "onlyWhenEmpty" = $8, "warnSeconds" = $9, "playedMinutes" = $10 WHERE "id" = $11`;
  const { onlyWhenEmpty, warnSeconds } = row;
  const what = [kind, command, cronExpr, nextRunAt, userId, keyId, timeZone];
  await tx.run(sql, [...what, onlyWhenEmpty, warnSeconds, playedMinutes, id]);
}

/** Stores whether a schedule is enabled, the time of its next run, and its author. */
export async function enableSchedule(tx: Tx, { id, enabled, nextRunAt, userId, keyId }: ScheduleRow): Promise<void> {
  const sql = 'UPDATE "schedules" SET "enabled" = $1, "nextRunAt" = $2, "userId" = $3, "keyId" = $4 WHERE "id" = $5';
  await tx.run(sql, [enabled, nextRunAt, userId, keyId, id]);
}

/** Makes a server's schedules for its sleep due. Runs in the write of the step that ends its game. */
export async function makeDueAtSleep(tx: Tx, serverId: string, at: number): Promise<void> {
  const sql = `UPDATE "schedules" SET "nextRunAt" = $1 WHERE "serverId" = $2 AND "enabled" = $3 AND "cronExpr" = $4
    AND "nextRunAt" IS NULL`;
  await tx.run(sql, [at, serverId, true, AT_SLEEP]);
}

/** Returns the enabled schedules by hours of play, of all servers. */
export async function listPlaySchedules(db: Sql): Promise<ScheduleRow[]> {
  const sql = `SELECT * FROM "schedules" WHERE "enabled" = $1 AND "cronExpr" LIKE '@play %'`;
  return (await db.query<Stored>(sql, [true])).map(asRow);
}

/** Counts a minute of play. The last one starts over and makes the schedule due, once players can be warned. */
export async function countPlayed(tx: Tx, schedule: ScheduleRow, at: number): Promise<void> {
  const { id, cronExpr, playedMinutes, warnSeconds } = schedule;
  const minutes = playedMinutes + 1;
  const isDue = minutes >= (playHours(cronExpr) ?? Infinity) * 60;
  const sql = `UPDATE "schedules" SET "playedMinutes" = $1, "nextRunAt" = COALESCE("nextRunAt", $2)
    WHERE "id" = $3 AND "enabled" = $4 AND "cronExpr" = $5 AND "playedMinutes" = $6`;
  const dueAt = isDue ? at + warnSeconds * 1_000 : null;
  await tx.run(sql, [isDue ? 0 : minutes, dueAt, id, true, cronExpr, playedMinutes]);
}

/** Disables a schedule that can no longer run, with the reason. Returns false if it is already disabled. */
export async function disableSchedule(tx: Tx, id: string, why: string): Promise<boolean> {
  const sql = `UPDATE "schedules" SET "enabled" = $1, "nextRunAt" = NULL, "lastStatus" = 'skipped', "lastError" = $2
    WHERE "id" = $3 AND "enabled" = $4`;
  return (await tx.run(sql, [false, why, id, true])) === 1;
}

/** Returns the enabled schedules that act for a user on a server, or for a key. */
export async function listSchedulesBy(
  db: Sql,
  author: { userId: string; serverId: string } | { keyId: string },
): Promise<ScheduleRow[]> {
  const byKey = 'keyId' in author;
  const which = byKey ? '"keyId" = $2' : '"userId" = $2 AND "serverId" = $3';
  const values = byKey ? [author.keyId] : [author.userId, author.serverId];
  const sql = `SELECT * FROM "schedules" WHERE "enabled" = $1 AND ${which} ORDER BY "createdAt", "id"`;
  return (await db.query<Stored>(sql, [true, ...values])).map(asRow);
}

/** Returns up to `limit` schedules that are due by `at`, the longest overdue first. */
export async function listDueSchedules(db: Sql, at: number, limit: number): Promise<ScheduleRow[]> {
  const sql = 'SELECT * FROM "schedules" WHERE "nextRunAt" <= $1 ORDER BY "nextRunAt", "id" LIMIT $2';
  return (await db.query<Stored>(sql, [at, limit])).map(asRow);
}

export async function listSchedulesAfter(db: Sql, at: number): Promise<ScheduleRow[]> {
  return (await db.query<Stored>('SELECT * FROM "schedules" WHERE "nextRunAt" > $1', [at])).map(asRow);
}

/** Changes the time of the next run, unless it was changed since the schedule was read. */
export async function moveRun(tx: Tx, { id, nextRunAt: dueAt }: ScheduleRow, nextRunAt: number): Promise<void> {
  await tx.run('UPDATE "schedules" SET "nextRunAt" = $1 WHERE "id" = $2 AND "nextRunAt" = $3', [nextRunAt, id, dueAt]);
}

const WARNS_AT = `"nextRunAt" - "warnSeconds" * 1000`;

/** Returns the schedules that are due after `at` and whose players are to be warned by then. */
export async function listSchedulesToWarnOf(db: Sql, at: number): Promise<ScheduleRow[]> {
  const sql = `SELECT * FROM "schedules" WHERE "nextRunAt" > $1 AND "nextRunAt" <= $2 AND ${WARNS_AT} <= $1`;
  return (await db.query<Stored>(sql, [at, at + MOST_WARN_SECONDS * 1_000])).map(asRow);
}

/** Returns when the next schedule is due, or the next warning after `at`; null without one. */
export async function nextScheduleAt(db: Sql, at: number): Promise<number | null> {
  const sql = `SELECT MIN(CASE WHEN ${WARNS_AT} > $1 THEN ${WARNS_AT} ELSE "nextRunAt" END) AS "at" FROM "schedules"
    WHERE "nextRunAt" <= (SELECT MIN("nextRunAt") FROM "schedules") + ${MOST_WARN_SECONDS * 1_000}`;
  const [row] = await db.query<{ at: number | string | null }>(sql, [at]);
  return row?.at == null ? null : Number(row.at);
}

/**
 * Claims a run. Returns true to exactly one caller, which then runs it. Returns false if a run is in progress, or if
 * this run was claimed before (`dueAt` is outdated).
 */
export async function takeRun(tx: Tx, { id, nextRunAt: dueAt }: ScheduleRow, at: number, nextRunAt: number | null) {
  const sql = `UPDATE "schedules"
    SET "runningSince" = $1, "lastRunAt" = $1, "lastStatus" = '', "lastError" = '', "nextRunAt" = $2
    WHERE "id" = $3 AND "runningSince" IS NULL AND "nextRunAt" IS NOT DISTINCT FROM $4`;
  return (await tx.run(sql, [at, nextRunAt, id, dueAt])) === 1;
}

/** Skips a run, unless its time has changed since the schedule was read. */
export async function skipRun(tx: Tx, { id, nextRunAt: dueAt }: ScheduleRow, why: string, nextRunAt: number | null) {
  const sql = `UPDATE "schedules" SET "lastStatus" = 'skipped', "lastError" = $1, "nextRunAt" = $2
    WHERE "id" = $3 AND "nextRunAt" IS NOT DISTINCT FROM $4`;
  await tx.run(sql, [why, nextRunAt, id, dueAt]);
}

export async function endRun(tx: Tx, id: string, { lastStatus, lastError }: ScheduleOutcome): Promise<void> {
  const sql = 'UPDATE "schedules" SET "runningSince" = NULL, "lastStatus" = $1, "lastError" = $2 WHERE "id" = $3';
  await tx.run(sql, [lastStatus, lastError, id]);
}

/** Ends runs that an earlier run of the service left in progress, as errors: their result is unknown. */
export async function endInterruptedRuns(tx: Tx, why: string): Promise<void> {
  const sql = `UPDATE "schedules" SET "runningSince" = NULL, "lastStatus" = 'error', "lastError" = $1
    WHERE "runningSince" IS NOT NULL`;
  await tx.run(sql, [why]);
}

/** SQLite returns booleans as 0 and 1. */
type Stored = Omit<ScheduleRow, 'enabled' | 'onlyWhenEmpty'> & Record<'enabled' | 'onlyWhenEmpty', boolean | number>;

function asRow(stored: Stored): ScheduleRow {
  return { ...stored, enabled: Boolean(stored.enabled), onlyWhenEmpty: Boolean(stored.onlyWhenEmpty) };
}
