import { timingSafeEqual } from 'node:crypto';
import { hashToken, randomBase62 } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import type { Sql, Tx } from '../store/store.ts';
import { clearSftpPassword, getActiveSftpUser, getSftpUser, putSftpUser } from './rows.ts';

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
