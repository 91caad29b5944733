import type { Principal, SessionPrincipal } from '../http/principal.ts';
import type { Visitor } from '../http/session/visitor.ts';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { tryPassword } from './password-tries.ts';
import { verifyPassword } from './passwords.ts';
import type { People } from './people.ts';
import { getUser } from './rows.ts';
import { getBrowserSession, proveBrowserSession } from './browser-session-rows.ts';

/** How long a given password counts as recent when access is granted. */
export const PASSWORD_FRESH_MS = 15 * MINUTE_MS;

/** Whether the session's user has given their password recently. */
export function isPasswordFresh({ provedAt }: Pick<SessionPrincipal, 'provedAt'>, now: number): boolean {
  return Math.abs(now - provedAt) < PASSWORD_FRESH_MS;
}

/**
 * Call it before granting permanent access, so that an open browser or a stolen cookie does not yield a key.
 * PERMISSION_DENIED PASSWORD_REQUIRED.
 */
export function requireFreshPassword(principal: Pick<SessionPrincipal, 'provedAt'>, now: number): void {
  if (isPasswordFresh(principal, now)) return;
  const message = 'Enter your password again. It is required every 15 minutes for this.';
  throw new StatusError('PERMISSION_DENIED', 'PASSWORD_REQUIRED', message);
}

/**
 * Requires a session whose password was given recently, possibly by this very request. For operations that grant
 * access. PERMISSION_DENIED SESSION_ONLY or PASSWORD_REQUIRED.
 */
export async function requireProvedSession({ store, clock }: People, principal: Principal): Promise<void> {
  if (principal.kind !== 'session') {
    const message = 'This requires a browser session, so that a leaked key cannot do it.';
    throw new StatusError('PERMISSION_DENIED', 'SESSION_ONLY', message);
  }
  requireFreshPassword((await getBrowserSession(store, principal.sessionId)) ?? principal, clock.now());
}

/**
 * Checks the password of the signed-in user and returns the refreshed session. PERMISSION_DENIED WRONG_PASSWORD,
 * RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS, UNAVAILABLE BUSY.
 */
export async function provePassword(
  people: People,
  principal: SessionPrincipal,
  password: string,
  visitor: Visitor,
): Promise<SessionPrincipal> {
  const { store, clock } = people;
  const { userId, sessionId, email } = principal;
  await tryPassword(people, { email, visitor, from: { sessionId } }, async (caller) => {
    const user = await getUser(store, userId);
    if (await verifyPassword(user?.passwordHash || undefined, password, caller)) return;
    throw new StatusError('PERMISSION_DENIED', 'WRONG_PASSWORD', 'This is not your password.');
  });
  const provedAt = clock.now();
  await store.write((tx) => proveBrowserSession(tx, sessionId, provedAt));
  return { ...principal, provedAt };
}
