import { EntitySchema } from 'typeorm';
import { hashToken, isRandomToken, randomToken } from '../kernel/ids.ts';
import { bigint, id, ofUser, text } from '../store/columns.ts';
import { countOf } from '../store/count.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** The purpose of a link: to verify the user's address, to change it to `email`, or to choose a new password. */
export type EmailTokenPurpose = 'verify' | 'change' | 'reset';

/** A link sent to an address. It works for anyone who can read that address's e-mail. */
export interface EmailTokenRow {
  /** SHA-256 of the token, hex. */
  hash: string;
  userId: string;
  /** The address it was sent to. */
  email: string;
  expiresAt: number;
  purpose: EmailTokenPurpose;
}

export const emailTokens = new EntitySchema<EmailTokenRow>({
  name: 'email_tokens',
  columns: {
    hash: id,
    userId: text,
    email: text,
    expiresAt: bigint,
    purpose: text,
  },
  indices: [{ columns: ['userId'] }],
  foreignKeys: [ofUser],
});

/**
 * Returns a new token; only its hash is stored. Also deletes expired tokens, and the user's oldest ones for
 * the same purpose beyond `kept`.
 */
export async function addEmailToken(
  tx: Tx,
  fields: Omit<EmailTokenRow, 'hash'>,
  kept: number,
  now: number,
): Promise<string> {
  const token = randomToken();
  const row = { ...fields, hash: hashToken(token) };
  await tx.manager.insert(emailTokens, row);
  await deleteExpiredEmailTokens(tx, now);
  await tx.run(
    `DELETE FROM "email_tokens" WHERE "userId" = $1 AND "purpose" = $2 AND "hash" NOT IN
       (SELECT "hash" FROM "email_tokens" WHERE "userId" = $1 AND "purpose" = $2
        ORDER BY "expiresAt" DESC, ("hash" = $3) DESC LIMIT $4)`,
    [row.userId, row.purpose, row.hash, kept],
  );
  return token;
}

export async function deleteExpiredEmailTokens(tx: Tx, now: number): Promise<void> {
  await tx.run('DELETE FROM "email_tokens" WHERE "expiresAt" <= $1', [now]);
}

/** Returns the row of a link's token; undefined if the token is unknown, used or expired. */
export async function findEmailToken(db: Sql, token: string, now: number): Promise<EmailTokenRow | undefined> {
  if (!isRandomToken(token)) return undefined;
  const sql = 'SELECT * FROM "email_tokens" WHERE "hash" = $1 AND "expiresAt" > $2';
  return (await db.query<EmailTokenRow>(sql, [hashToken(token), now]))[0];
}

/** Deletes a user's tokens for a purpose. Call it once one of them was used. */
export async function deleteEmailTokens(tx: Tx, userId: string, purpose: EmailTokenPurpose): Promise<void> {
  await tx.run('DELETE FROM "email_tokens" WHERE "userId" = $1 AND "purpose" = $2', [userId, purpose]);
}

/** Deletes all of a user's tokens. Call it when the password or the address changes. */
export async function deleteAllEmailTokens(tx: Tx, userId: string): Promise<void> {
  await tx.run('DELETE FROM "email_tokens" WHERE "userId" = $1', [userId]);
}

/** An operator's invitation of an address to create an account. */
export interface AccountInvitationRow {
  id: string;
  /** SHA-256 of the link's token, hex. */
  hash: string;
  email: string;
  /** The user id of the operator. */
  invitedBy: string;
  createdAt: number;
  expiresAt: number;
}

export const accountInvitations = new EntitySchema<AccountInvitationRow>({
  name: 'account_invitations',
  columns: { id, hash: text, email: text, invitedBy: text, createdAt: bigint, expiresAt: bigint },
  uniques: [{ columns: ['hash'] }, { columns: ['email'] }],
});

/** Adds an invitation and replaces an earlier one to the same address. Also deletes expired ones. */
export async function putAccountInvitation(tx: Tx, row: AccountInvitationRow): Promise<void> {
  const sql = 'DELETE FROM "account_invitations" WHERE "email" = $1 OR "expiresAt" <= $2';
  await tx.run(sql, [row.email, row.createdAt]);
  await tx.manager.insert(accountInvitations, row);
}

/** Returns an invitation by the hash of its token. Includes expired ones: the caller checks the row. */
export async function getAccountInvitation(db: Sql, hash: string): Promise<AccountInvitationRow | undefined> {
  return (await db.query<AccountInvitationRow>('SELECT * FROM "account_invitations" WHERE "hash" = $1', [hash]))[0];
}

/** Whether there is a valid invitation to an address. */
export async function isInvitedAddress(db: Sql, email: string, now: number): Promise<boolean> {
  const sql = 'SELECT 1 FROM "account_invitations" WHERE "email" = $1 AND "expiresAt" > $2';
  return (await db.query(sql, [email, now])).length > 0;
}

/** Returns valid invitations, newest first, with the inviter's address; '' if that user is gone. */
export async function listAccountInvitations(
  db: Sql,
  now: number,
): Promise<(AccountInvitationRow & { inviter: string })[]> {
  return db.query(
    `SELECT i.*, COALESCE(u."email", '') AS "inviter"
     FROM "account_invitations" i LEFT JOIN "users" u ON u."id" = i."invitedBy"
     WHERE i."expiresAt" > $1 ORDER BY i."createdAt" DESC, i."id"`,
    [now],
  );
}

export async function countAccountInvitations(db: Sql, now: number): Promise<number> {
  const sql = 'SELECT COUNT(*) AS "count" FROM "account_invitations" WHERE "expiresAt" > $1';
  return countOf(db, sql, [now]);
}

/** Deletes an invitation. Returns its address; undefined for an unknown id. */
export async function deleteAccountInvitation(tx: Tx, invitationId: string): Promise<string | undefined> {
  const sql = 'SELECT "email" FROM "account_invitations" WHERE "id" = $1';
  const [row] = await tx.query<{ email: string }>(sql, [invitationId]);
  await tx.run('DELETE FROM "account_invitations" WHERE "id" = $1', [invitationId]);
  return row?.email;
}

/** Call it when an address gets an account in any way. */
export async function deleteAccountInvitationTo(tx: Tx, email: string): Promise<void> {
  await tx.run('DELETE FROM "account_invitations" WHERE "email" = $1', [email]);
}
