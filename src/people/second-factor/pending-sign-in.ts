import { timingSafeEqual } from 'node:crypto';
import { MINUTE_MS } from '../../kernel/units.ts';
import type { Secret } from '../../store/secret.ts';
import type { Sql } from '../../store/store.ts';
import { type UserRow, getUser } from '../rows.ts';

/** For how long a browser that has given the password may give the code. */
export const PENDING_MS = 10 * MINUTE_MS;

const TOKEN = /^(usr_\w{1,64})\.(\d{1,15})\.([\w-]{43})$/;

/**
 * What a browser keeps between password and code. It opens nothing by itself, follows from the secret and is stored nowhere;
 * the code that has to come with it is taken once. A new password voids it.
 */
export function pendingSignIn(secret: Secret, user: Pick<UserRow, 'id' | 'passwordHash'>, expiresAt: number): string {
  return `${user.id}.${expiresAt}.${seal(secret, user, expiresAt)}`;
}

/** Who has given their password with this browser; undefined where nobody has, or too long ago. */
export async function pendingUser(
  { store, secret }: { store: Sql; secret: Secret },
  token: string | undefined,
  now: number,
): Promise<UserRow | undefined> {
  const [, userId = '', expiry = '', given = ''] = TOKEN.exec(token ?? '') ?? [];
  const expiresAt = Number(expiry);
  if (userId === '' || expiresAt <= now || expiresAt > now + PENDING_MS) return undefined;
  const user = await getUser(store, userId);
  if (user === undefined) return undefined;
  return timingSafeEqual(Buffer.from(given), Buffer.from(seal(secret, user, expiresAt))) ? user : undefined;
}

function seal(secret: Secret, { id, passwordHash }: Pick<UserRow, 'id' | 'passwordHash'>, expiresAt: number): string {
  return secret.derive('pending-sign-in', `${id} ${expiresAt} ${passwordHash}`);
}
