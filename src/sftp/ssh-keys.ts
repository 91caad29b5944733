import { createHash, createPublicKey } from 'node:crypto';
import ssh2, { type ParsedKey } from 'ssh2';
import { EntitySchema } from 'typeorm';
import type { SessionPrincipal } from '../http/principal.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { requireFreshPassword } from '../accounts/passwords.ts';
import { noticeNewKey } from '../accounts/notices.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { bigint, text } from '../store/columns.ts';
import { isDuplicate } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import type { Sql, Tx } from '../store/writer.ts';

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

/**
 * A user's public key. The key itself is not stored: the client sends it at sign-in, and its fingerprint identifies it.
 */
export interface SshKeyRow {
  id: string;
  userId: string;
  name: string;
  /** The name in the key: `ssh-ed25519`, `ssh-rsa`, `ecdsa-sha2-nistp256`, … */
  type: string;
  /** `SHA256:…`, as OpenSSH shows it. */
  fingerprint: string;
  createdAt: number;
  lastUsedAt: number | null;
}

export const sshKeys = new EntitySchema<SshKeyRow>({
  name: 'ssh_keys',
  columns: {
    id: { ...text, primary: true },
    userId: text,
    name: text,
    type: text,
    fingerprint: text,
    createdAt: bigint,
    lastUsedAt: { ...bigint, nullable: true },
  },
  uniques: [{ columns: ['userId', 'fingerprint'] }],
  foreignKeys: [{ target: 'users', columnNames: ['userId'], referencedColumnNames: ['id'] }],
});

/** Stores a key. Throws ALREADY_EXISTS SSH_KEY_EXISTS if the user already has it. */
async function insertSshKey(tx: Tx, row: SshKeyRow): Promise<void> {
  try {
    await tx.manager.insert(sshKeys, row);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw new StatusError('ALREADY_EXISTS', 'SSH_KEY_EXISTS', 'You have already added this key.', {
      cause: error,
    });
  }
}

/** Returns a user's keys, in the order they were added. */
async function listSshKeys(db: Sql, userId: string): Promise<SshKeyRow[]> {
  return db.query<SshKeyRow>('SELECT * FROM "ssh_keys" WHERE "userId" = $1 ORDER BY "createdAt", "id"', [userId]);
}

/** Deletes a key of a user. Returns false if the user has no key with this id. */
async function deleteSshKey(tx: Tx, userId: string, id: string): Promise<boolean> {
  return (await tx.run('DELETE FROM "ssh_keys" WHERE "id" = $1 AND "userId" = $2', [id, userId])) > 0;
}

export async function touchSshKey(tx: Tx, id: string, at: number): Promise<void> {
  await tx.run('UPDATE "ssh_keys" SET "lastUsedAt" = $1 WHERE "id" = $2', [at, id]);
}

/**
 * Returns the server opened by an SFTP user name with a key of one of its owners; undefined if they are unknown, SFTP
 * is off, or the server is being deleted.
 */
export async function findKeyedSftpUser(
  db: Sql,
  username: string,
  fingerprint: string,
): Promise<{ serverId: string; keyId: string } | undefined> {
  const sql = `SELECT "s"."id" AS "serverId", "k"."id" AS "keyId" FROM "sftp_users" "u"
      JOIN "servers" "s" ON "s"."id" = "u"."serverId" JOIN "users" "o" ON "o"."accountId" = "s"."accountId"
      JOIN "ssh_keys" "k" ON "k"."userId" = "o"."id"
    WHERE "u"."username" = $1 AND "k"."fingerprint" = $2 AND "s"."sftpEnabled" = $3 AND "s"."state" <> 'deleting'`;
  const [row] = await db.query<{ serverId: string; keyId: string }>(sql, [username, fingerprint, true]);
  return row;
}
