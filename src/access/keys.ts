import { hashToken, mintToken, newId, parseToken } from '../ids.ts';
import type { Clock } from '../ports.ts';
import { getKeyByHash, markKeyRevoked, touchKey } from '../store/keys.ts';
import type { ApiKeyRow } from '../store/rows.ts';
import type { Store, Tx } from '../store/store.ts';
import type { KeyPrincipal } from './principal.ts';
import { isScope } from './scopes.ts';
import type { Scope } from './scopes.ts';

/** What a new key is to be. */
export interface NewKey {
  name: string;
  userId: string;
  accountId: string;
  scopes: readonly Scope[];
  createdAt: number;
  /** Null: never. */
  expiresAt: number | null;
  /** The only servers it is to reach; null or absent: all of its account. */
  serverIds?: readonly string[] | null;
}

interface Known {
  principal: KeyPrincipal;
  expiresAt: number | null;
  readAt: number;
  useNotedAt: number;
}

/** What other processes change (a user's rank, a row edited by hand) is noticed after this time. */
const REMEMBERED_MS = 30_000;
const REMEMBERED_KEYS = 10_000;
const USE_NOTED_EVERY_MS = 60_000;

/** The keys one store's callers used lately. `revocations` counts, so that a read that overlaps one is not remembered. */
interface Memory {
  keys: Map<string, Known>;
  revocations: number;
}
const memories = new WeakMap<Store, Memory>();

/** Makes a key and the row to store for it. The key itself is nowhere else: it is shown once. */
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
 * Whose key this is; undefined where it is malformed, unknown, expired or revoked. No query is made for a text that
 * cannot be a key. UNAVAILABLE where the database cannot be read.
 */
export async function authenticate(store: Store, clock: Clock, key: string): Promise<KeyPrincipal | undefined> {
  if (parseToken(key) !== 'key') return undefined;
  const known = await recall(store, clock.now(), hashToken(key));
  const now = clock.now();
  if (!known || (known.expiresAt !== null && known.expiresAt <= now)) return undefined;
  if (now - known.useNotedAt >= USE_NOTED_EVERY_MS) {
    known.useNotedAt = now;
    // A courtesy to the key's owner: a call does not fail for it.
    store.write((tx) => touchKey(tx, known.principal.keyId, now)).catch(() => {});
  }
  return known.principal;
}

/**
 * Revokes a key of the account: once this resolves, no call passes with it. False where there is none to revoke. `also`
 * runs in the same write, and only where there is.
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
  const memory = memoryOf(store);
  memory.revocations++;
  for (const [hash, { principal }] of memory.keys) {
    if (principal.keyId === keyId) memory.keys.delete(hash);
  }
  return revoked;
}

async function recall(store: Store, now: number, hash: string): Promise<Known | undefined> {
  const memory = memoryOf(store);
  const known = memory.keys.get(hash);
  if (known && Math.abs(now - known.readAt) < REMEMBERED_MS) return known;
  memory.keys.delete(hash);
  const { revocations } = memory;
  const row = await getKeyByHash(store, hash);
  // The row may be from before a revocation that has meanwhile been confirmed to somebody.
  if (revocations !== memory.revocations) return recall(store, now, hash);
  if (!row || row.revokedAt !== null) return undefined;
  const scopes = new Set(row.scopes.filter(isScope));
  const { id: keyId, userId, accountId, expiresAt } = row;
  const operator = row.operator && scopes.has('operator');
  const serverIds = row.serverIds && new Set(row.serverIds);
  const fresh: Known = {
    principal: { kind: 'key', keyId, userId, accountId, scopes, operator, serverIds },
    expiresAt,
    readAt: now,
    useNotedAt: row.lastUsedAt ?? 0,
  };
  const [oldest] = memory.keys.keys();
  if (oldest !== undefined && memory.keys.size >= REMEMBERED_KEYS) memory.keys.delete(oldest);
  memory.keys.set(hash, fresh);
  return fresh;
}

function memoryOf(store: Store): Memory {
  let memory = memories.get(store);
  if (!memory) {
    memory = { keys: new Map(), revocations: 0 };
    memories.set(store, memory);
  }
  return memory;
}
