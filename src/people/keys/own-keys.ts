import type { SessionPrincipal } from '../../http/principal.ts';
import type { Scope } from '../../http/scopes.ts';
import { StatusError } from '../../kernel/status.ts';
import type { Store, Tx } from '../../store/store.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { requireFreshPassword } from '../fresh-password.ts';
import { noticeNewKey } from '../mail/notices.ts';
import { roleOn } from '../members/members.ts';
import { getOwnedServer, serverNotFound } from '../members/owned-servers.ts';
import type { People } from '../people.ts';
import type { BrowserSessionServices } from '../browser-sessions.ts';
import { mintKey, revokeKey } from './keys.ts';
import { type ApiKeyRow, insertKey, listKeys } from './rows.ts';

/** Limit of keys per account, not counting revoked and expired ones. */
const MOST_KEYS = 50;

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
  people: People,
  principal: SessionPrincipal,
  wanted: WantedKey,
): Promise<{ key: string; row: ApiKeyRow }> {
  const { store, clock } = people;
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
    await addKey(tx, minted.row);
    const detail = `${minted.row.id} with ${wanted.scopes.join(', ')}`;
    await recordAudit(tx, auditActorOf(principal), { action: 'key.mint', accountId, detail, at: createdAt });
  });
  noticeNewKey(people, principal, 'A new API key was created for your account');
  return minted;
}

/** Stores a new key. Throws RESOURCE_EXHAUSTED MAX_KEYS if its account has too many. */
async function addKey(tx: Tx, row: ApiKeyRow): Promise<void> {
  await requireRoomForKey(tx, row.accountId, row.createdAt);
  await insertKey(tx, row);
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
  { store, clock, accessChanges }: BrowserSessionServices,
  principal: SessionPrincipal,
  keyId: string,
): Promise<void> {
  const { accountId } = principal;
  const entry = { action: 'key.revoke', accountId, detail: keyId, at: clock.now() };
  const revoked = await revokeKey(store, clock, accountId, keyId, async (tx) => {
    await recordAudit(tx, auditActorOf(principal), entry);
    await accessChanges.inWrite(tx, { keyId }, entry.at);
  });
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
