import type { AccessStore, Accounts } from '../accounts/accounts.ts';
import { type NewUser, type SignedIn, signUp } from '../accounts/sign-in.ts';
import { getUserByEmail } from '../accounts/rows.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import type { AccessChanges } from '../http/access-changes.ts';
import { type Principal, type SessionPrincipal, reachesServer } from '../http/principal.ts';
import type { Role } from '../http/roles.ts';
import type { Visitor } from '../http/session/visitor.ts';
import { hashToken, isRandomToken, randomBase62, randomToken } from '../kernel/ids.ts';
import { StatusError } from '../kernel/status.ts';
import { DAY_MS } from '../kernel/units.ts';
import type { Sql, Store, Tx } from '../store/store.ts';
import {
  type Invitation,
  type LinkedInvitation,
  type MemberRole,
  type MemberRow,
  acceptMember,
  countMembers,
  deleteExpiredInvitations,
  deleteInvitationTo,
  deleteMember,
  getInvitation,
  getLinkedInvitation,
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
/** How long the link of an invitation works. */
const LINK_MS = 7 * DAY_MS;

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

/** A new invitation with its link, which is returned only once, because only the hash of its token is stored. */
export interface InvitedMember extends MemberRow {
  link: string;
}

/**
 * Invites an address (normalized by `normalizeEmail`) to a server of the caller and e-mails it, or else anyone who gets
 * the link. One person can use the link, within seven days. Does not reveal whether a user has the address.
 * ALREADY_EXISTS MEMBER_EXISTS; RESOURCE_EXHAUSTED MAX_MEMBERS, or TOO_MANY_ATTEMPTS for invitations.
 */
export async function inviteMember(
  accounts: Accounts,
  principal: Principal,
  server: OwnedServer & { name: string },
  { email, role }: { email?: string | undefined; role: MemberRole },
): Promise<InvitedMember> {
  const { store, clock, loginLimits, post } = accounts;
  loginLimits.mail.take(principal.accountId);
  const token = randomToken();
  const createdAt = clock.now();
  const row: MemberRow = {
    id: `mem_${randomBase62(16)}`,
    serverId: server.id,
    email: email ?? null,
    userId: null,
    role,
    invitedBy: principal.userId,
    createdAt,
    acceptedAt: null,
    linkHash: hashToken(token),
    linkExpiresAt: createdAt + LINK_MS,
    linkOpensAccount: principal.operator,
  };
  await store.write(async (tx) => {
    const invited = email !== undefined && (await getUserByEmail(tx, email));
    if (invited && invited.accountId === server.accountId) {
      throw new StatusError('ALREADY_EXISTS', 'MEMBER_EXISTS', 'This address belongs to the owner.');
    }
    await deleteExpiredInvitations(tx, row);
    if ((await countMembers(tx, server.id)) >= MOST_MEMBERS) throw tooManyMembers(server.id);
    await insertMember(tx, row);
    await recordMember(tx, principal, server, 'member.invite', `${calledOf(row)} as ${role}`, createdAt);
  });
  const link = `${post.baseUrl}${joinPath(token)}`;
  if (email === undefined) return { ...row, link };
  post.send({
    to: email,
    subject: 'You are invited to a Minecraft server on Dormouse',
    text: `You are invited to the Minecraft server "${server.name}".

Open this link within seven days to join:

${link}

Later, find the invitation at ${post.baseUrl}/invitations, signed in with this address.
`,
  });
  return { ...row, link };
}

/** Returns the page that a link leads to. */
export function joinPath(token: string): string {
  return `/join?invitation=${token}`;
}

/** Returns the invitee as the audit log names them. */
function calledOf({ email }: MemberRow): string {
  return email ?? 'anyone with the link';
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
    const detail = `${calledOf(row)} from ${row.role} to ${role}`;
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
    await recordMember(tx, principal, server, 'member.remove', calledOf(row), at);
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
    return row.acceptedAt === null ? accept(tx, principal, row, clock.now()) : row;
  });
  announce(accessChanges, accepted);
  return accepted.serverId;
}

async function accept<T extends Invitation>(tx: Tx, user: MemberUser, row: T, at: number): Promise<T> {
  const { userId, email } = user;
  await acceptMember(tx, row.id, user, at);
  const detail = `${email} as ${row.role}`;
  const entry = { action: 'member.accept', accountId: row.accountId, serverId: row.serverId, detail, at };
  await recordAudit(tx, { userId, through: 'session' }, entry);
  return { ...row, userId };
}

interface MemberUser {
  userId: string;
  accountId: string;
  email: string;
  emailVerified: boolean;
}

/** Returns the invitation of a link's token; undefined if the token is unknown, used, revoked or expired. */
export async function invitationOfLink(db: Sql, token: string, now: number): Promise<LinkedInvitation | undefined> {
  const row = await linkedInvitation(db, token);
  return row && isOpen(row, now) ? row : undefined;
}

async function linkedInvitation(db: Sql, token: string): Promise<LinkedInvitation | undefined> {
  return isRandomToken(token) ? await getLinkedInvitation(db, hashToken(token)) : undefined;
}

function isOpen({ acceptedAt, linkExpiresAt }: LinkedInvitation, now: number): boolean {
  return acceptedAt === null && linkExpiresAt > now;
}

/**
 * Accepts the invitation of a link, effective at once, and returns the server's id. The link then works for no one else.
 * For a member of the server, nothing changes, and the link keeps working. NOT_FOUND INVITATION_NOT_FOUND, also if the
 * invitation is for another address; ALREADY_EXISTS MEMBER_EXISTS for the server's owner.
 */
export async function acceptLink(access: AccessStore, principal: SessionPrincipal, token: string): Promise<string> {
  const { store, clock, accessChanges } = access;
  const accepted = await store.write((tx) => acceptLinkIn(tx, principal, token, clock.now()));
  announce(accessChanges, accepted);
  return accepted.serverId;
}

async function acceptLinkIn(tx: Tx, user: MemberUser, token: string, now: number): Promise<LinkedInvitation> {
  const row = await linkedInvitation(tx, token);
  if (row?.userId === user.userId) return row;
  if (!row || !isOpen(row, now) || (row.email !== null && row.email !== user.email)) throw noInvitation();
  if (row.accountId === user.accountId) {
    throw new StatusError('ALREADY_EXISTS', 'MEMBER_EXISTS', 'This is your own server. Send the link to a friend.');
  }
  if (await getMembership(tx, row.serverId, user.userId)) return row;
  // The link replaces an invitation of the same address, if the address is theirs.
  if (row.email === null && user.emailVerified) await deleteInvitationTo(tx, row.serverId, user.email);
  return accept(tx, user, row, now);
}

/**
 * Creates an account and accepts the invitation of a link for it, both or neither. An operator's link creates an
 * account even if sign-up is closed. Returns the session and the server's id. Throws like `signUp` and `acceptLink`.
 */
export async function signUpByLink(
  accounts: Accounts,
  user: NewUser,
  token: string,
  visitor: Visitor,
): Promise<SignedIn & { serverId: string }> {
  const { store, clock } = accounts;
  const invitation = await invitationOfLink(store, token, clock.now());
  // Without a link for this address, the answer must not depend on whether it has an account.
  const isForThem = invitation !== undefined && (invitation.email ?? user.email) === user.email;
  if (!isForThem || !opensAccount(accounts, invitation)) throw noInvitation();
  let serverId = '';
  const signedIn = await signUp(accounts, user, visitor, async (tx, { id: userId, accountId, email, createdAt }) => {
    const joining = { userId, accountId, email, emailVerified: false };
    const row = await acceptLinkIn(tx, joining, token, createdAt);
    if (!opensAccount(accounts, row)) throw noInvitation();
    serverId = row.serverId;
  });
  return { ...signedIn, serverId };
}

/** Whether a link allows its visitor to create an account. */
export function opensAccount({ signup, passwords }: Accounts, invitation: LinkedInvitation | undefined): boolean {
  return passwords === 'everyone' && (signup === 'open' || invitation?.isByOperator === true);
}

function noInvitation(): StatusError {
  const message = 'This link has been used or revoked, has expired, or is for another e-mail address.';
  return new StatusError('NOT_FOUND', 'INVITATION_NOT_FOUND', message);
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
    await recordMember(tx, principal, serverOf(row), action, calledOf(row), clock.now());
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
