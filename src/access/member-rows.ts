import { EntitySchema } from 'typeorm';
import type { Role } from '../http/roles.ts';
import { StatusError } from '../kernel/status.ts';
import { bigint, boolean, id, maybeAt, maybeText, ofServer, text } from '../store/columns.ts';
import { countOf } from '../store/count.ts';
import { getUser } from '../accounts/rows.ts';
import { isDuplicate } from '../store/errors.ts';
import type { Sql, Tx } from '../store/writer.ts';

/**
 * `limited` can view and start; `member` can do everything except delete, bill and invite. The owner is the server's
 * account.
 */
export type MemberRole = Exclude<Role, 'owner'>;

export interface MemberRow {
  id: string;
  serverId: string;
  /** The invited address, in lower case. Null while an invitation is open to anyone who has its link. */
  email: string | null;
  /** Null until a user with this address has signed up. */
  userId: string | null;
  role: MemberRole;
  invitedBy: string;
  createdAt: number;
  /** Null: the invitation is pending. */
  acceptedAt: number | null;
  /** SHA-256 of the token of the invitation's link, hex. */
  linkHash: string;
  linkExpiresAt: number;
  /** Whether the link was created with an operator's rights. It then creates accounts even if sign-up is closed. */
  linkOpensAccount: boolean;
}

export const members = new EntitySchema<MemberRow>({
  name: 'members',
  columns: {
    id,
    serverId: text,
    email: maybeText,
    userId: maybeText,
    role: text,
    invitedBy: text,
    createdAt: bigint,
    acceptedAt: maybeAt,
    linkHash: text,
    linkExpiresAt: bigint,
    linkOpensAccount: boolean,
  },
  uniques: [{ columns: ['serverId', 'email'] }, { columns: ['linkHash'] }],
  indices: [{ columns: ['userId'] }, { columns: ['email'] }],
  foreignKeys: [ofServer],
});

/** An open or accepted invitation, with its server. */
export interface Invitation extends MemberRow {
  serverName: string;
  accountId: string;
}

/** A server shared with a user, and the user's role. */
export interface Membership {
  serverId: string;
  role: MemberRole;
}

/** Deletes expired invitations that a new one replaces: those for anyone, and that of the new one's address. */
export async function deleteExpiredInvitations(tx: Tx, { serverId, email, createdAt }: MemberRow): Promise<void> {
  const sql = `DELETE FROM "members" WHERE "serverId" = $1 AND "acceptedAt" IS NULL AND "linkExpiresAt" <= $2
    AND ("email" IS NULL OR "email" = $3)`;
  await tx.run(sql, [serverId, createdAt, email ?? '']);
}

/** Adds an invitation. Throws ALREADY_EXISTS if the address was already invited to the server. */
export async function insertMember(tx: Tx, row: MemberRow): Promise<void> {
  await unlessInvited(() => tx.manager.insert(members, row));
}

async function unlessInvited(change: () => Promise<unknown>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw new StatusError('ALREADY_EXISTS', 'MEMBER_EXISTS', 'This address is already invited to the server.', {
      cause: error,
    });
  }
}

/** Returns a server's members and invitations, oldest first. */
export async function listMembers(db: Sql, serverId: string): Promise<MemberRow[]> {
  return db.query<MemberRow>('SELECT * FROM "members" WHERE "serverId" = $1 ORDER BY "createdAt", "id"', [serverId]);
}

export async function countMembers(db: Sql, serverId: string): Promise<number> {
  const sql = 'SELECT COUNT(*) AS "count" FROM "members" WHERE "serverId" = $1';
  return countOf(db, sql, [serverId]);
}

/** Returns a member of this server; undefined for those of others. */
export async function getMember(db: Sql, serverId: string, id: string): Promise<MemberRow | undefined> {
  const rows = await db.query<MemberRow>('SELECT * FROM "members" WHERE "serverId" = $1 AND "id" = $2', [serverId, id]);
  return rows[0];
}

/** Returns a user's role on another account's server; undefined if they were not invited or have not accepted. */
export async function getMembership(db: Sql, serverId: string, userId: string): Promise<MemberRole | undefined> {
  const [row] = await db.query<{ role: MemberRole }>(
    'SELECT "role" FROM "members" WHERE "userId" = $1 AND "serverId" = $2 AND "acceptedAt" IS NOT NULL',
    [userId, serverId],
  );
  return row?.role;
}

/** Returns all servers shared with a user. */
export async function listMemberships(db: Sql, userId: string): Promise<Membership[]> {
  return db.query<Membership>(
    'SELECT "serverId", "role" FROM "members" WHERE "userId" = $1 AND "acceptedAt" IS NOT NULL ORDER BY "acceptedAt", "id"',
    [userId],
  );
}

/** All invitations, open or accepted, apart from those to servers that are being deleted. */
const INVITATIONS = `SELECT m.*, s."name" AS "serverName", s."accountId" FROM "members" m
  JOIN "servers" s ON s."id" = m."serverId" WHERE s."state" <> 'deleting'`;

/** Returns the open invitations of an address, newest first. */
export async function listInvitations(db: Sql, email: string): Promise<Invitation[]> {
  return db.query<Invitation>(
    `${INVITATIONS} AND m."email" = $1 AND m."acceptedAt" IS NULL ORDER BY m."createdAt" DESC, m."id"`,
    [email],
  );
}

/** Returns the invitations a user has accepted, newest first. */
export async function listAccepted(db: Sql, userId: string): Promise<Invitation[]> {
  return db.query<Invitation>(
    `${INVITATIONS} AND m."userId" = $1 AND m."acceptedAt" IS NOT NULL ORDER BY m."acceptedAt" DESC, m."id"`,
    [userId],
  );
}

/** Returns an invitation of any state by its id. */
export async function getInvitation(db: Sql, id: string): Promise<Invitation | undefined> {
  return (await db.query<Invitation>(`${INVITATIONS} AND m."id" = $1`, [id]))[0];
}

/** An invitation found by its link. */
export interface LinkedInvitation extends Invitation {
  /** Whether the link's inviter had an operator's rights and is still an operator. */
  isByOperator: boolean;
}

/** Returns an invitation of any state by the hash of its link's token. Includes expired ones: the caller checks. */
export async function getLinkedInvitation(db: Sql, hash: string): Promise<LinkedInvitation | undefined> {
  const [row] = await db.query<Invitation>(`${INVITATIONS} AND m."linkHash" = $1`, [hash]);
  if (row === undefined) return undefined;
  // SQLite reads a boolean as a number.
  const wasOperator = Boolean(Number(row.linkOpensAccount));
  return { ...row, isByOperator: wasOperator && (await getUser(db, row.invitedBy))?.operator === true };
}

/** Deletes the open invitation of an address to a server, if there is one. */
export async function deleteInvitationTo(tx: Tx, serverId: string, email: string): Promise<void> {
  const sql = 'DELETE FROM "members" WHERE "serverId" = $1 AND "email" = $2 AND "acceptedAt" IS NULL';
  await tx.run(sql, [serverId, email]);
}

export async function setMemberRole(tx: Tx, id: string, role: MemberRole): Promise<void> {
  await tx.run('UPDATE "members" SET "role" = $1 WHERE "id" = $2', [role, id]);
}

/** Makes the user a member. Throws ALREADY_EXISTS if another member has the address. */
export async function acceptMember(
  tx: Tx,
  id: string,
  { userId, email }: { userId: string; email: string },
  at: number,
): Promise<void> {
  const sql = 'UPDATE "members" SET "userId" = $1, "email" = $2, "acceptedAt" = $3 WHERE "id" = $4';
  await unlessInvited(() => tx.run(sql, [userId, email, at, id]));
}

export async function deleteMember(tx: Tx, id: string): Promise<void> {
  await tx.run('DELETE FROM "members" WHERE "id" = $1', [id]);
}
