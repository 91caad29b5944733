import { z } from 'zod';
import { message, reply } from '../../http/fields.ts';
import { Nothing } from '../../http/nothing.ts';
import { sessionOperation } from '../../http/session-operation.ts';
import { MemberId } from '../people-fields.ts';
import { acceptInvitation, declineInvitation, invitationsOf } from './invitations.ts';
import type { Invitation as MemberInvitation } from './rows.ts';

const Invitation = z
  .object({
    memberId: reply.text,
    serverId: reply.text,
    serverName: reply.text,
    role: reply.text.describe('`member` or `limited`.'),
    createdAt: reply.timestamp,
  })
  .meta({ id: 'Invitation' });

const InvitationRequest = message({ memberId: MemberId }).meta({ id: 'InvitationRequest' });

export const listInvitations = sessionOperation({
  id: 'ListInvitations',
  method: 'get',
  path: '/v1/session/invitations',
  summary: 'List invitations',
  description: 'Servers of others that you may join in running, newest first; none before your address is verified.',
  reply: z.object({ invitations: z.array(Invitation).default([]) }).meta({ id: 'ListInvitationsResponse' }),
}).handle(async ({ principal }, { store }) => ({
  invitations: (await invitationsOf(store, principal)).map(invitationView),
}));

export const acceptInvitationOperation = sessionOperation({
  id: 'AcceptInvitation',
  method: 'post',
  path: '/v1/session/invitations:accept',
  summary: 'Accept an invitation',
  description: 'The server is among your shared ones from now on.',
  body: InvitationRequest,
  reply: Nothing,
}).handle(async ({ principal, body }, services) => {
  await acceptInvitation(services, principal, body.memberId);
  return {};
});

export const declineInvitationOperation = sessionOperation({
  id: 'DeclineInvitation',
  method: 'post',
  path: '/v1/session/invitations:decline',
  summary: 'Decline an invitation',
  description: 'Or leave a server whose invitation you have accepted.',
  body: InvitationRequest,
  reply: Nothing,
}).handle(async ({ principal, body }, services) => {
  await declineInvitation(services, principal, body.memberId);
  return {};
});

function invitationView({ id, ...row }: MemberInvitation): z.input<typeof Invitation> {
  return { ...row, memberId: id };
}
