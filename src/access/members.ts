import type { AccessStore, Accounts } from '../accounts/accounts.ts';
import { getUserByEmail } from '../accounts/rows.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import type { AccessChanges } from '../http/access-changes.ts';
import { type Principal, type SessionPrincipal, reachesServer } from '../http/principal.ts';
import type { Role } from '../http/roles.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import type { Sql, Store, Tx } from '../store/store.ts';
import {
  type Invitation,
  type MemberRole,
  type MemberRow,
  acceptMember,
  countMembers,
  deleteMember,
  getInvitation,
  getMember,
  getMembership,
  insertMember,
  listInvitations,
  listMembers,
  setMemberRole,
} from './member-rows.ts';
import type { OwnedServer } from './owned-servers.ts';

/** Limit of members per server, including invitations. */
const MOST_MEMBERS = 100;

/**
 * Returns the caller's role on a server; undefined without one, in which case the server does not exist for them. This
 * is the only place that decides access: the owner is the server's account, others have their invitation's role, and a
 * key reaches only its servers.
 */
export async function roleOn(db: Sql, principal: Principal, server: OwnedServer): Promise<Role | undefined> {
  if (!reachesServer(principal, server.id)) return undefined;
  if (server.accountId === principal.accountId) return 'owner';
  return getMembership(db, server.id, principal.userId);
}

/** Returns a server's members and open invitations, oldest first. */
export async function membersOf(store: Store, serverId: string): Promise<MemberRow[]> {
  return listMembers(store, serverId);
}

/**
 * Invites an address (normalized by `normalizeEmail`) to a server of the caller and e-mails it. Does not reveal
 * whether a user has the address. ALREADY_EXISTS MEMBER_EXISTS; RESOURCE_EXHAUSTED MAX_MEMBERS, or TOO_MANY_ATTEMPTS
 * for e-mails.
 */
export async function inviteMember(
  accounts: Accounts,
  principal: Principal,
  server: OwnedServer & { name: string },
  { email, role }: { email: string; role: MemberRole },
): Promise<MemberRow> {
  const { store, clock, loginLimits, post, signup } = accounts;
  loginLimits.mail.take(principal.accountId);
  const row: MemberRow = {
    id: `mem_${randomBase62(16)}`,
    serverId: server.id,
    email,
    userId: null,
    role,
    invitedBy: principal.userId,
    createdAt: clock.now(),
    acceptedAt: null,
  };
  await store.write(async (tx) => {
    const invited = await getUserByEmail(tx, email);
    if (invited?.accountId === server.accountId) {
      throw new StatusError('ALREADY_EXISTS', 'MEMBER_EXISTS', 'This address belongs to the owner.');
    }
    if ((await countMembers(tx, server.id)) >= MOST_MEMBERS) throw tooManyMembers(server.id);
    await insertMember(tx, row);
    await recordMember(tx, principal, server, 'member.invite', `${email} as ${role}`, row.createdAt);
  });
  const link = `${post.baseUrl}/invitations`;
  const withoutAccount =
    signup !== 'closed'
      ? 'Sign in with this address, or create an account with it, and accept or decline here:'
      : 'Sign in with this address and accept or decline here. Without an account, ask your administrator for one.';
  post.send({
    to: email,
    subject: 'You are invited to a Minecraft server on Dormouse',
    text: `You are invited to the Minecraft server "${server.name}".

${withoutAccount}

${link}
`,
  });
  return row;
}

/** Changes a member's role, effective at once. NOT_FOUND MEMBER_NOT_FOUND. */
export async function setRole(
  access: AccessStore,
  principal: Principal,
  server: OwnedServer,
  { memberId, role }: { memberId: string; role: MemberRole },
): Promise<MemberRow> {
  const changed = await access.store.write(async (tx) => {
    const row = await memberOf(tx, server.id, memberId);
    if (row.role === role) return row;
    await setMemberRole(tx, row.id, role);
    const detail = `${row.email} from ${row.role} to ${role}`;
    const at = access.clock.now();
    await recordMember(tx, principal, server, 'member.setRole', detail, at);
    if (row.userId !== null) await access.accessChanges.inWrite(tx, { serverId: server.id, userId: row.userId }, at);
    return { ...row, role };
  });
  announce(access.accessChanges, changed);
  return changed;
}

/** Removes a member or an invitation, effective at once. NOT_FOUND MEMBER_NOT_FOUND. */
export async function removeMember(
  access: AccessStore,
  principal: Principal,
  server: OwnedServer,
  memberId: string,
): Promise<void> {
  const removed = await access.store.write(async (tx) => {
    const row = await memberOf(tx, server.id, memberId);
    const at = access.clock.now();
    await deleteMember(tx, row.id);
    await recordMember(tx, principal, server, 'member.remove', row.email, at);
    if (row.userId !== null) await access.accessChanges.inWrite(tx, { serverId: server.id, userId: row.userId }, at);
    return row;
  });
  announce(access.accessChanges, removed);
}

/** Announces a member whose access has changed. */
function announce(changes: AccessChanges, { serverId, userId }: MemberRow): void {
  if (userId !== null) changes.announce({ serverId, userId });
}

async function recordMember(
  tx: Tx,
  principal: Principal,
  { id: serverId, accountId }: OwnedServer,
  action: string,
  detail: string,
  at: number,
): Promise<void> {
  await recordAudit(tx, auditActorOf(principal), { action, accountId, serverId, detail, at });
}

async function memberOf(tx: Tx, serverId: string, memberId: string): Promise<MemberRow> {
  const row = await getMember(tx, serverId, memberId);
  if (row) return row;
  throw new StatusError('NOT_FOUND', 'MEMBER_NOT_FOUND', 'The server has no such member.', { metadata: { memberId } });
}

function tooManyMembers(serverId: string): StatusError {
  return new StatusError('RESOURCE_EXHAUSTED', 'MAX_MEMBERS', `A server can have at most ${MOST_MEMBERS} members.`, {
    metadata: { subject: `server:${serverId}`, limit: String(MOST_MEMBERS) },
  });
}

/**
 * Returns the caller's open invitations, newest first. Returns an empty list until their address is verified, because
 * it may not be theirs.
 */
export async function invitationsOf(store: Store, { email, emailVerified }: SessionPrincipal): Promise<Invitation[]> {
  return emailVerified ? listInvitations(store, email) : [];
}

/**
 * Accepts an invitation, effective at once, and returns the server's id. FAILED_PRECONDITION EMAIL_NOT_VERIFIED;
 * NOT_FOUND INVITATION_NOT_FOUND.
 */
export async function acceptInvitation(
  { store, clock, accessChanges }: AccessStore,
  principal: SessionPrincipal,
  memberId: string,
): Promise<string> {
  if (!principal.emailVerified) {
    throw new StatusError('FAILED_PRECONDITION', 'EMAIL_NOT_VERIFIED', 'Confirm your e-mail address first.');
  }
  const accepted = await store.write(async (tx) => {
    const row = await invitationTo(tx, principal, memberId);
    if (row.acceptedAt !== null) return row;
    const at = clock.now();
    await acceptMember(tx, row.id, principal.userId, at);
    await recordMember(tx, principal, serverOf(row), 'member.accept', `${row.email} as ${row.role}`, at);
    return { ...row, userId: principal.userId };
  });
  announce(accessChanges, accepted);
  return accepted.serverId;
}

/** Declines an invitation, or leaves a server accepted earlier. NOT_FOUND INVITATION_NOT_FOUND. */
export async function declineInvitation(
  { store, clock, accessChanges }: AccessStore,
  principal: SessionPrincipal,
  memberId: string,
): Promise<void> {
  const left = await store.write(async (tx) => {
    const row = await invitationTo(tx, principal, memberId);
    await deleteMember(tx, row.id);
    const action = row.acceptedAt === null ? 'member.decline' : 'member.leave';
    await recordMember(tx, principal, serverOf(row), action, row.email, clock.now());
    const { serverId, userId } = row;
    if (userId !== null) await accessChanges.inWrite(tx, { serverId, userId }, clock.now());
    return row;
  });
  announce(accessChanges, left);
}

/**
 * Returns the caller's invitation: while it is open, by their verified address; afterwards, by the user who accepted
 * it.
 */
async function invitationTo(tx: Tx, principal: SessionPrincipal, memberId: string): Promise<Invitation> {
  const row = await getInvitation(tx, memberId);
  const open = row?.acceptedAt === null && principal.emailVerified && row.email === principal.email;
  if (row && (open || row.userId === principal.userId)) return row;
  throw new StatusError('NOT_FOUND', 'INVITATION_NOT_FOUND', 'There is no such invitation.', {
    metadata: { memberId },
  });
}

function serverOf({ serverId, accountId }: Invitation): OwnedServer {
  return { id: serverId, accountId };
}
