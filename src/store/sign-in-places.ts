import type { SignInPlaceRow } from './sign-in-places-table.ts';
import type { Sql, Tx } from './writer.ts';

/** From where a user has signed in before, the latest first. */
export async function listSignInPlaces(db: Sql, userId: string): Promise<SignInPlaceRow[]> {
  const sql = 'SELECT * FROM "sign_in_places" WHERE "userId" = $1 ORDER BY "seenAt" DESC, "place"';
  return db.query<SignInPlaceRow>(sql, [userId]);
}

/** Notes a sign-in, and keeps only a user's latest places. */
export async function putSignInPlace(tx: Tx, row: SignInPlaceRow, kept: number): Promise<void> {
  await tx.run(
    `INSERT INTO "sign_in_places" ("userId", "place", "seenAt") VALUES ($1, $2, $3)
     ON CONFLICT ("userId", "place") DO UPDATE SET "seenAt" = excluded."seenAt"`,
    [row.userId, row.place, row.seenAt],
  );
  await tx.run(
    `DELETE FROM "sign_in_places" WHERE "userId" = $1 AND "place" NOT IN
       (SELECT "place" FROM "sign_in_places" WHERE "userId" = $1 ORDER BY "seenAt" DESC, "place" LIMIT $2)`,
    [row.userId, kept],
  );
}
