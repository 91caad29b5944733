import type { SessionPrincipal } from '../../http/principal.ts';
import { StatusError } from '../../kernel/status.ts';
import type { Store, Tx } from '../../store/store.ts';
import { type MemberServices, announce, recordMember } from './members.ts';
import type { OwnedServer } from './owned-servers.ts';
import { type Invitation, acceptMember, deleteMember, getInvitation, listInvitations } from './rows.ts';

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
  { store, clock, accessChanges }: MemberServices,
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
  { store, clock, accessChanges }: MemberServices,
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
