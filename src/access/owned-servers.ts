import { StatusError } from '../kernel/status.ts';
import type { Sql } from '../store/writer.ts';

/** A server and its account. */
export interface OwnedServer {
  id: string;
  /** The owner's account. */
  accountId: string;
}

/** Returns undefined for a server that does not exist or is being deleted. */
export async function getOwnedServer(db: Sql, id: string): Promise<OwnedServer | undefined> {
  const sql = `SELECT "id", "accountId" FROM "servers" WHERE "id" = $1 AND "state" <> 'deleting'`;
  return (await db.query<OwnedServer>(sql, [id]))[0];
}

/** Returns an account's servers, oldest first, then those shared with the user. */
export async function listReachableServers(
  db: Sql,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<{ id: string; name: string }[]> {
  const own = `SELECT "id", "name" FROM "servers" WHERE "accountId" = $1 AND "state" <> 'deleting' ORDER BY "createdAt", "id"`;
  const shared = `SELECT s."id", s."name" FROM "members" m JOIN "servers" s ON s."id" = m."serverId"
    WHERE m."userId" = $1 AND m."acceptedAt" IS NOT NULL AND s."state" <> 'deleting' ORDER BY m."acceptedAt", m."id"`;
  return (
    await Promise.all([
      db.query<{ id: string; name: string }>(own, [accountId]),
      db.query<{ id: string; name: string }>(shared, [userId]),
    ])
  ).flat();
}

/** Returns the same error for servers that are unknown, being deleted, or hidden from the caller. */
export function serverNotFound(id: string): StatusError {
  return new StatusError('NOT_FOUND', 'SERVER_NOT_FOUND', 'There is no such server.', {
    metadata: { id },
    words: { player: 'This server was deleted.' },
  });
}
