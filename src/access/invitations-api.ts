import * as z from 'zod';
import type { AccessChanges } from '../http/access-changes.ts';
import { message, reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { type SessionOperation, sessionOperation } from '../http/session/session-operation.ts';
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

const listInvitations = ({ store }: Needs) =>
  sessionOperation({
    id: 'ListInvitations',
    method: 'get',
    path: '/v1/session/invitations',
    summary: 'List invitations',
    description: 'Returns your open invitations to servers, newest first. Empty until your address is verified.',
    reply: z.object({ invitations: z.array(Invitation).default([]) }).meta({ id: 'ListInvitationsResponse' }),
    run: async ({ principal }) => ({
      invitations: (await invitationsOf(store, principal)).map(invitationView),
    }),
  });

const acceptInvitationOperation = (needs: Needs) =>
  sessionOperation({
    id: 'AcceptInvitation',
    method: 'post',
    path: '/v1/session/invitations:accept',
    summary: 'Accept an invitation',
    description: 'Adds the server to those shared with you.',
    body: InvitationRequest,
    reply: Nothing,
    async run({ principal, body }) {
      await acceptInvitation(needs, principal, body.memberId);
      return {};
    },
  });

const declineInvitationOperation = (needs: Needs) =>
  sessionOperation({
    id: 'DeclineInvitation',
    method: 'post',
    path: '/v1/session/invitations:decline',
    summary: 'Decline an invitation',
    description: 'Declines an invitation, or leaves a server that you have joined.',
    body: InvitationRequest,
    reply: Nothing,
    async run({ principal, body }) {
      await declineInvitation(needs, principal, body.memberId);
      return {};
    },
  });

function invitationView({ id, ...row }: MemberInvitation): z.input<typeof Invitation> {
  return { ...row, memberId: id };
}

export const invitationOperations = (needs: Needs): readonly SessionOperation[] => [
  listInvitations(needs),
  acceptInvitationOperation(needs),
  declineInvitationOperation(needs),
];
