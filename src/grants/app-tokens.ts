import { CredentialMemory } from '../access/credential-memory.ts';
import { recordAudit } from '../audit/audit.ts';
import type { AppPrincipal } from '../http/principal.ts';
import { isScope } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import { hashToken, mintToken, parseToken, randomBase62 } from '../kernel/ids.ts';
import { DAY_MS, MINUTE_MS } from '../kernel/units.ts';
import type { Store } from '../store/store.ts';
import {
  type AppTokenRow,
  getAppTokenByHash,
  markAppTokenRevoked,
  markAppTokensRevoked,
  touchAppToken,
} from './app-rows.ts';

/** Lifetime of an unused token. */
export const APP_TOKEN_MS = 180 * DAY_MS;

interface Known {
  principal: AppPrincipal;
  expiresAt: number;
  useNotedAt: number;
}

const USE_NOTED_EVERY_MS = MINUTE_MS;
const memory = new CredentialMemory<Known>();

/**
 * Creates a token and its row. The token is not stored and is shown only once. `scope` is in the format of RFC 6749
 * §3.3: separated by blanks.
 */
export function mintAppToken(wanted: { clientId: string; userId: string; scope: string; createdAt: number }): {
  token: string;
  row: AppTokenRow;
} {
  const token = mintToken('app');
  const expiresAt = wanted.createdAt + APP_TOKEN_MS;
  const id = `tok_${randomBase62(16)}`;
  const row = { ...wanted, id, hash: hashToken(token), lastUsedAt: null, revokedAt: null, expiresAt };
  return { token, row };
}

/**
 * Returns the app and the user of a token; undefined if it is malformed, unknown, revoked or expired, or its app
 * disabled. Each use extends it; it survives changes of its user's password. UNAVAILABLE if the database cannot be
 * read.
 */
export async function authenticateApp(store: Store, clock: Clock, token: string): Promise<AppPrincipal | undefined> {
  if (parseToken(token) !== 'app') return undefined;
  const hash = hashToken(token);
  const now = clock.now();
  const known = await memory.recall(store, hash, now, () => read(store, hash));
  if (!known || known.expiresAt <= now) return undefined;
  if (now - known.useNotedAt >= USE_NOTED_EVERY_MS) {
    known.useNotedAt = now;
    known.expiresAt = now + APP_TOKEN_MS;
    // Best effort: the call must not fail because of it.
    store.write((tx) => touchAppToken(tx, known.principal.tokenId, now, now + APP_TOKEN_MS)).catch(() => {});
  }
  return known.principal;
}

/** Revokes all of an app's tokens for a user. Once this resolves, they are refused. Returns false without any. */
export async function revokeApp(
  { store, clock }: { store: Store; clock: Clock },
  { userId, accountId }: { userId: string; accountId: string },
  clientId: string,
): Promise<boolean> {
  const revoked = await store.write(async (tx) => {
    const at = clock.now();
    const count = await markAppTokensRevoked(tx, userId, clientId, at);
    if (count === 0) return false;
    const entry = { action: 'app.revoke', accountId, detail: `${clientId}, ${count} tokens`, at };
    await recordAudit(tx, { userId, through: 'session' }, entry);
    return true;
  });
  memory.forget(store, ({ principal }) => principal.userId === userId && principal.clientId === clientId);
  return revoked;
}

/**
 * Revokes one token of an app. Once this resolves, it is refused. Returns false if the app has no such token; RFC 7009
 * §2.2 requires the same answer to the client.
 */
export async function revokeAppToken(
  { store, clock }: { store: Store; clock: Clock },
  clientId: string,
  token: string,
): Promise<boolean> {
  const row = parseToken(token) === 'app' ? await getAppTokenByHash(store, hashToken(token)) : undefined;
  if (row?.clientId !== clientId) return false;
  const { id, userId, accountId } = row;
  const revoked = await store.write(async (tx) => {
    const at = clock.now();
    if (!(await markAppTokenRevoked(tx, id, at))) return false;
    await recordAudit(tx, { userId, through: `app ${clientId}` }, { action: 'app.revoke', accountId, detail: id, at });
    return true;
  });
  memory.forget(store, ({ principal }) => principal.tokenId === id);
  return revoked;
}

/** Call it once a change that affects the validity of an app's tokens is stored. */
export function forgetTokensOf(store: Store, clientId: string): void {
  memory.forget(store, ({ principal }) => principal.clientId === clientId);
}

async function read(store: Store, hash: string): Promise<Known | undefined> {
  const row = await getAppTokenByHash(store, hash);
  if (!row || row.revokedAt !== null || row.clientDisabledAt !== null) return undefined;
  const { id: tokenId, clientId, userId, accountId, scope } = row;
  const scopes = new Set(scope.split(' ').filter(isScope));
  const principal: AppPrincipal = {
    kind: 'app',
    tokenId,
    clientId,
    userId,
    accountId,
    scopes,
    operator: false,
    serverIds: null,
  };
  return { principal, expiresAt: row.expiresAt, useNotedAt: row.lastUsedAt ?? 0 };
}
