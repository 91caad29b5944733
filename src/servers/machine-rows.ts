import { EntitySchema } from 'typeorm';
import { serverNotFound } from '../access/owned-servers.ts';
import { bigint, id, ofServer, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** One transition of one server's machine; the newest 50 are served. */
export interface TransitionRow {
  serverId: string;
  seq: number;
  at: number;
  event: string;
  from: string;
  to: string;
  /** The cause, as JSON text of the machines' `Cause`. */
  cause: string;
}

/** A transition to be stored; the store adds the server and a number. */
export type NewTransition = Omit<TransitionRow, 'serverId' | 'seq'>;

export const transitions = new EntitySchema<TransitionRow>({
  name: 'transitions',
  columns: {
    serverId: id,
    seq: { ...bigint, primary: true },
    at: bigint,
    event: text,
    from: text,
    to: text,
    cause: text,
  },
  foreignKeys: [ofServer],
});

/**
 * Number of transitions stored per server. Older ones are deleted in batches, because a delete at each step would be
 * one of its six statements.
 */
const KEPT_TRANSITIONS = 200;
const TRIMMED_EACH = 20;

/** The stored result of one step of a server's machine. */
interface SnapshotChange {
  /** JSON text. */
  snapshot: string;
  /** The snapshot's wire state, or `deleting`. */
  state: string;
  updatedAt: number;
  /** The transitions since the last save, oldest first. */
  transitions: NewTransition[];
}

/** Stores a machine's snapshot with the transitions that led to it. Throws NOT_FOUND for an unknown server. */
export async function saveSnapshot(tx: Tx, id: string, change: SnapshotChange): Promise<void> {
  const { snapshot, state, updatedAt, transitions } = change;
  // Plain SQL: this is the most frequent write, and building the query took longer than running it.
  const sql = 'UPDATE "servers" SET "snapshot" = $1, "state" = $2, "updatedAt" = $3 WHERE "id" = $4';
  if ((await tx.run(sql, [snapshot, state, updatedAt, id])) !== 1) throw serverNotFound(id);
  if (transitions.length > 0) await append(tx, id, transitions);
}

/** Returns a server's newest transitions, newest first. */
export async function listTransitions(db: Sql, serverId: string, limit = 50): Promise<TransitionRow[]> {
  const sql = 'SELECT * FROM "transitions" WHERE "serverId" = $1 ORDER BY "seq" DESC LIMIT $2';
  return db.query<TransitionRow>(sql, [serverId, limit]);
}

/** Returns a server's transitions since an instant, oldest first, as far back as they are stored. */
export async function listTransitionsSince(db: Sql, serverId: string, at: number): Promise<TransitionRow[]> {
  const sql = 'SELECT * FROM "transitions" WHERE "serverId" = $1 AND "at" >= $2 ORDER BY "seq"';
  return db.query<TransitionRow>(sql, [serverId, at]);
}

/**
 * Returns the changes of state of up to 500 servers since an instant, oldest first, as far back as they are stored. Those
 * of each server begin with the one to its state at that instant.
 */
export async function listStatesSince(db: Sql, serverIds: readonly string[], at: number): Promise<TransitionRow[]> {
  if (serverIds.length === 0) return [];
  const names = serverIds.map((_, nth) => `$${nth + 1}`).join(', ');
  // A subquery for each row would read the changes of a day once for each of them.
  const sql = `SELECT t.* FROM "transitions" t
    LEFT JOIN (SELECT "serverId", MAX("seq") AS "seq" FROM "transitions"
      WHERE "serverId" IN (${names}) AND "from" <> "to" AND "at" <= $${serverIds.length + 1} GROUP BY "serverId") b
      ON b."serverId" = t."serverId"
    WHERE t."serverId" IN (${names}) AND t."from" <> t."to" AND t."seq" >= COALESCE(b."seq", 0)
    ORDER BY t."seq"`;
  return db.query<TransitionRow>(sql, [...serverIds, at]);
}

/** Whether a server has run since an instant, as far back as transitions are stored. Each run adds several. */
export async function hasRunSince(db: Sql, serverId: string, at: number): Promise<boolean> {
  const sql = `SELECT 1 FROM "transitions" WHERE "serverId" = $1 AND "to" = 'running' AND "at" >= $2 LIMIT 1`;
  return (await db.query(sql, [serverId, at])).length > 0;
}

/**
 * Returns the servers that need their actors at boot: those whose machine may have something to do, those being
 * deleted, those whose install or start failed and may need cleanup, and dormant ones with a job.
 */
export async function listServersNotAtRest(db: Sql): Promise<string[]> {
  const sql = `SELECT "id" FROM "servers" WHERE "state" <> 'hibernated'
    UNION SELECT "serverId" AS "id" FROM "maintenance" ORDER BY "id"`;
  const rows = await db.query<{ id: string }>(sql);
  return rows.map(({ id }) => id);
}

async function append(tx: Tx, serverId: string, added: NewTransition[]): Promise<void> {
  let newest = 0;
  for (const { at, event, from, to, cause } of added) {
    const sql = `INSERT INTO "transitions" ("serverId", "seq", "at", "event", "from", "to", "cause")
      VALUES ($1, (SELECT COALESCE(MAX("seq"), 0) FROM "transitions" WHERE "serverId" = $1) + 1, $2, $3, $4, $5, $6)
      RETURNING "seq"`;
    const [row] = await tx.query<{ seq: number }>(sql, [serverId, at, event, from, to, cause]);
    newest = row?.seq ?? 0;
  }
  const isDue = newest % TRIMMED_EACH < added.length;
  if (newest <= KEPT_TRANSITIONS || !isDue) return;
  const sql = 'DELETE FROM "transitions" WHERE "serverId" = $1 AND "seq" <= $2';
  await tx.run(sql, [serverId, newest - KEPT_TRANSITIONS]);
}

/**
 * SQL condition on "transitions" `t`: the transition enters a state as its owner sees it. A job on a dormant server's
 * files begins and ends without a change of the wire state.
 */
export const ENTERS = `(t."from" <> t."to" OR t."event" IN ('MAINTAIN', 'xstate.done.actor.maintain'))`;

/** Returns when the present state was entered; null before the first transition. */
export async function stateSince(db: Sql, serverId: string): Promise<number | null> {
  const sql = `SELECT t."at" FROM "transitions" t WHERE t."serverId" = $1 AND ${ENTERS} ORDER BY t."seq" DESC LIMIT 1`;
  const [row] = await db.query<{ at: number }>(sql, [serverId]);
  return row?.at ?? null;
}

/** The current (`maintaining`) or queued job of a server's machine, and its progress. */
export interface MaintenanceRow {
  serverId: string;
  jobId: string;
  kind: string;
  target: string;
  /** The last completed step; '' before the first. */
  step: string;
}

export const maintenance = new EntitySchema<MaintenanceRow>({
  name: 'maintenance',
  columns: { serverId: id, jobId: text, kind: text, target: text, step: text },
  foreignKeys: [ofServer],
});

/**
 * Sets a server's job before its first step; null removes it. Call it in the write of the snapshot that names the job.
 */
export async function setMaintenance(
  tx: Tx,
  serverId: string,
  job: { id: string; kind: string; target: string } | null,
): Promise<void> {
  await tx.run('DELETE FROM "maintenance" WHERE "serverId" = $1', [serverId]);
  if (job === null) return;
  const insert = `INSERT INTO "maintenance" ("serverId", "jobId", "kind", "target", "step") VALUES ($1, $2, $3, $4, '')`;
  await tx.run(insert, [serverId, job.id, job.kind, job.target]);
}

export async function getMaintenance(db: Sql, serverId: string): Promise<MaintenanceRow | undefined> {
  const rows = await db.query<MaintenanceRow>('SELECT * FROM "maintenance" WHERE "serverId" = $1', [serverId]);
  return rows[0];
}

export async function listServersWithJob(db: Sql): Promise<string[]> {
  const rows = await db.query<{ serverId: string }>('SELECT "serverId" FROM "maintenance"');
  return rows.map(({ serverId }) => serverId);
}

/** Records a step as completed, for this job only. */
export async function noteStep(tx: Tx, jobId: string, step: string): Promise<void> {
  await tx.run('UPDATE "maintenance" SET "step" = $1 WHERE "jobId" = $2', [step, jobId]);
}
