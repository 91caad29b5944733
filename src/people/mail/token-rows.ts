import { EntitySchema } from 'typeorm';
import { bigint, id, ofUser, text } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';

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

/** Adds a token. Also deletes expired tokens, and the user's oldest ones for the same purpose beyond the limit. */
export async function insertEmailToken(tx: Tx, row: EmailTokenRow, kept: number, now: number): Promise<void> {
  await tx.manager.insert(emailTokens, row);
  await deleteExpiredEmailTokens(tx, now);
  await tx.run(
    `DELETE FROM "email_tokens" WHERE "userId" = $1 AND "purpose" = $2 AND "hash" NOT IN
       (SELECT "hash" FROM "email_tokens" WHERE "userId" = $1 AND "purpose" = $2
        ORDER BY "expiresAt" DESC, ("hash" = $3) DESC LIMIT $4)`,
    [row.userId, row.purpose, row.hash, kept],
  );
}

export async function deleteExpiredEmailTokens(tx: Tx, now: number): Promise<void> {
  await tx.run('DELETE FROM "email_tokens" WHERE "expiresAt" <= $1', [now]);
}

export async function getEmailToken(db: Sql, hash: string): Promise<EmailTokenRow | undefined> {
  const [row] = await db.query<EmailTokenRow>('SELECT * FROM "email_tokens" WHERE "hash" = $1', [hash]);
  return row;
}

/** Deletes a user's tokens for a purpose. Call it once one of them was used. */
export async function deleteEmailTokens(tx: Tx, userId: string, purpose: EmailTokenPurpose): Promise<void> {
  await tx.run('DELETE FROM "email_tokens" WHERE "userId" = $1 AND "purpose" = $2', [userId, purpose]);
}

/** Deletes all of a user's tokens. Call it when the password or the address changes. */
export async function deleteAllEmailTokens(tx: Tx, userId: string): Promise<void> {
  await tx.run('DELETE FROM "email_tokens" WHERE "userId" = $1', [userId]);
}
