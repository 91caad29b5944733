import { hash, verify } from '@node-rs/argon2';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import type { Principal, SessionPrincipal } from '../http/principal.ts';
import type { Visitor } from '../http/session/visitor.ts';
import { type Caller, createSemaphore } from '../kernel/limits/semaphore.ts';
import { once } from '../kernel/once.ts';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { Accounts } from './accounts.ts';
import { deleteOtherBrowserSessions, getBrowserSession, proveBrowserSession } from './browser-session-rows.ts';
import { deleteEmailTokens } from './link-rows.ts';
import { tryPassword } from './login-limits.ts';
import { getUser, replacePassword } from './rows.ts';

/** argon2id (the library's default) with 19 MiB, 2 passes, 1 lane: OWASP Password Storage Cheat Sheet. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Limit of concurrent hashes. Each occupies a core for a tenth of a second, so more would block other work. */
const AT_ONCE = 2;
/** Queue limit, each for strangers and for known users: about seven seconds of hashing. More callers are refused. */
const MOST_WAITING = 60;
/** Limits in bytes of UTF-8. */
export const PASSWORD_BYTES = { least: 8, most: 1_024 };

/** The queue key of the service itself, which has no network. */
const SERVICE: Caller = { queue: 'known', key: 'service' };

const hashing = createSemaphore({
  atOnce: AT_ONCE,
  mostWaiting: MOST_WAITING,
  makesRoom: true,
  full: () =>
    new StatusError('UNAVAILABLE', 'BUSY', 'Too many people are signing in just now. Try again in a few seconds.', {
      retryAfterSeconds: 5,
    }),
});
const decoy = once(() => hash('the password of no account', COST));

/** Whether a text is acceptable as a password: long enough, and within the limit of hashing. */
export function isPassword(text: string): boolean {
  const bytes = Buffer.byteLength(text);
  return bytes >= PASSWORD_BYTES.least && bytes <= PASSWORD_BYTES.most;
}

/**
 * Returns a PHC string. Rejects with RangeError for a password beyond 1024 bytes, and with UNAVAILABLE BUSY if the
 * queue is full.
 */
export async function hashPassword(password: string, caller: Caller = SERVICE): Promise<string> {
  if (Buffer.byteLength(password) > PASSWORD_BYTES.most) throw new RangeError('A password has at most 1024 bytes.');
  return withPlace(caller, () => hash(password, COST));
}

/** Whether a stored hash has a lower cost than new ones. */
export function isOutdated(passwordHash: string): boolean {
  const [, memory, passes] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=\d+\$/.exec(passwordHash) ?? [];
  return !(Number(memory) >= COST.memoryCost && Number(passes) >= COST.timeCost);
}

/**
 * Whether the password matches. Without a hash (unknown user) it returns false after the same time. Rejects like
 * `hashPassword`.
 */
export async function verifyPassword(
  passwordHash: string | undefined,
  password: string,
  caller: Caller = SERVICE,
): Promise<boolean> {
  if (Buffer.byteLength(password) > PASSWORD_BYTES.most) return false;
  const compared = passwordHash ?? (await decoy());
  const matches = await withPlace(caller, () => verify(compared, password));
  return matches && passwordHash !== undefined;
}

async function withPlace<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
  const leave = await hashing.enter(caller);
  try {
    return await work();
  } finally {
    leave();
  }
}

/**
 * Replaces the caller's password and ends their other sessions; API keys and connected apps stay. PERMISSION_DENIED
 * WRONG_PASSWORD, FAILED_PRECONDITION NO_PASSWORD, RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS, UNAVAILABLE BUSY.
 */
export async function changePassword(
  accounts: Accounts,
  principal: SessionPrincipal,
  { current, replacement }: { current: string; replacement: string },
  visitor: Visitor,
): Promise<void> {
  const { store, clock, accessChanges } = accounts;
  const { userId, accountId, sessionId, email } = principal;
  await tryPassword(accounts.loginLimits, { email, visitor, from: { sessionId } }, async (caller) => {
    const before = (await getUser(store, userId))?.passwordHash ?? '';
    if (before === '') throw noPassword();
    if (!(await verifyPassword(before, current, caller))) throw wrongPassword();
    const after = await hashPassword(replacement, caller);
    await store.write(async (tx) => {
      if (!(await replacePassword(tx, userId, before, after))) throw wrongPassword();
      await proveBrowserSession(tx, sessionId, clock.now());
      const ended = await deleteOtherBrowserSessions(tx, userId, sessionId);
      // Void reset links and address changes that someone else may have requested.
      await deleteEmailTokens(tx, userId, 'reset');
      await deleteEmailTokens(tx, userId, 'change');
      const detail = `${ended} other sessions ended`;
      await recordAudit(tx, auditActorOf(principal), {
        action: 'session.changePassword',
        accountId,
        detail,
        at: clock.now(),
      });
    });
  });
  accessChanges.announce({ userId });
}

function noPassword(): StatusError {
  const message =
    'This account has no password. If the page has a link to confirm with the sign-in provider, use it. Otherwise create a password with “Forgot your password?” on the sign-in page.';
  return new StatusError('FAILED_PRECONDITION', 'NO_PASSWORD', message);
}

function wrongPassword(): StatusError {
  return new StatusError('PERMISSION_DENIED', 'WRONG_PASSWORD', 'Your current password is wrong.');
}

/** How long a given password, or a sign-in with the provider, counts as recent when access is granted. */
export const PASSWORD_FRESH_MS = 15 * MINUTE_MS;

/** Whether the session's user has given their password recently, here or at the sign-in provider. */
export function isPasswordFresh({ provedAt }: { provedAt: number }, now: number): boolean {
  return Math.abs(now - provedAt) < PASSWORD_FRESH_MS;
}

/** Returns the name of the sign-in provider if the user has no password and confirms there; otherwise undefined. */
export function onlyProvider({ confirmWith }: Partial<SessionPrincipal>): string | undefined {
  return confirmWith?.hasPassword === false ? confirmWith.provider : undefined;
}

/**
 * Call it before granting permanent access, so that an open browser or a stolen cookie does not yield a key.
 * PERMISSION_DENIED PASSWORD_REQUIRED.
 */
export function requireFreshPassword(principal: Partial<SessionPrincipal> & { provedAt: number }, now: number): void {
  if (isPasswordFresh(principal, now)) return;
  const only = onlyProvider(principal);
  const how = only === undefined ? 'Enter your password again' : `Confirm with ${only}`;
  const message = `${how}. It is required every 15 minutes for this.`;
  throw new StatusError('PERMISSION_DENIED', 'PASSWORD_REQUIRED', message);
}

/**
 * Requires a session whose password was given recently, possibly by this very request. For operations that grant
 * access. PERMISSION_DENIED SESSION_ONLY or PASSWORD_REQUIRED.
 */
export async function requireProvedSession({ store, clock }: Accounts, principal: Principal): Promise<void> {
  if (principal.kind !== 'session') {
    const message = 'This requires a browser session, so that a leaked key cannot do it.';
    throw new StatusError('PERMISSION_DENIED', 'SESSION_ONLY', message);
  }
  const { provedAt } = (await getBrowserSession(store, principal.sessionId)) ?? principal;
  requireFreshPassword({ ...principal, provedAt }, clock.now());
}

/**
 * Checks the password of the signed-in user and returns the refreshed session. PERMISSION_DENIED WRONG_PASSWORD,
 * FAILED_PRECONDITION NO_PASSWORD, RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS, UNAVAILABLE BUSY.
 */
export async function provePassword(
  accounts: Accounts,
  principal: SessionPrincipal,
  password: string,
  visitor: Visitor,
): Promise<SessionPrincipal> {
  const { store, clock } = accounts;
  const { userId, sessionId, email } = principal;
  await tryPassword(accounts.loginLimits, { email, visitor, from: { sessionId } }, async (caller) => {
    const user = await getUser(store, userId);
    if (user?.passwordHash === '') throw noPassword();
    if (await verifyPassword(user?.passwordHash, password, caller)) return;
    throw new StatusError('PERMISSION_DENIED', 'WRONG_PASSWORD', 'This is not your password.');
  });
  const provedAt = clock.now();
  await store.write((tx) => proveBrowserSession(tx, sessionId, provedAt));
  return { ...principal, provedAt };
}
