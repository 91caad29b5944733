import * as z from 'zod';
import { message, reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { setOperator } from '../access/operators.ts';
import { makeResetLink } from '../accounts/password-reset.ts';
import { Reason } from '../accounts/fields.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { removeSecondFactorOf } from '../accounts/second-factor.ts';

const COMMON = {
  scope: 'operator',
  auth: 'key',
  params: message({
    accountId: z
      .string()
      .regex(/^[\w-]{1,64}$/)
      .describe('Account id.'),
  }),
} as const;

const BY_SESSION =
  'Requires a session whose password was entered in the last 15 minutes (`ProvePassword`): a leaked key is not enough.';

const reason = Reason.describe('For the audit log.');

export const SetAccountOperator = operation({
  ...COMMON,
  id: 'SetAccountOperator',
  method: 'post',
  path: '/v1/operator/accounts/{accountId}:setOperator',
  summary: 'Add or remove an operator',
  description: `Grants or removes operator rights for the account’s user, including open sessions and keys. ${BY_SESSION}`,
  precondition: 'the account must not be the last operator.',
  body: message({ operator: z.boolean().default(false), reason }).meta({ id: 'SetAccountOperatorRequest' }),
  example: { operator: true, reason: 'Runs it while I am away' },
  reply: Nothing,
});

export const MakeResetLink = operation({
  ...COMMON,
  id: 'MakeResetLink',
  method: 'post',
  path: '/v1/operator/accounts/{accountId}:makeResetLink',
  summary: 'Create a password reset link',
  description:
    'Creates a one-time link with which the account’s user can choose a new password, valid for one day, and ' +
    `e-mails it to them. If e-mail is not set up, pass the link on. Nothing changes until it is used. ${BY_SESSION}`,
  body: message({ reason }).meta({ id: 'MakeResetLinkRequest' }),
  example: { reason: 'Forgot it; known by voice' },
  reply: z
    .object({
      link: reply.text.describe('Returned only once.'),
      expiresAt: reply.timestamp,
      sent: reply.flag.describe('Whether it was e-mailed; false: e-mail is not set up, pass it on.'),
    })
    .meta({ id: 'MakeResetLinkResponse' }),
});

export const RemoveAccountSecondFactor = operation({
  ...COMMON,
  id: 'RemoveAccountSecondFactor',
  method: 'post',
  path: '/v1/operator/accounts/{accountId}:removeSecondFactor',
  summary: "Turn off an account's second factor",
  description:
    'For users who lost their app and their recovery codes. Verify their identity first. Afterwards, the password ' +
    `alone is enough to sign in. They receive the reason by e-mail. ${BY_SESSION}`,
  precondition: 'the account must have one, and must not be your own.',
  body: message({ reason }).meta({ id: 'RemoveAccountSecondFactorRequest' }),
  example: { reason: 'Lost phone; known by voice' },
  reply: Nothing,
});

/** Operations that change the access of an account: operator rights, password, second factor. */
export const accountAccessOperations = (accounts: Accounts): readonly Served[] => [
  serve(SetAccountOperator, async ({ principal, params: { accountId }, body }) =>
    setOperator(accounts, principal, accountId, body),
  ),
  serve(MakeResetLink, async ({ principal, params: { accountId }, body: { reason } }) =>
    makeResetLink(accounts, principal, accountId, reason),
  ),
  serve(RemoveAccountSecondFactor, async ({ principal, params: { accountId }, body }) =>
    removeSecondFactorOf(accounts, principal, accountId, body.reason),
  ),
];
