import type { Sql } from '../store/writer.ts';
import type { AccountRow } from './rows.ts';

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

/**
 * Returns up to `limit` accounts ordered by id, after `after` ('' for the first), whose id, name or a user's address
 * contains `search`.
 */
export async function listAccounts(
  db: Sql,
  { after, limit, search }: { after: string; limit: number; search: string },
): Promise<ListedAccount[]> {
  // Search for the text as typed, too: SQLite ignores case in ASCII letters only.
  const patterns = [search, search.toLowerCase()].map((text) => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`);
  const like = (name: string) => `${name} LIKE $2 ESCAPE '\\' OR LOWER(${name}) LIKE $3 ESCAPE '\\'`;
  const sql = `${SELECT} WHERE a."id" > $1 AND (${like('a."id"')} OR ${like('a."name"')}
      OR EXISTS (SELECT 1 FROM "users" u WHERE u."accountId" = a."id" AND (${like('u."email"')})))
    ORDER BY a."id" LIMIT $4`;
  return (await db.query<Stored>(sql, [after, ...patterns, limit])).map(listed);
}

export async function findListedAccount(db: Sql, id: string): Promise<ListedAccount | undefined> {
  return (await db.query<Stored>(`${SELECT} WHERE a."id" = $1`, [id])).map(listed)[0];
}

/** PostgreSQL counts in int8, which its driver may return as text; SQLite has no booleans. */
type Stored = Omit<ListedAccount, 'servers' | 'operator'> & { servers: number | string; operator: number | boolean };

function listed(row: Stored): ListedAccount {
  return { ...row, servers: Number(row.servers), operator: Boolean(row.operator) };
}
