import type { AccessStore, Accounts } from '../accounts/accounts.ts';
import { noticeNewKey } from '../accounts/notices.ts';
import { requireFreshPassword } from '../accounts/passwords.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import type { KeyPrincipal, SessionPrincipal } from '../http/principal.ts';
import { type Scope, isScope } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import { hashToken, mintToken, newId, parseToken } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { Store, Tx } from '../store/store.ts';
import { CredentialMemory } from './credential-memory.ts';
import { type ApiKeyRow, getKeyByHash, insertKey, listKeys, markKeyRevoked, touchKey } from './key-rows.ts';
import { roleOn } from './members.ts';
import { getOwnedServer, serverNotFound } from './owned-servers.ts';

/** The fields of a new key. */
export interface NewKey {
  name: string;
  userId: string;
  accountId: string;
  scopes: readonly Scope[];
  createdAt: number;
  /** Null: never. */
  expiresAt: number | null;
  /** The only servers the key reaches; null or absent: all of its account. */
  serverIds?: readonly string[] | null;
}

interface Known {
  principal: KeyPrincipal;
  expiresAt: number | null;
  useNotedAt: number;
}

/** Limit of keys per account, not counting revoked and expired ones. */
const MOST_KEYS = 50;
const USE_NOTED_EVERY_MS = MINUTE_MS;
const memory = new CredentialMemory<Known>();

/** Creates a key and its row. The key is not stored and is shown only once. */
export function mintKey(wanted: NewKey): { key: string; row: ApiKeyRow } {
  const key = mintToken('key');
  const row = {
    ...wanted,
    id: newId('key'),
    hash: hashToken(key),
    last4: key.slice(-4),
    scopes: [...wanted.scopes],
    serverIds: wanted.serverIds ? [...wanted.serverIds] : null,
    lastUsedAt: null,
    revokedAt: null,
  };
  return { key, row };
}

/**
 * Returns the principal of a key; undefined if it is malformed, unknown, expired or revoked. A malformed key costs no
 * query. UNAVAILABLE if the database cannot be read.
 */
export async function authenticate(store: Store, clock: Clock, key: string): Promise<KeyPrincipal | undefined> {
  if (parseToken(key) !== 'key') return undefined;
  const hash = hashToken(key);
  const known = await memory.recall(store, hash, clock.now(), () => read(store, hash));
  const now = clock.now();
  if (!known || (known.expiresAt !== null && known.expiresAt <= now)) return undefined;
  if (now - known.useNotedAt >= USE_NOTED_EVERY_MS) {
    known.useNotedAt = now;
    // Best effort: the call must not fail because of it.
    store.write((tx) => touchKey(tx, known.principal.keyId, now)).catch(() => {});
  }
  return known.principal;
}

/** Call it when a user's rights have changed, so that their keys are read again. */
export function forgetKeysOf(store: Store, userId: string): void {
  memory.forget(store, ({ principal }) => principal.userId === userId);
}

async function read(store: Store, hash: string): Promise<Known | undefined> {
  const row = await getKeyByHash(store, hash);
  if (!row || row.revokedAt !== null) return undefined;
  const { id: keyId, userId, accountId, expiresAt } = row;
  const scopes = new Set(row.scopes.filter(isScope));
  const operator = row.operator && scopes.has('operator');
  const serverIds = row.serverIds && new Set(row.serverIds);
  const principal: KeyPrincipal = { kind: 'key', keyId, userId, accountId, scopes, operator, serverIds };
  return { principal, expiresAt, useNotedAt: row.lastUsedAt ?? 0 };
}

/** A key as its owner requests it. */
export interface WantedKey {
  name: string;
  scopes: readonly Scope[];
  /** Null: never. */
  expiresAt: number | null;
  /** The only servers the key reaches; null: all that the owner reaches. */
  serverIds: readonly string[] | null;
}

/** Returns the account's keys that are not revoked, oldest first. */
export async function keysOf(store: Store, { accountId }: SessionPrincipal): Promise<ApiKeyRow[]> {
  return (await listKeys(store, accountId)).filter(({ revokedAt }) => revokedAt === null);
}

/**
 * Creates a key limited to its owner's permissions and e-mails them. Returns the key only this once. PERMISSION_DENIED
 * PASSWORD_REQUIRED, or SCOPE_NOT_ALLOWED for a scope the caller cannot grant; NOT_FOUND SERVER_NOT_FOUND;
 * RESOURCE_EXHAUSTED MAX_KEYS.
 */
export async function mintOwnKey(
  accounts: Accounts,
  principal: SessionPrincipal,
  wanted: WantedKey,
): Promise<{ key: string; row: ApiKeyRow }> {
  const { store, clock } = accounts;
  requireFreshPassword(principal, clock.now());
  const refused = wanted.scopes.find((scope) => !principal.scopes.has(scope));
  if (refused !== undefined) {
    throw new StatusError('PERMISSION_DENIED', 'SCOPE_NOT_ALLOWED', `You cannot grant the scope ${refused}.`, {
      metadata: { scope: refused },
    });
  }
  const { userId, accountId } = principal;
  const createdAt = clock.now();
  const minted = mintKey({ ...wanted, userId, accountId, createdAt });
  await store.write(async (tx) => {
    for (const id of wanted.serverIds ?? []) await requireServer(tx, principal, id);
    await requireRoomForKey(tx, accountId, createdAt);
    await insertKey(tx, minted.row);
    const detail = `${minted.row.id} with ${wanted.scopes.join(', ')}`;
    await recordAudit(tx, auditActorOf(principal), { action: 'key.mint', accountId, detail, at: createdAt });
  });
  noticeNewKey(accounts, principal, 'A new API key was created for your account');
  return minted;
}

/**
 * Throws RESOURCE_EXHAUSTED MAX_KEYS if the account has reached its limit of live keys. Checked while a user can still
 * react.
 */
export async function requireRoomForKey(tx: Tx, accountId: string, at: number): Promise<void> {
  const keys = await listKeys(tx, accountId);
  const live = keys.filter(({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt > at));
  if (live.length < MOST_KEYS) return;
  throw new StatusError(
    'RESOURCE_EXHAUSTED',
    'MAX_KEYS',
    `An account can have at most ${MOST_KEYS} keys. Revoke one.`,
    {
      metadata: { subject: `account:${accountId}`, limit: String(MOST_KEYS) },
    },
  );
}

/** Revokes one of the caller's keys. Once this resolves, it is refused. NOT_FOUND KEY_NOT_FOUND. */
export async function revokeOwnKey(
  { store, clock, accessChanges }: AccessStore,
  principal: SessionPrincipal,
  keyId: string,
): Promise<void> {
  const { accountId } = principal;
  const revoked = await store.write(async (tx) => {
    const at = clock.now();
    if (!(await markKeyRevoked(tx, accountId, keyId, at))) return false;
    await recordAudit(tx, auditActorOf(principal), { action: 'key.revoke', accountId, detail: keyId, at });
    await accessChanges.inWrite(tx, { keyId }, at);
    return true;
  });
  memory.forget(store, ({ principal }) => principal.keyId === keyId);
  if (!revoked) {
    throw new StatusError('NOT_FOUND', 'KEY_NOT_FOUND', 'There is no such key.', { metadata: { keyId } });
  }
  accessChanges.announce({ keyId });
}

async function requireServer(tx: Tx, principal: SessionPrincipal, id: string): Promise<void> {
  const server = await getOwnedServer(tx, id);
  if (server && (await roleOn(tx, principal, server)) !== undefined) return;
  throw serverNotFound(id);
}
