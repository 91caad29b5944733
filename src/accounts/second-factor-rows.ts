import { EntitySchema } from 'typeorm';
import { bigint, id, maybeAt, ofUser, text } from '../store/columns.ts';
import { countOf } from '../store/count.ts';
import type { Sql, Tx } from '../store/writer.ts';
import { type StoredUser, type UserRow, userRow } from './rows.ts';

/** A user's second factor, or one that is still being set up (an offer). */
export interface SecondFactorRow {
  userId: string;
  /** The encrypted key of its codes (`second-factor.ts`). */
  sealedKey: string;
  /** Null: an offer, which sign-ins do not require. */
  enabledAt: number | null;
  /** The latest step with an accepted code (`totp.ts`). Codes of this and earlier steps are refused. */
  lastStep: number;
}

/** A one-time substitute for a code of the second factor. */
export interface RecoveryCodeRow {
  userId: string;
  /** HMAC of the code under the installation's secret. */
  hash: string;
}

export const secondFactors = new EntitySchema<SecondFactorRow>({
  name: 'second_factors',
  columns: { userId: id, sealedKey: text, enabledAt: maybeAt, lastStep: bigint },
  foreignKeys: [ofUser],
});

export const recoveryCodes = new EntitySchema<RecoveryCodeRow>({
  name: 'recovery_codes',
  columns: { userId: id, hash: id },
  foreignKeys: [ofUser],
});

/** Includes offers: the caller checks `enabledAt`. */
export async function getSecondFactor(db: Sql, userId: string): Promise<SecondFactorRow | undefined> {
  return (await db.query<SecondFactorRow>('SELECT * FROM "second_factors" WHERE "userId" = $1', [userId]))[0];
}

/** Replaces a user's offer; false if the user already has a second factor. */
export async function offerSecondFactor(tx: Tx, userId: string, sealedKey: string): Promise<boolean> {
  const sql = `INSERT INTO "second_factors" ("userId", "sealedKey", "enabledAt", "lastStep") VALUES ($1, $2, NULL, 0)
    ON CONFLICT ("userId") DO UPDATE SET "sealedKey" = excluded."sealedKey"
      WHERE "second_factors"."enabledAt" IS NULL`;
  return (await tx.run(sql, [userId, sealedKey])) > 0;
}

/** Turns the offer into the second factor. */
export async function enableSecondFactor(tx: Tx, userId: string, enabledAt: number, lastStep: number): Promise<void> {
  const sql = 'UPDATE "second_factors" SET "enabledAt" = $1, "lastStep" = $2 WHERE "userId" = $3';
  await tx.run(sql, [enabledAt, lastStep, userId]);
}

/** Records that a step's code was used. */
export async function takeStep(tx: Tx, userId: string, step: number): Promise<void> {
  await tx.run('UPDATE "second_factors" SET "lastStep" = $1 WHERE "userId" = $2', [step, userId]);
}

/** Deletes the second factor with its recovery codes; false without one, or with only an offer. */
export async function deleteSecondFactor(tx: Tx, userId: string): Promise<boolean> {
  await tx.run('DELETE FROM "recovery_codes" WHERE "userId" = $1', [userId]);
  const sql = 'DELETE FROM "second_factors" WHERE "userId" = $1 AND "enabledAt" IS NOT NULL';
  return (await tx.run(sql, [userId])) > 0;
}

/** Replaces all of a user's recovery codes. */
export async function replaceRecoveryCodes(tx: Tx, userId: string, hashes: readonly string[]): Promise<void> {
  await tx.run('DELETE FROM "recovery_codes" WHERE "userId" = $1', [userId]);
  for (const hash of hashes) await tx.manager.insert(recoveryCodes, { userId, hash });
}

/** Consumes a recovery code; false if it does not belong to the user. */
export async function takeRecoveryCode(tx: Tx, userId: string, hash: string): Promise<boolean> {
  return (await tx.run('DELETE FROM "recovery_codes" WHERE "userId" = $1 AND "hash" = $2', [userId, hash])) > 0;
}

export async function countRecoveryCodes(db: Sql, userId: string): Promise<number> {
  const sql = 'SELECT COUNT(*) AS "count" FROM "recovery_codes" WHERE "userId" = $1';
  return countOf(db, sql, [userId]);
}

/** Returns the account's users with a second factor. */
export async function listSecondFactorUsers(db: Sql, accountId: string): Promise<UserRow[]> {
  const sql = `SELECT u.* FROM "users" u JOIN "second_factors" f ON f."userId" = u."id"
    WHERE u."accountId" = $1 AND f."enabledAt" IS NOT NULL ORDER BY u."id"`;
  return (await db.query<StoredUser>(sql, [accountId])).map(userRow);
}
