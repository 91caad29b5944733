import { EntitySchema } from 'typeorm';
import { bigint, id, text } from '../../store/columns.ts';
import { countOf } from '../../store/count.ts';
import type { Sql, Tx } from '../../store/writer.ts';

/** An address that an operator lets make an account. */
export interface AccountInvitationRow {
  id: string;
  /** SHA-256 of the link's token, hex. */
  hash: string;
  email: string;
  /** The operator's user. */
  invitedBy: string;
  createdAt: number;
  expiresAt: number;
}

export const accountInvitations = new EntitySchema<AccountInvitationRow>({
  name: 'account_invitations',
  columns: { id, hash: text, email: text, invitedBy: text, createdAt: bigint, expiresAt: bigint },
  uniques: [{ columns: ['hash'] }, { columns: ['email'] }],
});

/** Adds an invitation, in place of an earlier one to the same address; with it expired ones go. */
export async function putAccountInvitation(tx: Tx, row: AccountInvitationRow): Promise<void> {
  const sql = 'DELETE FROM "account_invitations" WHERE "email" = $1 OR "expiresAt" <= $2';
  await tx.run(sql, [row.email, row.createdAt]);
  await tx.manager.insert(accountInvitations, row);
}

/** By the hash of the link's token. Includes expired ones: the caller checks the row. */
export async function getAccountInvitation(db: Sql, hash: string): Promise<AccountInvitationRow | undefined> {
  return (await db.query<AccountInvitationRow>('SELECT * FROM "account_invitations" WHERE "hash" = $1', [hash]))[0];
}

/** Invitations that still work, newest first, with the address of who has invited; '' where that user is gone. */
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

/** Deletes an invitation and returns its address; undefined for an unknown id. */
export async function deleteAccountInvitation(tx: Tx, invitationId: string): Promise<string | undefined> {
  const sql = 'SELECT "email" FROM "account_invitations" WHERE "id" = $1';
  const [row] = await tx.query<{ email: string }>(sql, [invitationId]);
  await tx.run('DELETE FROM "account_invitations" WHERE "id" = $1', [invitationId]);
  return row?.email;
}

/** To be called where an address gets an account, however that is made. */
export async function deleteAccountInvitationTo(tx: Tx, email: string): Promise<void> {
  await tx.run('DELETE FROM "account_invitations" WHERE "email" = $1', [email]);
}
