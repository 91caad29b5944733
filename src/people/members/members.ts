import type { AccessChanges } from '../../http/access-changes.ts';
import { type Principal, reachesServer } from '../../http/principal.ts';
import type { Role } from '../../http/roles.ts';
import type { Clock } from '../../kernel/clock.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import { StatusError } from '../../kernel/status.ts';
import type { Sql, Store, Tx } from '../../store/store.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { type People, post } from '../people.ts';
import { getUserByEmail } from '../rows.ts';
import type { OwnedServer } from './owned-servers.ts';
import {
  type MemberRole,
  type MemberRow,
  countMembers,
  deleteMember,
  getMember,
  getMembership,
  insertMember,
  listMembers,
  setMemberRole,
} from './rows.ts';

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

/** Dependencies of changes to members. */
export interface MemberServices {
  store: Store;
  clock: Clock;
  accessChanges: AccessChanges;
}

/** Returns a server's members and open invitations, oldest first. */
export async function membersOf(store: Store, serverId: string): Promise<MemberRow[]> {
  return listMembers(store, serverId);
}

/**
 * Invites an address (normalized by `mail/address.ts`) to a server of the caller and e-mails it. Does not reveal
 * whether a user has the address. ALREADY_EXISTS MEMBER_EXISTS; RESOURCE_EXHAUSTED MAX_MEMBERS, or TOO_MANY_ATTEMPTS
 * for e-mails.
 */
export async function inviteMember(
  people: People,
  principal: Principal,
  server: OwnedServer & { name: string },
  { email, role }: { email: string; role: MemberRole },
): Promise<MemberRow> {
  const { store, clock, config, loginLimits } = people;
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
  const link = `${config.baseUrl}/invitations`;
  const withoutAccount =
    config.signup !== 'closed'
      ? 'Sign in with this address, or create an account with it, and accept or decline here:'
      : 'Sign in with this address and accept or decline here. Without an account, ask your administrator for one.';
  post(people, {
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
  services: MemberServices,
  principal: Principal,
  server: OwnedServer,
  { memberId, role }: { memberId: string; role: MemberRole },
): Promise<MemberRow> {
  const changed = await services.store.write(async (tx) => {
    const row = await memberOf(tx, server.id, memberId);
    if (row.role === role) return row;
    await setMemberRole(tx, row.id, role);
    const detail = `${row.email} from ${row.role} to ${role}`;
    const at = services.clock.now();
    await recordMember(tx, principal, server, 'member.setRole', detail, at);
    if (row.userId !== null) await services.accessChanges.inWrite(tx, { serverId: server.id, userId: row.userId }, at);
    return { ...row, role };
  });
  announce(services.accessChanges, changed);
  return changed;
}

/** Removes a member or an invitation, effective at once. NOT_FOUND MEMBER_NOT_FOUND. */
export async function removeMember(
  services: MemberServices,
  principal: Principal,
  server: OwnedServer,
  memberId: string,
): Promise<void> {
  const removed = await services.store.write(async (tx) => {
    const row = await memberOf(tx, server.id, memberId);
    const at = services.clock.now();
    await deleteMember(tx, row.id);
    await recordMember(tx, principal, server, 'member.remove', row.email, at);
    if (row.userId !== null) await services.accessChanges.inWrite(tx, { serverId: server.id, userId: row.userId }, at);
    return row;
  });
  announce(services.accessChanges, removed);
}

/** Announces a member whose access has changed. */
export function announce(changes: AccessChanges, { serverId, userId }: MemberRow): void {
  if (userId !== null) changes.announce({ serverId, userId });
}

export async function recordMember(
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
