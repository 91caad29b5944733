import * as z from 'zod';
import { message, reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { listAccountInvitations } from '../accounts/link-rows.ts';
import { cancelInvitation, inviteToSignUp } from '../accounts/sign-up-links.ts';
import { Email, Reason } from '../accounts/fields.ts';
import type { Accounts } from '../accounts/accounts.ts';

/** An open invitation. Its link is returned only once, to the operator who created it. */
const AccountInvitation = z
  .object({
    invitationId: reply.text,
    email: reply.text.describe('The only address that can create an account with it.'),
    invitedBy: reply.text.describe('The e-mail address of the operator.'),
    createdAt: reply.timestamp,
    expiresAt: reply.timestamp,
  })
  .meta({ id: 'AccountInvitation' });

const COMMON = { scope: 'operator', auth: 'key' } as const;

export const InviteAccount = operation({
  ...COMMON,
  id: 'InviteAccount',
  method: 'post',
  path: '/v1/operator/accounts:invite',
  summary: 'Invite someone to create an account',
  description:
    'Creates a one-time link with which this e-mail address can create an account within seven days, even if ' +
    'sign-up is closed, and e-mails it there. If e-mail is not set up, pass the link on. An earlier invitation to ' +
    'the address ends. The address counts as verified once the link is used.',
  body: message({ email: Email }).meta({ id: 'InviteAccountRequest' }),
  example: { email: 'steve@example.org' },
  reply: z
    .object({
      link: reply.text.describe('Works only for this address. Returned only once.'),
      expiresAt: reply.timestamp,
      invitationId: reply.text,
      sent: reply.flag.describe('Whether it was e-mailed; false: e-mail is not set up, pass it on.'),
    })
    .meta({ id: 'InviteAccountResponse' }),
});

export const ListAccountInvitations = operation({
  ...COMMON,
  id: 'ListAccountInvitations',
  method: 'get',
  path: '/v1/operator/invitations',
  summary: 'List open invitations',
  description: 'Invited addresses without an account yet, newest first.',
  reply: z
    .object({ invitations: z.array(AccountInvitation).default([]) })
    .meta({ id: 'ListAccountInvitationsResponse' }),
});

export const CancelAccountInvitation = operation({
  ...COMMON,
  id: 'CancelAccountInvitation',
  method: 'post',
  path: '/v1/operator/invitations/{invitationId}:cancel',
  summary: 'Cancel an invitation',
  description: 'Its link stops working.',
  params: message({
    invitationId: z
      .string()
      .regex(/^[\w-]{1,64}$/)
      .describe('The id from ListAccountInvitations.'),
  }),
  body: message({ reason: Reason.optional().describe('For the audit log.') }).meta({
    id: 'CancelAccountInvitationRequest',
  }),
  reply: Nothing,
});

/** Operations on invitations to create an account. */
export const accountInvitationOperations = (accounts: Accounts): readonly Served[] => [
  serve(InviteAccount, async ({ principal, body: { email } }) => inviteToSignUp(accounts, principal, email)),
  serve(ListAccountInvitations, async () => {
    const rows = await listAccountInvitations(accounts.store, accounts.clock.now());
    return {
      invitations: rows.map(({ id, inviter, email, createdAt, expiresAt }) => {
        return { invitationId: id, invitedBy: inviter, email, createdAt, expiresAt };
      }),
    };
  }),
  serve(CancelAccountInvitation, async ({ principal, params: { invitationId }, body: { reason } }) =>
    cancelInvitation(accounts, principal, invitationId, reason),
  ),
];
