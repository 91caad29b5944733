import { timingSafeEqual } from 'node:crypto';
import { EntitySchema } from 'typeorm';
import { hashToken, randomBase62 } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import { text } from '../store/columns.ts';
import { exact } from '../store/exact.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** The credentials for a server's files over SFTP. The password is shown only once, because only its hash is stored. */
export interface SftpLogin {
  username: string;
  password: string;
}

/** 190 bits cannot be guessed. A plain SHA-256 is therefore as safe as a slow hash, and makes sign-in fast. */
const PASSWORD_CHARS = 32;
/**
 * A user name is `<server id>.<eight more>`. The id alone is public, because it is in the server's address, and anyone
 * who knows a user name can slow down its sign-ins.
 */
const SUFFIX_CHARS = 8;
const NOBODY = '0'.repeat(64);

/** Creates a new password for a server's SFTP user, and the user if missing. The old password becomes void. */
export async function issueSftpLogin(tx: Tx, serverId: string, at: number): Promise<SftpLogin> {
  const known = await getSftpUser(tx, serverId);
  const username = known?.username ?? `${serverId}.${randomBase62(SUFFIX_CHARS).toLowerCase()}`;
  const password = randomBase62(PASSWORD_CHARS);
  await putSftpUser(tx, { serverId, username, passwordHash: hashToken(password), changedAt: at });
  return { username, password };
}

/** Replaces the password of a server's SFTP user. Throws FAILED_PRECONDITION SFTP_DISABLED if SFTP is off. */
export async function rotateSftpLogin(tx: Tx, serverId: string, at: number): Promise<SftpLogin> {
  if (await getSftpUser(tx, serverId).then((user) => !user?.passwordHash)) {
    throw new StatusError('FAILED_PRECONDITION', 'SFTP_DISABLED', 'SFTP is off. Enable it to get a password.');
  }
  return issueSftpLogin(tx, serverId, at);
}

/** Voids the password of a server's SFTP user. The user name stays. */
export async function revokeSftpLogin(tx: Tx, serverId: string, at: number): Promise<void> {
  await clearSftpPassword(tx, serverId, at);
}

/**
 * Returns the id of the server that a name and the hash of a password open; undefined without one. A wrong password and
 * an unknown name take the same time.
 */
export async function findSftpServer(db: Sql, username: string, passwordHash: string): Promise<string | undefined> {
  const user = await getActiveSftpUser(db, username);
  const expected = Buffer.from(user?.passwordHash || NOBODY);
  const isRight = timingSafeEqual(Buffer.from(passwordHash), expected);
  return isRight ? user?.serverId : undefined;
}

/** The only SFTP user of a server. `sftpEnabled` in the server's row is true while SFTP is on. */
interface SftpUserRow {
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
async function getActiveSftpUser(db: Sql, username: string): Promise<SftpUserRow | undefined> {
  const sql = `SELECT "u".* FROM "sftp_users" "u" JOIN "servers" "s" ON "s"."id" = "u"."serverId"
    WHERE "u"."username" = $1 AND "s"."sftpEnabled" = $2 AND "s"."state" <> 'deleting'`;
  const [row] = await db.query<SftpUserRow>(sql, [username, true]);
  return row;
}

/** Stores a server's SFTP user and replaces an earlier one. */
async function putSftpUser(tx: Tx, row: SftpUserRow): Promise<void> {
  const sql = `INSERT INTO "sftp_users" ("serverId", "username", "passwordHash", "changedAt") VALUES ($1, $2, $3, $4)
    ON CONFLICT ("serverId") DO UPDATE
    SET "username" = excluded."username", "passwordHash" = excluded."passwordHash", "changedAt" = excluded."changedAt"`;
  await tx.run(sql, [row.serverId, row.username, row.passwordHash, row.changedAt]);
}

/** Deletes the password. The server keeps the user name. */
async function clearSftpPassword(tx: Tx, serverId: string, at: number): Promise<void> {
  const sql = `UPDATE "sftp_users" SET "passwordHash" = '', "changedAt" = $1 WHERE "serverId" = $2`;
  await tx.run(sql, [at, serverId]);
}
