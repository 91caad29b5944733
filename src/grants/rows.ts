import { EntitySchema } from 'typeorm';
import { bigint, id, maybeText, text } from '../store/columns.ts';
import { exact } from '../store/exact.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** A device grant. Its state is its actor's snapshot. */
export interface GrantRow {
  id: string;
  /** SHA-256 of the device code, hex. */
  deviceHash: string;
  /** HMAC of the user code, which is too short for a plain hash. */
  userHmac: string;
  clientId: string | null;
  /** The user who approved it. */
  userId: string | null;
  /** The address of the requester, shown to the user who approves. */
  ip: string;
  userAgent: string;
  /** The answer to the last or next poll. */
  state: string;
  createdAt: number;
  expiresAt: number;
  snapshot: string;
  /** When it entered its state; 0 if unknown. */
  changedAt: number;
  /** The latest changes of its state, oldest first: JSON text of `Change[]` (`actors.ts`). */
  history: string;
}

export const grants = new EntitySchema<GrantRow>({
  name: 'grants',
  columns: {
    id,
    deviceHash: text,
    userHmac: text,
    clientId: maybeText,
    userId: maybeText,
    ip: text,
    userAgent: text,
    state: text,
    createdAt: bigint,
    expiresAt: bigint,
    snapshot: text,
    changedAt: bigint,
    history: text,
  },
  uniques: [{ columns: ['deviceHash'] }, { columns: ['userHmac'] }],
  indices: [{ columns: ['expiresAt'] }],
});

/** A grant's columns after an event. */
export type GrantStep = Pick<GrantRow, 'snapshot' | 'state' | 'userId' | 'changedAt' | 'history'>;

/** Fails as a duplicate (`isDuplicate`) if another live or recent grant has the same code. */
export async function insertGrant(tx: Tx, row: GrantRow): Promise<void> {
  await tx.manager.insert(grants, row);
}

export async function getGrant(db: Sql, id: string): Promise<GrantRow | undefined> {
  return (await db.query<GrantRow>('SELECT * FROM "grants" WHERE "id" = $1', [id]))[0];
}

/** Returns a grant by the `hashToken` of its device code. */
export async function getGrantByDevice(db: Sql, deviceHash: string): Promise<GrantRow | undefined> {
  return (await db.query<GrantRow>('SELECT * FROM "grants" WHERE "deviceHash" = $1', [deviceHash]))[0];
}

/** Returns a grant by the keyed hash of its user code. */
export async function getGrantByUserCode(db: Sql, userHmac: string): Promise<GrantRow | undefined> {
  return (await db.query<GrantRow>('SELECT * FROM "grants" WHERE "userHmac" = $1', [userHmac]))[0];
}

/** Stores a grant's new state if its state is still `from`; otherwise returns false. */
export async function advanceGrant(tx: Tx, id: string, from: string, to: GrantStep): Promise<boolean> {
  const sql = `UPDATE "grants" SET "snapshot" = $1, "state" = $2, "userId" = $3, "changedAt" = $4, "history" = $5
    WHERE "id" = $6 AND "snapshot" = $7`;
  return (await tx.run(sql, [to.snapshot, to.state, to.userId, to.changedAt, to.history, id, from])) > 0;
}

/** Returns up to `limit` grants that expired while waiting for a decision or to be redeemed, oldest first. */
export async function listOverdueGrants(db: Sql, now: number, limit: number): Promise<string[]> {
  const sql = `SELECT "id" FROM "grants" WHERE "expiresAt" <= $1 AND "state" IN ('authorization_pending', 'slow_down', 'approved')
    ORDER BY "expiresAt" LIMIT $2`;
  return (await db.query<{ id: string }>(sql, [now, limit])).map(({ id }) => id);
}

/** Deletes up to `limit` grants that expired before an instant, oldest first. */
export async function purgeGrants(tx: Tx, before: number, limit: number): Promise<void> {
  await tx.run(
    `DELETE FROM "grants" WHERE "id" IN
       (SELECT "id" FROM "grants" WHERE "expiresAt" < $1 ORDER BY "expiresAt" LIMIT $2)`,
    [before, limit],
  );
}

/** One accepted start of a device grant by an address; the limit per hour counts them. */
export interface GrantStartRow {
  address: string;
  at: number;
  /** Distinguishes starts of the same millisecond. */
  nth: number;
}

export const grantStarts = new EntitySchema<GrantStartRow>({
  name: 'grant_starts',
  columns: { address: id, at: { ...bigint, primary: true }, nth: { ...bigint, primary: true } },
  indices: [{ columns: ['at'] }],
});

/** Returns the instants of an address's starts since an instant, oldest first. */
export async function listGrantStarts(db: Sql, address: string, since: number): Promise<number[]> {
  const sql = 'SELECT "at" FROM "grant_starts" WHERE "address" = $1 AND "at" > $2 ORDER BY "at"';
  return (await db.query<{ at: number }>(sql, [address, since])).map(({ at }) => at);
}

/** Adds a start. `nth` distinguishes starts of the same address and millisecond. */
export async function insertGrantStart(tx: Tx, address: string, at: number, nth: number): Promise<void> {
  await tx.manager.insert(grantStarts, { address, at, nth });
}

/** Deletes up to `limit` starts up to an instant, oldest first. */
export async function pruneGrantStarts(tx: Tx, until: number, limit: number): Promise<void> {
  const sql = 'SELECT "at" FROM "grant_starts" WHERE "at" <= $1 ORDER BY "at" LIMIT 1 OFFSET $2';
  const [last] = await tx.query<{ at: number }>(sql, [until, limit]);
  await tx.run('DELETE FROM "grant_starts" WHERE "at" <= $1', [Math.min(until, last?.at ?? until)]);
}

/** Keeps the newest `count` starts of all addresses, and those of the same instant as the oldest of them. */
export async function keepNewestGrantStarts(tx: Tx, count: number): Promise<void> {
  const sql = 'SELECT "at" FROM "grant_starts" ORDER BY "at" DESC LIMIT 1 OFFSET $1';
  const [oldest] = await tx.query<{ at: number }>(sql, [count - 1]);
  if (oldest) await tx.run('DELETE FROM "grant_starts" WHERE "at" < $1', [oldest.at]);
}

/** The token of a grant redeemed within the last minute, whose answer may be lost. */
export interface SealedTokenRow {
  grantId: string;
  /** Encrypted under a key derived from the device code, which is not stored. */
  sealed: string;
  /** When the grant was redeemed. */
  at: number;
}

export const sealedTokens = new EntitySchema<SealedTokenRow>({
  name: 'sealed_tokens',
  columns: {
    grantId: { ...text, primary: true },
    sealed: text,
    at: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
  },
});

/** Stores a grant's token; each grant has at most one. */
export async function insertSealedToken(tx: Tx, row: SealedTokenRow): Promise<void> {
  await tx.manager.insert(sealedTokens, row);
}

export async function getSealedToken(db: Sql, grantId: string): Promise<SealedTokenRow | undefined> {
  return (await db.query<SealedTokenRow>('SELECT * FROM "sealed_tokens" WHERE "grantId" = $1', [grantId]))[0];
}

export async function deleteSealedToken(tx: Tx, grantId: string): Promise<void> {
  await tx.run('DELETE FROM "sealed_tokens" WHERE "grantId" = $1', [grantId]);
}

/**
 * Deletes tokens sealed up to an instant, and those with an instant in the future, from before the clock was set back.
 */
export async function deleteOldSealedTokens(tx: Tx, until: number, now: number): Promise<void> {
  await tx.run('DELETE FROM "sealed_tokens" WHERE "at" <= $1 OR "at" > $2', [until, now]);
}
