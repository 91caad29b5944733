import * as z from 'zod';
import type { AccessChanges } from '../http/access-changes.ts';
import { message, reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Store } from '../store/store.ts';
import { MemberId } from '../accounts/fields.ts';
import { acceptInvitation, declineInvitation, invitationsOf } from './members.ts';
import type { Invitation as MemberInvitation } from './member-rows.ts';

/** Dependencies of these operations. */
interface Needs {
  accessChanges: AccessChanges;
  clock: Clock;
  store: Store;
}

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

export const ListInvitations = operation({
  id: 'ListInvitations',
  method: 'get',
  path: '/v1/session/invitations',
  auth: 'session',
  summary: 'List invitations',
  description: 'Returns your open invitations to servers, newest first. Empty until your address is verified.',
  reply: z.object({ invitations: z.array(Invitation).default([]) }).meta({ id: 'ListInvitationsResponse' }),
});

export const AcceptInvitation = operation({
  id: 'AcceptInvitation',
  method: 'post',
  path: '/v1/session/invitations:accept',
  auth: 'session',
  summary: 'Accept an invitation',
  description: 'Adds the server to those shared with you.',
  body: InvitationRequest,
  reply: Nothing,
});

export const DeclineInvitation = operation({
  id: 'DeclineInvitation',
  method: 'post',
  path: '/v1/session/invitations:decline',
  auth: 'session',
  summary: 'Decline an invitation',
  description: 'Declines an invitation, or leaves a server that you have joined.',
  body: InvitationRequest,
  reply: Nothing,
});

function invitationView({ id, ...row }: MemberInvitation): z.input<typeof Invitation> {
  return { ...row, memberId: id };
}

export const invitationOperations = (needs: Needs): readonly Served[] => [
  serve(ListInvitations, async ({ principal }) => ({
    invitations: (await invitationsOf(needs.store, principal)).map(invitationView),
  })),
  serve(AcceptInvitation, async ({ principal, body }) => acceptInvitation(needs, principal, body.memberId)),
  serve(DeclineInvitation, async ({ principal, body }) => declineInvitation(needs, principal, body.memberId)),
];
