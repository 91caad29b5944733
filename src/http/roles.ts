/**
 * A user's role on a server. `owner`: everything. `member`: everything except deleting it, its members, its bill, its
 * database password and SFTP. `limited`: read, start, stop, see logs and players.
 */
export type Role = 'owner' | 'member' | 'limited';

const RANK: Record<Role, number> = { limited: 1, member: 2, owner: 3 };

/** Reports whether a role includes all permissions of another. */
export function isAtLeast(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}
