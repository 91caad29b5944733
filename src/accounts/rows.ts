import { EntitySchema } from 'typeorm';
import { StatusError } from '../kernel/status.ts';
import { bigint, boolean, id, ofAccount, text } from '../store/columns.ts';
import { countOf } from '../store/count.ts';
import { isDuplicate } from '../store/errors.ts';
import { type Sql, type Tx, containing } from '../store/writer.ts';

/** Rows are plain objects with instants in epoch ms and money in micros. Each table has one interface. */

export interface AccountRow {
  id: string;
  name: string;
  createdAt: number;
}

export interface UserRow {
  id: string;
  email: string;
  emailVerified: boolean;
  /** PHC string (argon2id). */
  passwordHash: string;
  accountId: string;
  operator: boolean;
  createdAt: number;
}

export const accounts = new EntitySchema<AccountRow>({
  name: 'accounts',
  columns: { id, name: text, createdAt: bigint },
});

export const users = new EntitySchema<UserRow>({
  name: 'users',
  columns: {
    id,
    email: text,
    emailVerified: boolean,
    passwordHash: text,
    accountId: text,
    operator: boolean,
    createdAt: bigint,
  },
  uniques: [{ columns: ['email'] }],
  indices: [{ columns: ['accountId'] }],
  foreignKeys: [ofAccount],
});

export async function insertAccount(tx: Tx, row: AccountRow): Promise<void> {
  await tx.manager.insert(accounts, row);
}

/** Stores a user with the e-mail address in lower case, for lookups. Throws ALREADY_EXISTS if another user has it. */
export async function insertUser(tx: Tx, row: UserRow): Promise<void> {
  try {
    await tx.manager.insert(users, { ...row, email: row.email.toLowerCase() });
  } catch (error) {
    throw isDuplicate(error) ? emailTaken(error) : error;
  }
}

function emailTaken(cause: unknown): StatusError {
  return new StatusError('ALREADY_EXISTS', 'USER_EXISTS', 'This e-mail address has an account.', { cause });
}

export async function getUser(db: Sql, id: string): Promise<UserRow | undefined> {
  return (await db.query<StoredUser>('SELECT * FROM "users" WHERE "id" = $1', [id])).map(userRow)[0];
}

/** Returns a user by e-mail address, in any letter case. */
export async function getUserByEmail(db: Sql, email: string): Promise<UserRow | undefined> {
  const rows = await db.query<StoredUser>('SELECT * FROM "users" WHERE "email" = $1', [email.toLowerCase()]);
  return rows.map(userRow)[0];
}

/** Returns the account's own users with a verified address; e-mails about the account go to them. */
export async function listOwners(db: Sql, accountId: string): Promise<UserRow[]> {
  const sql = 'SELECT * FROM "users" WHERE "accountId" = $1 ORDER BY "id"';
  return (await db.query<StoredUser>(sql, [accountId])).map(userRow).filter(({ emailVerified }) => emailVerified);
}

/** Whether one of the account's own users is an operator. */
export async function isOperatorAccount(db: Sql, accountId: string): Promise<boolean> {
  const rows = await db.query<StoredUser>('SELECT * FROM "users" WHERE "accountId" = $1', [accountId]);
  return rows.some(({ operator }) => Boolean(operator));
}

/** Returns the account's user. Throws NOT_FOUND ACCOUNT_NOT_FOUND. */
export async function userOfAccount(db: Sql, accountId: string): Promise<UserRow> {
  const sql = 'SELECT * FROM "users" WHERE "accountId" = $1 ORDER BY "createdAt", "id" LIMIT 1';
  const [user] = (await db.query<StoredUser>(sql, [accountId])).map(userRow);
  if (user) return user;
  throw new StatusError('NOT_FOUND', 'ACCOUNT_NOT_FOUND', 'There is no such account.', { metadata: { accountId } });
}

export async function countOperators(db: Sql): Promise<number> {
  return countOf(db, 'SELECT COUNT(*) AS "count" FROM "users" WHERE "operator"');
}

export async function setUserOperator(tx: Tx, userId: string, operator: boolean): Promise<void> {
  await tx.manager.update(users, { id: userId }, { operator });
}

/** Returns the first operator; undefined without one. */
export async function findFirstOperator(db: Sql): Promise<UserRow | undefined> {
  const sql = 'SELECT * FROM "users" WHERE "operator" ORDER BY "createdAt", "id" LIMIT 1';
  return (await db.query<StoredUser>(sql)).map(userRow)[0];
}

/** Replaces the password if it is still `from`; otherwise returns false. */
export async function replacePassword(tx: Tx, userId: string, from: string, to: string): Promise<boolean> {
  const sql = 'UPDATE "users" SET "passwordHash" = $1 WHERE "id" = $2 AND "passwordHash" = $3';
  return (await tx.run(sql, [to, userId, from])) > 0;
}

/** Records that e-mail to the user's address arrives. */
export async function markEmailVerified(tx: Tx, userId: string): Promise<void> {
  await tx.manager.update(users, { id: userId }, { emailVerified: true });
}

/**
 * Changes a user's address, in lower case, and their account's name if it is the old address. Throws ALREADY_EXISTS if
 * another user has it.
 */
export async function setUserEmail(
  tx: Tx,
  { id: userId, accountId, email: old }: UserRow,
  { email, emailVerified }: { email: string; emailVerified: boolean },
): Promise<void> {
  try {
    await tx.manager.update(users, { id: userId }, { email, emailVerified });
  } catch (error) {
    throw isDuplicate(error) ? emailTaken(error) : error;
  }
  await tx.run('UPDATE "accounts" SET "name" = $1 WHERE "id" = $2 AND "name" = $3', [email, accountId, old]);
}

export async function hasUsers(db: Sql): Promise<boolean> {
  return (await db.query('SELECT 1 FROM "users" LIMIT 1')).length > 0;
}

/** SQLite has no booleans, PostgreSQL does. */
export type StoredUser = Omit<UserRow, 'emailVerified' | 'operator'> &
  Record<'emailVerified' | 'operator', number | boolean>;

/** Converts a stored user. */
export function userRow(row: StoredUser): UserRow {
  return { ...row, emailVerified: Boolean(row.emailVerified), operator: Boolean(row.operator) };
}

/** An account in the operators' list. */
export interface ListedAccount extends AccountRow {
  /** The address of its first user; '' without one. */
  email: string;
  balanceMicros: number;
  servers: number;
  /** Whether one of its users is an operator. */
  operator: boolean;
}

const SELECT = `SELECT a."id", a."name", a."createdAt",
    COALESCE((SELECT MIN(u."email") FROM "users" u WHERE u."accountId" = a."id"), '') AS "email",
    COALESCE(w."balanceMicros", 0) AS "balanceMicros",
    (SELECT COUNT(*) FROM "servers" s WHERE s."accountId" = a."id") AS "servers",
    EXISTS (SELECT 1 FROM "users" u WHERE u."accountId" = a."id" AND u."operator") AS "operator"
  FROM "accounts" a LEFT JOIN "wallets" w ON w."accountId" = a."id"`;

/** The accounts to list. */
export const SHOWN_ACCOUNTS = ['all', 'operators', 'servers', 'noServers'] as const;
type ShownAccounts = (typeof SHOWN_ACCOUNTS)[number];

const OWNS_SERVERS = `EXISTS (SELECT 1 FROM "servers" s WHERE s."accountId" = a."id")`;
const SHOWN: Record<Exclude<ShownAccounts, 'all'>, string> = {
  operators: `EXISTS (SELECT 1 FROM "users" u WHERE u."accountId" = a."id" AND u."operator")`,
  servers: OWNS_SERVERS,
  noServers: `NOT ${OWNS_SERVERS}`,
};

/**
 * Returns up to `limit` accounts ordered by id, after `after` ('' for the first), whose id, name or a user's address
 * contains `search` and that `show` includes.
 */
export async function listAccounts(
  db: Sql,
  { after, limit, search, show }: { after: string; limit: number; search: string; show: ShownAccounts },
): Promise<ListedAccount[]> {
  const parameters: unknown[] = [];
  const add = (value: unknown) => `$${parameters.push(value)}`;
  const conditions = [`a."id" > ${add(after)}`];
  if (search !== '') {
    const owned = containing(['a."id"', 'a."name"'], search, add);
    const used = `EXISTS (SELECT 1 FROM "users" u WHERE u."accountId" = a."id" AND ${containing(['u."email"'], search, add)})`;
    conditions.push(`(${owned} OR ${used})`);
  }
  if (show !== 'all') conditions.push(SHOWN[show]);
  const sql = `${SELECT} WHERE ${conditions.join(' AND ')} ORDER BY a."id" LIMIT ${add(limit)}`;
  return (await db.query<Stored>(sql, parameters)).map(listed);
}

export async function findListedAccount(db: Sql, id: string): Promise<ListedAccount | undefined> {
  return (await db.query<Stored>(`${SELECT} WHERE a."id" = $1`, [id])).map(listed)[0];
}

/** PostgreSQL counts in int8, which its driver may return as text; SQLite has no booleans. */
type Stored = Omit<ListedAccount, 'servers' | 'operator'> & { servers: number | string; operator: number | boolean };

function listed(row: Stored): ListedAccount {
  return { ...row, servers: Number(row.servers), operator: Boolean(row.operator) };
}
