import { EntitySchema } from 'typeorm';
import { bigint, id, integer, maybeAt, ofAccount, text } from '../store/columns.ts';
import { sql, statement } from '../store/sql.ts';
import type { Sql, Tx } from '../store/writer.ts';
import type { Span, UsedServer } from './ledger-rows.ts';
import { entryRef } from './rules.ts';

/** One awake session of a server, from the request to its end. */
export interface AwakeSessionRow {
  id: string;
  serverId: string;
  accountId: string;
  /** The cause of the wake, as JSON text of the machines' `Cause`. */
  cause: string;
  plan: string;
  /** RAM and price per GB and hour at the start; the price is 0 on the flat plan. */
  ramMb: number;
  rateMicros: number;
  startedAt: number;
  /** Null until the game was ready. The time before is free. */
  readyAt: number | null;
  endedAt: number | null;
  /** '' while the session lasts; then `stopped`, `idle`, `false_wake`, `crashed`, `start_failed`, `funds`, … */
  ending: string;
  /** 0 until the expected player has joined: a false wake is free. */
  billable: number;
  /** Time until which the game is proven to have been up, on the meter's steady clock. */
  provenAt: number;
  /** Proven time up. */
  awakeMs: number;
  /** Charged minutes, their cost, and the fraction of a micro that is carried over (in 61 440ths). */
  ticks: number;
  remainder: number;
  amountMicros: number;
  /** Distinguishes the server from earlier ones of the same name. */
  serverCreatedAt: number;
}

export const awakeSessions = new EntitySchema<AwakeSessionRow>({
  name: 'awake_sessions',
  columns: {
    id,
    serverId: text,
    accountId: text,
    cause: text,
    plan: text,
    ramMb: integer,
    rateMicros: bigint,
    startedAt: bigint,
    readyAt: maybeAt,
    endedAt: maybeAt,
    ending: text,
    billable: integer,
    provenAt: bigint,
    awakeMs: bigint,
    ticks: integer,
    remainder: integer,
    amountMicros: bigint,
    serverCreatedAt: bigint,
  },
  indices: [{ columns: ['serverId', 'startedAt'] }, { columns: ['endedAt'] }],
  foreignKeys: [ofAccount],
});

/** Open sessions whose game was ready: the metered ones. */
const METERED = `"endedAt" IS NULL AND "readyAt" IS NOT NULL`;

/** Most variables in one statement: some databases refuse more. */
const CHUNK = 500;

export async function insertAwakeSession(tx: Tx, row: AwakeSessionRow): Promise<void> {
  await tx.manager.insert(awakeSessions, row);
}

/** Returns the open session of a server; undefined while it sleeps. */
export async function openAwakeSession(db: Sql, serverId: string): Promise<AwakeSessionRow | undefined> {
  const sql = 'SELECT * FROM "awake_sessions" WHERE "serverId" = $1 AND "endedAt" IS NULL';
  const [row] = await db.query<AwakeSessionRow>(sql, [serverId]);
  return row;
}

/** Returns the latest proven time of the open sessions, on the steady clock; 0 if there are none. */
export async function lastProof(db: Sql): Promise<number> {
  const [row] = await db.query<{ at: number | null }>(
    'SELECT MAX("provenAt") AS "at" FROM "awake_sessions" WHERE "endedAt" IS NULL',
  );
  return row?.at ?? 0;
}

/** Records that the game is ready. Metering starts now. */
export async function markReady(tx: Tx, serverId: string, readyAt: number, provenAt: number): Promise<void> {
  const sql = `UPDATE "awake_sessions" SET "readyAt" = $1, "provenAt" = $2
    WHERE "serverId" = $3 AND "endedAt" IS NULL AND "readyAt" IS NULL`;
  await tx.run(sql, [readyAt, provenAt, serverId]);
}

/** Records that the wake was not false, so that its first minutes are charged too. Returns false if that was known. */
export async function markBillable(tx: Tx, serverId: string): Promise<boolean> {
  const sql = `UPDATE "awake_sessions" SET "billable" = 1 WHERE "serverId" = $1 AND "endedAt" IS NULL AND "billable" = 0`;
  return (await tx.run(sql, [serverId])) > 0;
}

/** Ends a session and closes its last usage entry. */
export async function endAwakeSession(tx: Tx, session: string, endedAt: number, ending: string): Promise<void> {
  await tx.run('UPDATE "awake_sessions" SET "endedAt" = $1, "ending" = $2 WHERE "id" = $3', [endedAt, ending, session]);
  const close = sql`UPDATE "ledger" SET "closedAt" = ${endedAt} WHERE "kind" = 'usage' AND "closedAt" IS NULL AND "ref" =
    (SELECT ${entryRef(sql`"id"`, sql`"ticks"`)} FROM "awake_sessions" WHERE "id" = ${session} AND "ticks" > 0)`;
  await tx.run(...statement(close));
}

/** Proves that the game of one session was up until this instant of the steady clock. */
export async function proveAwakeSession(tx: Tx, session: string, until: number): Promise<void> {
  await tx.run(`${PROVE} AND "id" = $2`, [until, session]);
}

/** Proves that all metered games, except these, were up until this instant of the steady clock. */
export async function proveAwakeSessions(tx: Tx, until: number, exceptServers: readonly string[]): Promise<void> {
  if (exceptServers.length <= CHUNK) {
    const names = exceptServers.map((_, index) => `$${index + 2}`).join(', ');
    const but = names === '' ? '' : ` AND "serverId" NOT IN (${names})`;
    await tx.run(PROVE + but, [until, ...exceptServers]);
    return;
  }
  const except = new Set(exceptServers);
  for (const { id, serverId } of await listMetered(tx))
    if (!except.has(serverId)) await proveAwakeSession(tx, id, until);
}

const PROVE = `UPDATE "awake_sessions" SET "awakeMs" = "awakeMs" + ($1 - "provenAt"), "provenAt" = $1
  WHERE ${METERED} AND "provenAt" < $1`;

/**
 * Makes the time until an instant free, because it is unknown whether the games were up. Counting continues from there.
 */
export async function writeOff(tx: Tx, until: number, serverIds: readonly string[]): Promise<void> {
  for (let from = 0; from < serverIds.length; from += CHUNK) {
    const some = serverIds.slice(from, from + CHUNK);
    const names = some.map((_, index) => `$${index + 2}`).join(', ');
    const sql = `UPDATE "awake_sessions" SET "provenAt" = $1
      WHERE ${METERED} AND "provenAt" < $1 AND "serverId" IN (${names})`;
    await tx.run(sql, [until, ...some]);
  }
}

export type MeteredSession = Pick<AwakeSessionRow, 'id' | 'serverId' | 'accountId' | 'plan' | 'readyAt' | 'provenAt'>;

export async function listMetered(db: Sql): Promise<MeteredSession[]> {
  return db.query<MeteredSession>(
    `SELECT "id", "serverId", "accountId", "plan", "readyAt", "provenAt" FROM "awake_sessions" WHERE ${METERED}`,
  );
}

/** Returns the sessions of flat servers whose games run. */
export async function listFlatSessions(db: Sql): Promise<AwakeSessionRow[]> {
  return db.query<AwakeSessionRow>(`SELECT * FROM "awake_sessions" WHERE ${METERED} AND "plan" = 'flat' ORDER BY "id"`);
}

/** Returns a server's sessions that overlap a span of time, oldest first. */
export async function listAwakeSessions(
  db: Sql,
  server: UsedServer,
  { from, to, limit }: { from: number; to: number; limit: number },
): Promise<AwakeSessionRow[]> {
  // The creation time distinguishes it from an earlier server of the same name. The account is compared, too, because
  // the clock may have been set back, and the earlier server may have belonged to another account.
  const sql = `SELECT * FROM "awake_sessions"
    WHERE "serverId" = $1 AND "serverCreatedAt" = $2 AND "startedAt" < $3 AND ("endedAt" IS NULL OR "endedAt" > $4)
      AND "accountId" = $5
    ORDER BY "startedAt" DESC LIMIT $6`;
  const found = await db.query<AwakeSessionRow>(sql, [server.id, server.createdAt, to, from, server.accountId, limit]);
  return found.toReversed();
}

export type FlatRun = Pick<AwakeSessionRow, 'ramMb' | 'readyAt' | 'endedAt' | 'awakeMs'>;

/** Returns the times within a span when the server was up on the flat plan. */
export async function listFlatRuns(
  db: Sql,
  { id, accountId, createdAt }: UsedServer,
  { from, to }: Span,
): Promise<FlatRun[]> {
  const text = `SELECT "ramMb", "readyAt", "endedAt", "awakeMs" FROM "awake_sessions"
    WHERE "serverId" = $1 AND "startedAt" < $2 AND ("endedAt" IS NULL OR "endedAt" >= $3) AND "accountId" = $4
      AND "serverCreatedAt" = $5 AND "plan" = 'flat' AND "readyAt" IS NOT NULL`;
  return db.query<FlatRun>(text, [id, to, from, accountId, createdAt]);
}
