import { randomBytes, timingSafeEqual } from 'node:crypto';
import { EntitySchema } from 'typeorm';
import type { Visitor } from '../http/session/visitor.ts';
import { hashToken } from '../kernel/ids.ts';
import { networkOf } from '../kernel/ip.ts';
import { text } from '../store/columns.ts';
import { exact } from '../store/exact.ts';
import type { Secret } from '../store/secret.ts';
import type { Sql, Tx } from '../store/store.ts';

/** Limit of places remembered per user. */
const MOST_PLACES = 100;

/** Whether a user has signed in from this device and network before. */
export interface Familiarity {
  /** The device's id if it is known. */
  device: string | undefined;
  network: boolean;
  /** Whether the user has signed in from anywhere before. */
  any: boolean;
}

/** Looks up a visitor. Unknown users take the same time. */
export async function familiarityOf(
  db: Sql,
  secret: Secret,
  userId: string | undefined,
  { address, device }: Visitor,
): Promise<Familiarity> {
  const rows = await listSignInPlaces(db, userId ?? '');
  const known = new Set(rows.map(({ place }) => place));
  const id = deviceId(secret, device);
  return {
    device: id !== undefined && known.has(devicePlace(id)) ? id : undefined,
    network: known.has(networkPlace(address)),
    any: rows.length > 0,
  };
}

/** Remembers the place of a sign-in, in its write. `device`: the id in the browser's new cookie. */
export async function rememberPlaces(
  tx: Tx,
  secret: Secret,
  userId: string,
  { address, device }: Visitor,
  seenAt: number,
): Promise<void> {
  const id = deviceId(secret, device);
  if (id !== undefined) await putSignInPlace(tx, { userId, place: devicePlace(id), seenAt });
  await putSignInPlace(tx, { userId, place: networkPlace(address), seenAt });
}

function devicePlace(id: string): string {
  return hashToken(`device ${id}`);
}

function networkPlace(address: string): string {
  return hashToken(`network ${networkOf(address)}`);
}

const VALUE = /^([\w-]{22})\.([\w-]{43})$/;

/**
 * Creates a cookie that identifies a browser, also without a signed-in user: a user who has signed in with it before is
 * not locked out by strangers who guess the password (OWASP, Slow Down Online Guessing Attacks with Device Cookies). It
 * grants no access.
 */
export function newDevice(secret: Secret): string {
  const id = randomBytes(16).toString('base64url');
  return `${id}.${secret.derive('device', id)}`;
}

/** Returns the device's id; undefined if the value is not one of ours. */
export function deviceId(secret: Secret, value: string | undefined): string | undefined {
  const [, id, seal] = VALUE.exec(value ?? '') ?? [];
  if (id === undefined || seal === undefined) return undefined;
  return timingSafeEqual(Buffer.from(seal), Buffer.from(secret.derive('device', id))) ? id : undefined;
}

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
async function listSignInPlaces(db: Sql, userId: string): Promise<SignInPlaceRow[]> {
  const sql = 'SELECT * FROM "sign_in_places" WHERE "userId" = $1 ORDER BY "seenAt" DESC, "place"';
  return db.query<SignInPlaceRow>(sql, [userId]);
}

/** Records a sign-in and keeps only the user's latest places. */
async function putSignInPlace(tx: Tx, row: SignInPlaceRow): Promise<void> {
  await tx.run(
    `INSERT INTO "sign_in_places" ("userId", "place", "seenAt") VALUES ($1, $2, $3)
     ON CONFLICT ("userId", "place") DO UPDATE SET "seenAt" = excluded."seenAt"`,
    [row.userId, row.place, row.seenAt],
  );
  await tx.run(
    `DELETE FROM "sign_in_places" WHERE "userId" = $1 AND "place" NOT IN
       (SELECT "place" FROM "sign_in_places" WHERE "userId" = $1 ORDER BY "seenAt" DESC, "place" LIMIT $2)`,
    [row.userId, MOST_PLACES],
  );
}
