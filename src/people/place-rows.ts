import { EntitySchema } from 'typeorm';
import { text } from '../store/columns.ts';
import { exact } from '../store/exact.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** A device or a network that a user has signed in from. */
export interface SignInPlaceRow {
  userId: string;
  /** SHA-256 of the device or network, hex. */
  place: string;
  /** When the user last signed in from there. */
  seenAt: number;
}

export const signInPlaces = new EntitySchema<SignInPlaceRow>({
  name: 'sign_in_places',
  columns: {
    userId: { ...text, primary: true },
    place: { ...text, primary: true },
    seenAt: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
  },
  foreignKeys: [{ target: 'users', columnNames: ['userId'], referencedColumnNames: ['id'] }],
});

/** Returns the places a user has signed in from, latest first. */
export async function listSignInPlaces(db: Sql, userId: string): Promise<SignInPlaceRow[]> {
  const sql = 'SELECT * FROM "sign_in_places" WHERE "userId" = $1 ORDER BY "seenAt" DESC, "place"';
  return db.query<SignInPlaceRow>(sql, [userId]);
}

/** Records a sign-in and keeps only the user's latest places. */
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
