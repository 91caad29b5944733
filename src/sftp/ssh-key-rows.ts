import { EntitySchema } from 'typeorm';
import { StatusError } from '../kernel/status.ts';
import { bigint, text } from '../store/columns.ts';
import { isDuplicate } from '../store/errors.ts';
import type { Sql, Tx } from '../store/writer.ts';

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
export async function insertSshKey(tx: Tx, row: SshKeyRow): Promise<void> {
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
export async function listSshKeys(db: Sql, userId: string): Promise<SshKeyRow[]> {
  return db.query<SshKeyRow>('SELECT * FROM "ssh_keys" WHERE "userId" = $1 ORDER BY "createdAt", "id"', [userId]);
}

/** Deletes a key of a user. Returns false if the user has no key with this id. */
export async function deleteSshKey(tx: Tx, userId: string, id: string): Promise<boolean> {
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
