import { EntitySchema } from 'typeorm';
import { text } from '../store/columns.ts';
import { exact } from '../store/exact.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** The only SFTP user of a server. `sftpEnabled` in the server's row is true while SFTP is on. */
export interface SftpUserRow {
  serverId: string;
  username: string;
  /** SHA-256 of the password, hex; '' while SFTP is off. */
  passwordHash: string;
  /** When the password was created or deleted. */
  changedAt: number;
}

export const sftpUsers = new EntitySchema<SftpUserRow>({
  name: 'sftp_users',
  columns: {
    serverId: { ...text, primary: true },
    username: text,
    passwordHash: text,
    changedAt: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
  },
  uniques: [{ columns: ['username'] }],
  foreignKeys: [
    { target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' as const },
  ],
});

/** Returns a server's SFTP user; undefined if it never had one. */
export async function getSftpUser(db: Sql, serverId: string): Promise<SftpUserRow | undefined> {
  const [row] = await db.query<SftpUserRow>('SELECT * FROM "sftp_users" WHERE "serverId" = $1', [serverId]);
  return row;
}

/** Returns the user of a name; undefined if it is unknown, SFTP is off, or the server is being deleted. */
export async function getActiveSftpUser(db: Sql, username: string): Promise<SftpUserRow | undefined> {
  const sql = `SELECT "u".* FROM "sftp_users" "u" JOIN "servers" "s" ON "s"."id" = "u"."serverId"
    WHERE "u"."username" = $1 AND "s"."sftpEnabled" = $2 AND "s"."state" <> 'deleting'`;
  const [row] = await db.query<SftpUserRow>(sql, [username, true]);
  return row;
}

/** Stores a server's SFTP user and replaces an earlier one. */
export async function putSftpUser(tx: Tx, row: SftpUserRow): Promise<void> {
  const sql = `INSERT INTO "sftp_users" ("serverId", "username", "passwordHash", "changedAt") VALUES ($1, $2, $3, $4)
    ON CONFLICT ("serverId") DO UPDATE
    SET "username" = excluded."username", "passwordHash" = excluded."passwordHash", "changedAt" = excluded."changedAt"`;
  await tx.run(sql, [row.serverId, row.username, row.passwordHash, row.changedAt]);
}

/** Deletes the password. The server keeps the user name. */
export async function clearSftpPassword(tx: Tx, serverId: string, at: number): Promise<void> {
  const sql = `UPDATE "sftp_users" SET "passwordHash" = '', "changedAt" = $1 WHERE "serverId" = $2`;
  await tx.run(sql, [at, serverId]);
}
