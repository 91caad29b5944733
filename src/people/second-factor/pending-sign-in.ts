import { timingSafeEqual } from 'node:crypto';
import { MINUTE_MS } from '../../kernel/units.ts';
import type { Secret } from '../../store/secret.ts';
import type { Sql } from '../../store/store.ts';
import { type UserRow, getUser } from '../rows.ts';

/** Time between password and code in one browser. */
export const PENDING_MS = 10 * MINUTE_MS;

const TOKEN = /^(usr_\w{1,64})\.(\d{1,15})\.([\w-]{43})$/;

/**
 * Creates the token a browser keeps between password and code. The token alone grants no access. It is derived from the
 * secret and not stored; the code that must follow works once. A new password voids the token.
 */
export function pendingSignIn(secret: Secret, user: Pick<UserRow, 'id' | 'passwordHash'>, expiresAt: number): string {
  return `${user.id}.${expiresAt}.${seal(secret, user, expiresAt)}`;
}

/** Returns the user who has given their password in this browser; undefined without one, or after too much time. */
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
