import { z } from 'zod';
import { message, reply } from '../../http/fields.ts';
import { Nothing } from '../../http/nothing.ts';
import { inviteMember as invite, membersOf, removeMember as remove, setRole } from '../../people/members/members.ts';
import type { MemberRow } from '../../people/members/rows.ts';
import { Email, MemberId, MemberRole } from '../../people/people-fields.ts';
import { ServerParams } from './messages.ts';
import { serverOperation } from './operation.ts';

const Member = z
  .object({
    memberId: reply.text,
    email: reply.text,
    role: reply.text.describe('`member` or `limited`.'),
    pending: reply.flag.describe('Invited, and has not accepted yet.'),
  })
  .meta({ id: 'Member' });

const of = { scope: 'members', role: 'owner', tag: 'control', params: ServerParams } as const;

export const listMembers = serverOperation({
  ...of,
  id: 'ListMembers',
  method: 'get',
  path: '/v1/servers/{id}/members',
  summary: 'List members',
  description: 'Who beside you has been let into the server, or invited, in that order.',
  reply: z.object({ members: z.array(Member).default([]) }).meta({ id: 'ListMembersResponse' }),
}).handle(async ({ params }, { store }) => ({ members: (await membersOf(store, params.id)).map(memberView) }));

export const inviteMember = serverOperation({
  ...of,
  id: 'InviteMember',
  method: 'post',
  path: '/v1/servers/{id}/members',
  summary: 'Invite a member',
  description:
    'Writes to the address; a user who has verified it may accept. A `member` may do all but delete the server and see ' +
    'to its members, bill, database password and SFTP; a `limited` one may look, start and stop.',
  body: message({ email: Email, role: MemberRole }).meta({ id: 'InviteMemberRequest' }),
  example: { email: 'friend@example.com', role: 'limited' },
  reply: Member,
}).handle(async ({ server, body, principal }, services) =>
  memberView(await invite(services, principal, server.row, body)),
);

export const setMemberRole = serverOperation({
  ...of,
  id: 'SetMemberRole',
  method: 'post',
  path: '/v1/servers/{id}/members:setRole',
  summary: 'Change what a member may do',
  description: 'At once: what the member holds open and may no longer see ends.',
  body: message({ memberId: MemberId, role: MemberRole }).meta({ id: 'SetMemberRoleRequest' }),
  reply: Member,
}).handle(async ({ server, body, principal }, services) =>
  memberView(await setRole(services, principal, server.row, body)),
);

export const removeMember = serverOperation({
  ...of,
  id: 'RemoveMember',
  method: 'post',
  path: '/v1/servers/{id}/members:remove',
  summary: 'Remove a member',
  description: 'Or take an invitation back. At once: what the member holds open on the server ends.',
  body: message({ memberId: MemberId }).meta({ id: 'RemoveMemberRequest' }),
  reply: Nothing,
}).handle(async ({ server, body, principal }, services) => {
  await remove(services, principal, server.row, body.memberId);
  return {};
});

function memberView({ id, email, role, acceptedAt }: MemberRow): z.input<typeof Member> {
  return { memberId: id, email, role, pending: acceptedAt === null };
}
