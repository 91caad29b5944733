import type { KeyPrincipal } from '../../http/principal.ts';
import { type Scope, isScope } from '../../http/scopes.ts';
import type { Clock } from '../../kernel/clock.ts';
import { hashToken, mintToken, newId, parseToken } from '../../kernel/ids.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import type { Store, Tx } from '../../store/store.ts';
import { createCredentialMemory } from '../credential-memory.ts';
import { type ApiKeyRow, getKeyByHash, markKeyRevoked, touchKey } from './rows.ts';

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

const USE_NOTED_EVERY_MS = MINUTE_MS;
const memoryOf = createCredentialMemory<Known>();

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
  const known = await memoryOf(store).recall(hash, clock.now(), () => read(store, hash));
  const now = clock.now();
  if (!known || (known.expiresAt !== null && known.expiresAt <= now)) return undefined;
  if (now - known.useNotedAt >= USE_NOTED_EVERY_MS) {
    known.useNotedAt = now;
    // Best effort: the call must not fail because of it.
    store.write((tx) => touchKey(tx, known.principal.keyId, now)).catch(() => {});
  }
  return known.principal;
}

/**
 * Revokes a key of the account. Once this resolves, it is refused. Returns false if there is no active one. `also` runs
 * in the same write, only if a key was revoked.
 */
export async function revokeKey(
  store: Store,
  clock: Clock,
  accountId: string,
  keyId: string,
  also: (tx: Tx) => Promise<void> = async () => {},
): Promise<boolean> {
  const revoked = await store.write(async (tx) => {
    if (!(await markKeyRevoked(tx, accountId, keyId, clock.now()))) return false;
    await also(tx);
    return true;
  });
  memoryOf(store).forget(({ principal }) => principal.keyId === keyId);
  return revoked;
}

/** Call it when a user's rights have changed, so that their keys are read again. */
export function forgetKeysOf(store: Store, userId: string): void {
  memoryOf(store).forget(({ principal }) => principal.userId === userId);
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
