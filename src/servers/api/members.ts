import * as z from 'zod';
import { message, reply } from '../../http/fields.ts';
import { Nothing } from '../../http/nothing.ts';
import { operation } from '../../http/operation.ts';
import type { Served } from '../../http/serve.ts';
import { inviteMember as invite, membersOf, removeMember as remove, setRole } from '../../access/members.ts';
import type { MemberRow } from '../../access/member-rows.ts';
import { Email, MemberId, MemberRole } from '../../accounts/fields.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { ServerParams } from './messages.ts';
import type { ServeServer } from './operation.ts';

/** Dependencies of these operations. */
interface Needs extends Accounts {
  serveServer: ServeServer;
}

const Member = z
  .object({
    memberId: reply.text,
    email: reply.text.describe('Empty while an invitation is open to anyone who has its link.'),
    role: reply.text.describe('`member` or `limited`.'),
    pending: reply.flag.describe('Invited but not accepted yet.'),
    userId: reply.text.describe('The user, as in audit entries; empty while pending.'),
    linkExpiresAt: reply.timestamp.optional().describe('The end of the invitation’s link. `null` for members.'),
  })
  .meta({ id: 'Member' });

const InvitedMember = Member.extend({
  link: reply.text.describe('Accepts the invitation, for one person. Returned only here.'),
}).meta({ id: 'InvitedMember' });

const COMMON = { scope: 'members', role: 'owner', auth: 'key', section: 'Members', params: ServerParams } as const;

export const ListMembers = operation({
  ...COMMON,
  id: 'ListMembers',
  method: 'get',
  path: '/v1/servers/{id}/members',
  summary: 'List members',
  description: 'Members of the server, then open invitations.',
  reply: z.object({ members: z.array(Member).default([]) }).meta({ id: 'ListMembersResponse' }),
});

export const InviteMember = operation({
  ...COMMON,
  id: 'InviteMember',
  method: 'post',
  path: '/v1/servers/{id}/members',
  summary: 'Invite a member',
  description:
    'Returns a link that works for one person, within seven days. An operator’s link also creates an account if ' +
    'sign-up is closed. With an address, sends the link there by e-mail, and the invitation is for this address ' +
    'alone: a user who has verified it can also accept without the link. A `member` can do everything ' +
    'except delete the server, change its plan, manage its members, and access its bill, database password and ' +
    'SFTP. A `limited` member can view, start and stop it.',
  body: message({ email: Email.optional().describe('Without one, anyone can use the link.'), role: MemberRole }).meta({
    id: 'InviteMemberRequest',
  }),
  example: { email: 'friend@example.com', role: 'limited' },
  reply: InvitedMember,
});

export const SetMemberRole = operation({
  ...COMMON,
  id: 'SetMemberRole',
  method: 'post',
  path: '/v1/servers/{id}/members:setRole',
  summary: "Change a member's role",
  description: 'Takes effect immediately. Open streams and sessions that the member may no longer use end.',
  body: message({ memberId: MemberId, role: MemberRole }).meta({ id: 'SetMemberRoleRequest' }),
  reply: Member,
});

export const RemoveMember = operation({
  ...COMMON,
  id: 'RemoveMember',
  method: 'post',
  path: '/v1/servers/{id}/members:remove',
  summary: 'Remove a member',
  description:
    "Removes a member or cancels an invitation. Takes effect immediately: the member's open streams and sessions " +
    'on the server end.',
  body: message({ memberId: MemberId }).meta({ id: 'RemoveMemberRequest' }),
  reply: Nothing,
});

function memberView({ id, email, role, acceptedAt, userId, linkExpiresAt }: MemberRow): z.input<typeof Member> {
  const shown = { memberId: id, email: email ?? '', role };
  if (acceptedAt === null) return { ...shown, pending: true, userId: '', linkExpiresAt };
  return { ...shown, pending: false, userId: userId ?? '' };
}

export const memberOperations = (needs: Needs): readonly Served[] => [
  needs.serveServer(ListMembers, async ({ params }) => ({
    members: (await membersOf(needs.store, params.id)).map(memberView),
  })),
  needs.serveServer(InviteMember, async ({ server, body, principal }) => {
    const invited = await invite(needs, principal, server.row, body);
    return { ...memberView(invited), link: invited.link };
  }),
  needs.serveServer(SetMemberRole, async ({ server, body, principal }) =>
    memberView(await setRole(needs, principal, server.row, body)),
  ),
  needs.serveServer(RemoveMember, async ({ server, body, principal }) =>
    remove(needs, principal, server.row, body.memberId),
  ),
];
