import { EntitySchema } from 'typeorm';
import { bigint, id, maybeText, text } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';

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
  /** The latest changes of its state, oldest first: JSON text of `Change[]` (history.ts). */
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
