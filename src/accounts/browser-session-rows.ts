import { EntitySchema } from 'typeorm';
import { bigint, id, ofUser, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';
import type { UserRow } from './rows.ts';

/** A browser with a signed-in user. */
export interface BrowserSessionRow {
  /** SHA-256 of the cookie, hex. */
  id: string;
  userId: string;
  createdAt: number;
  seenAt: number;
  expiresAt: number;
  ip: string;
  userAgent: string;
  /** When the user last gave the password, here or at the sign-in provider. */
  provedAt: number;
}

export const browserSessions = new EntitySchema<BrowserSessionRow>({
  name: 'sessions',
  columns: {
    id,
    userId: text,
    createdAt: bigint,
    seenAt: bigint,
    expiresAt: bigint,
    ip: text,
    userAgent: text,
    provedAt: bigint,
  },
  indices: [{ columns: ['userId'] }, { columns: ['expiresAt'] }],
  foreignKeys: [ofUser],
});

/** A session with its user. */
export type BrowserSessionOfUser = BrowserSessionRow &
  Pick<UserRow, 'email' | 'emailVerified' | 'accountId' | 'operator'> & {
    /** Whether the user has a second factor. */
    secondFactor: boolean;
    hasPassword: boolean;
    /** Whether the user has an account at the sign-in provider. */
    linked: boolean;
  };

export async function insertBrowserSession(tx: Tx, row: BrowserSessionRow): Promise<void> {
  await tx.manager.insert(browserSessions, row);
}

/**
 * Returns a session by the hash of its cookie. Includes expired ones: the caller checks the row. `issuer`: that of the
 * sign-in provider; '' without one.
 */
export async function getBrowserSession(db: Sql, id: string, issuer = ''): Promise<BrowserSessionOfUser | undefined> {
  type Flags = 'emailVerified' | 'operator' | 'secondFactor' | 'hasPassword' | 'linked';
  type Stored = Omit<BrowserSessionOfUser, Flags> & Record<Flags, number | boolean>;
  const [row] = await db.query<Stored>(
    `SELECT s.*, u."email", u."emailVerified", u."accountId", u."operator", u."passwordHash" <> '' AS "hasPassword",
       EXISTS (SELECT 1 FROM "provider_links" l WHERE l."userId" = u."id" AND l."issuer" = $1) AS "linked",
       EXISTS (SELECT 1 FROM "second_factors" f WHERE f."userId" = u."id" AND f."enabledAt" IS NOT NULL) AS "secondFactor"
     FROM "sessions" s JOIN "users" u ON u."id" = s."userId" WHERE s."id" = $2`,
    [issuer, id],
  );
  return (
    row && {
      ...row,
      emailVerified: Boolean(row.emailVerified),
      operator: Boolean(row.operator),
      secondFactor: Boolean(row.secondFactor),
      hasPassword: Boolean(row.hasPassword),
      linked: Boolean(row.linked),
    }
  );
}

/** Returns a user's unexpired sessions, last used first. */
export async function listBrowserSessions(db: Sql, userId: string, now: number): Promise<BrowserSessionRow[]> {
  const sql = 'SELECT * FROM "sessions" WHERE "userId" = $1 AND "expiresAt" > $2 ORDER BY "seenAt" DESC, "id"';
  return db.query<BrowserSessionRow>(sql, [userId, now]);
}

/** Records a use unless one later than `unlessSince` is recorded. */
export async function touchBrowserSession(
  tx: Tx,
  id: string,
  seenAt: number,
  expiresAt: number,
  unlessSince: number,
): Promise<void> {
  const sql = 'UPDATE "sessions" SET "seenAt" = $1, "expiresAt" = $2 WHERE "id" = $3 AND "seenAt" <= $4';
  await tx.run(sql, [seenAt, expiresAt, id, unlessSince]);
}

/** Records that the session's user has given the password. */
export async function proveBrowserSession(tx: Tx, id: string, provedAt: number): Promise<void> {
  await tx.run('UPDATE "sessions" SET "provedAt" = $1 WHERE "id" = $2', [provedAt, id]);
}

/** Deletes a user's session; false for an unknown id. */
export async function deleteBrowserSession(tx: Tx, userId: string, id: string): Promise<boolean> {
  return (await tx.run('DELETE FROM "sessions" WHERE "id" = $1 AND "userId" = $2', [id, userId])) > 0;
}

/** Deletes all sessions of the user except one and returns their number. */
export async function deleteOtherBrowserSessions(tx: Tx, userId: string, keptId: string): Promise<number> {
  return tx.run('DELETE FROM "sessions" WHERE "userId" = $1 AND "id" <> $2', [userId, keptId]);
}

/** Deletes all expired sessions, and this user's sessions except the newest `kept`. */
export async function pruneBrowserSessions(tx: Tx, userId: string, kept: number, now: number): Promise<void> {
  await tx.run('DELETE FROM "sessions" WHERE "expiresAt" <= $1', [now]);
  await tx.run(
    `DELETE FROM "sessions" WHERE "userId" = $1 AND "id" NOT IN
       (SELECT "id" FROM "sessions" WHERE "userId" = $1 ORDER BY "seenAt" DESC, "createdAt" DESC LIMIT $2)`,
    [userId, kept],
  );
}
