import { auditActorOf, recordAudit } from '../audit/audit.ts';
import type { SessionPrincipal } from '../http/principal.ts';
import { FULL_SCOPES, KEY_SCOPES } from '../http/scopes.ts';
import { SESSION_LIFE_MS } from '../http/session/session-cookie.ts';
import type { Visitor } from '../http/session/visitor.ts';
import type { Clock } from '../kernel/clock.ts';
import { hashToken, isRandomToken, randomToken } from '../kernel/ids.ts';
import { DAY_MS, MINUTE_MS } from '../kernel/units.ts';
import type { Store, Tx } from '../store/store.ts';
import type { AccessStore } from './accounts.ts';
import {
  type BrowserSessionRow,
  deleteBrowserSession,
  deleteOtherBrowserSessions,
  getBrowserSession,
  insertBrowserSession,
  listBrowserSessions,
  pruneBrowserSessions,
  touchBrowserSession,
} from './browser-session-rows.ts';
import type { Provider } from './provider.ts';

/** Lifetime of an unused browser session. */
export const SESSION_IDLE_MS = 14 * DAY_MS;
const SEEN_NOTED_EVERY_MS = MINUTE_MS;
/** Limit of sessions per user. The least recently used one is deleted first. */
const MOST_SESSIONS = 50;
const USER_AGENT_CHARS = 256;

/** Creates a session in the write of the sign-in. Returns its token, the cookie's value, which is not stored. */
export async function openBrowserSession(
  tx: Tx,
  userId: string,
  visitor: Visitor,
  now: number,
  provedAt = now,
): Promise<string> {
  const token = randomToken();
  await insertBrowserSession(tx, {
    id: hashToken(token),
    userId,
    createdAt: now,
    seenAt: now,
    expiresAt: now + SESSION_IDLE_MS,
    ip: visitor.address,
    userAgent: visitor.userAgent
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, ' ')
      .slice(0, USER_AGENT_CHARS),
    provedAt,
  });
  await pruneBrowserSessions(tx, userId, MOST_SESSIONS, now);
  return token;
}

/**
 * Returns the user signed in with this token; undefined if it is malformed, unknown, ended or expired.
 * `operatorsNeedSecondFactor`: an operator without a second factor has no operator rights. `provider`: that of the
 * installation.
 */
export async function findBrowserSession(
  store: Store,
  clock: Clock,
  token: string,
  {
    operatorsNeedSecondFactor = false,
    provider,
  }: { operatorsNeedSecondFactor?: boolean; provider?: Provider | undefined } = {},
): Promise<SessionPrincipal | undefined> {
  if (!isRandomToken(token)) return undefined;
  const row = await getBrowserSession(store, hashToken(token), provider?.issuer);
  const now = clock.now();
  if (!row || row.expiresAt <= now) return undefined;
  if (now - row.seenAt >= SEEN_NOTED_EVERY_MS) {
    const expiresAt = Math.min(now + SESSION_IDLE_MS, row.createdAt + SESSION_LIFE_MS);
    // A failed write must not fail the call: the session then expires a little earlier.
    const unlessSince = now - SEEN_NOTED_EVERY_MS;
    store.write((tx) => touchBrowserSession(tx, row.id, now, expiresAt, unlessSince)).catch(() => {});
  }
  const needsSecondFactor = operatorsNeedSecondFactor && row.operator && !row.secondFactor;
  return {
    kind: 'session',
    sessionId: row.id,
    userId: row.userId,
    accountId: row.accountId,
    email: row.email,
    emailVerified: row.emailVerified,
    operator: row.operator,
    provedAt: row.provedAt,
    confirmWith: provider && row.linked ? { provider: provider.name, hasPassword: row.hasPassword } : undefined,
    needsSecondFactor,
    scopes: new Set(row.operator && !needsSecondFactor ? KEY_SCOPES : FULL_SCOPES),
    serverIds: null,
  };
}

/** Returns the caller's sessions, last used first. */
export async function browserSessionsOf(
  store: Store,
  clock: Clock,
  { userId }: SessionPrincipal,
): Promise<BrowserSessionRow[]> {
  return listBrowserSessions(store, userId, clock.now());
}

/** Ends one of the caller's sessions, possibly the current one; false for an unknown id. */
export async function endBrowserSession(
  { store, clock, accessChanges }: AccessStore,
  principal: SessionPrincipal,
  sessionId: string,
): Promise<boolean> {
  const ended = await store.write(async (tx) => {
    if (!(await deleteBrowserSession(tx, principal.userId, sessionId))) return false;
    const action = sessionId === principal.sessionId ? 'session.signOut' : 'session.end';
    await recordAudit(tx, auditActorOf(principal), { action, accountId: principal.accountId, at: clock.now() });
    return true;
  });
  if (ended) accessChanges.announce({ sessionId });
  return ended;
}

/** Ends all of the caller's sessions except the current one and returns their number. */
export async function endOtherBrowserSessions(
  { store, clock, accessChanges }: AccessStore,
  principal: SessionPrincipal,
): Promise<number> {
  const { userId, accountId, sessionId } = principal;
  const ended = await store.write(async (tx) => {
    const others = await deleteOtherBrowserSessions(tx, userId, sessionId);
    const entry = { action: 'session.endOthers', accountId, detail: `${others} ended`, at: clock.now() };
    if (others > 0) await recordAudit(tx, auditActorOf(principal), entry);
    return others;
  });
  if (ended > 0) accessChanges.announce({ userId });
  return ended;
}
