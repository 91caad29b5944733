import { EntitySchema } from 'typeorm';
import { bigint, id, ofUser, text } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';

/** A link sent to an address, to show that mail to it arrives. */
export interface EmailTokenRow {
  /** SHA-256 of the token, hex. */
  hash: string;
  userId: string;
  email: string;
  expiresAt: number;
}

export const emailTokens = new EntitySchema<EmailTokenRow>({
  name: 'email_tokens',
  columns: { hash: id, userId: text, email: text, expiresAt: bigint },
  indices: [{ columns: ['userId'] }],
  foreignKeys: [ofUser],
});

/** Adds a token; with it expired ones go, and those of the user beyond the newest few. */
export async function insertEmailToken(tx: Tx, row: EmailTokenRow, kept: number, now: number): Promise<void> {
  await tx.manager.insert(emailTokens, row);
  await tx.run('DELETE FROM "email_tokens" WHERE "expiresAt" <= $1', [now]);
  await tx.run(
    `DELETE FROM "email_tokens" WHERE "userId" = $1 AND "hash" NOT IN
       (SELECT "hash" FROM "email_tokens" WHERE "userId" = $1 ORDER BY "expiresAt" DESC LIMIT $2)`,
    [row.userId, kept],
  );
}

export async function getEmailToken(db: Sql, hash: string): Promise<EmailTokenRow | undefined> {
  const [row] = await db.query<EmailTokenRow>('SELECT * FROM "email_tokens" WHERE "hash" = $1', [hash]);
  return row;
}

/** All of a user's: once one has served, none is needed any more. */
export async function deleteEmailTokens(tx: Tx, userId: string): Promise<void> {
  await tx.run('DELETE FROM "email_tokens" WHERE "userId" = $1', [userId]);
}
