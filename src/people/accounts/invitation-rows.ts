import { EntitySchema } from 'typeorm';
import { bigint, id, text } from '../../store/columns.ts';
import { countOf } from '../../store/count.ts';
import type { Sql, Tx } from '../../store/writer.ts';

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
