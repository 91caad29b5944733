import { createHash, createPublicKey } from 'node:crypto';
import ssh2, { type ParsedKey } from 'ssh2';
import type { SessionPrincipal } from '../http/principal.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { requireFreshPassword } from '../accounts/passwords.ts';
import { noticeNewKey } from '../accounts/notices.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Store } from '../store/store.ts';
import { type SshKeyRow, deleteSshKey, insertSshKey, listSshKeys } from './ssh-key-rows.ts';

/** Limit of keys per user. */
export const MOST_SSH_KEYS = 20;
/** Longest line with a key: more than RSA with 8192 bits and a comment needs. */
export const SSH_KEY_CHARS = 4_096;

const RSA_BITS = { least: 2_048, most: 8_192 };
const TYPES: ReadonlySet<string> = new Set([
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
]);

/** Ends a key's sessions. */
export interface SshSessions {
  cutKey(keyId: string): Promise<void>;
}

/**
 * Parses a line such as `ssh-ed25519 AAAA… comment`, or the key in a packet. Returns undefined unless it is a public
 * key of an accepted type.
 */
export function readSshKey(key: string | Buffer): ParsedKey | undefined {
  const parsed = ssh2.utils.parseKey(key);
  if (parsed instanceof Error || parsed.isPrivateKey() || !TYPES.has(parsed.type)) return undefined;
  return parsed.type === 'ssh-rsa' && !isRsaTaken(parsed) ? undefined : parsed;
}

/** Returns the fingerprint as OpenSSH shows it: `SHA256:…`. */
export function sshFingerprint(publicKey: Buffer): string {
  return `SHA256:${createHash('sha256').update(publicKey).digest('base64').replaceAll('=', '')}`;
}

export async function sshKeysOf(store: Store, { userId }: SessionPrincipal): Promise<SshKeyRow[]> {
  return listSshKeys(store, userId);
}

/**
 * Adds a public key for SFTP of all servers of the user's account, and notifies the user by e-mail. INVALID_ARGUMENT
 * SSH_KEY_INVALID; PERMISSION_DENIED PASSWORD_REQUIRED; ALREADY_EXISTS SSH_KEY_EXISTS; RESOURCE_EXHAUSTED MAX_SSH_KEYS.
 */
export async function addSshKey(
  accounts: Accounts,
  principal: SessionPrincipal,
  { name, publicKey }: { name: string; publicKey: string },
): Promise<SshKeyRow> {
  const { store, clock } = accounts;
  const createdAt = clock.now();
  requireFreshPassword(principal, createdAt);
  const key = readSshKey(publicKey.trim());
  if (!key) throw invalidKey();
  const { userId, accountId } = principal;
  const fingerprint = sshFingerprint(key.getPublicSSH());
  const id = `ssh_${randomBase62(16)}`;
  const row: SshKeyRow = { id, userId, name, type: key.type, fingerprint, createdAt, lastUsedAt: null };
  await store.write(async (tx) => {
    if ((await listSshKeys(tx, userId)).length >= MOST_SSH_KEYS) {
      const message = `You can have ${MOST_SSH_KEYS} SSH keys. Remove one first.`;
      throw new StatusError('RESOURCE_EXHAUSTED', 'MAX_SSH_KEYS', message);
    }
    await insertSshKey(tx, row);
    const entry = { action: 'sshKey.add', accountId, detail: `${row.id} ${fingerprint}`, at: createdAt };
    await recordAudit(tx, auditActorOf(principal), entry);
  });
  noticeNewKey(accounts, principal, `The SSH key ${fingerprint} was added to your account`, '/profile/ssh');
  return row;
}

/** Removes a key and ends its connections. NOT_FOUND SSH_KEY_NOT_FOUND. */
export async function removeSshKey(
  { store, clock, sftp }: Accounts & { sftp: SshSessions },
  principal: SessionPrincipal,
  keyId: string,
): Promise<void> {
  const { userId, accountId } = principal;
  await store.write(async (tx) => {
    if (!(await deleteSshKey(tx, userId, keyId))) {
      throw new StatusError('NOT_FOUND', 'SSH_KEY_NOT_FOUND', 'There is no such SSH key.', { metadata: { keyId } });
    }
    const entry = { action: 'sshKey.remove', accountId, detail: keyId, at: clock.now() };
    await recordAudit(tx, auditActorOf(principal), entry);
  });
  await sftp.cutKey(keyId);
}

function isRsaTaken(key: ParsedKey): boolean {
  const bits = createPublicKey(key.getPublicPEM()).asymmetricKeyDetails?.modulusLength ?? 0;
  return bits >= RSA_BITS.least && bits <= RSA_BITS.most;
}

function invalidKey(): StatusError {
  const message =
    `This is not a supported public key. Use Ed25519, ECDSA, or RSA with ${RSA_BITS.least} to ${RSA_BITS.most} bits. ` +
    'Paste the line of a file that ends in .pub.';
  return new StatusError('INVALID_ARGUMENT', 'SSH_KEY_INVALID', message);
}
