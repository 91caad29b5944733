import { emailTokens } from './entities.ts';
import type { EmailTokenRow } from './rows.ts';
import type { Sql, Tx } from './writer.ts';

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
