import * as z from 'zod';
import { message, reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { type Operation, operation } from '../http/operation.ts';
import { setOperator } from '../people/accounts/operators.ts';
import { makeResetLink } from '../people/accounts/password-reset.ts';
import { Reason } from '../people/people-fields.ts';
import type { People } from '../people/people.ts';
import { removeSecondFactorOf } from '../people/second-factor/removal.ts';

const COMMON = {
  scope: 'operator',
  tag: 'operator',
  params: message({
    accountId: z
      .string()
      .regex(/^[\w-]{1,64}$/)
      .describe('Account id.'),
  }),
} as const;

const BY_SESSION =
  'Only for a session whose password was given in the last quarter of an hour (`ProvePassword`): a leaked key gets no further.';

const reason = Reason.describe('For the audit log.');

const setAccountOperator = (people: People) =>
  operation({
    ...COMMON,
    id: 'SetAccountOperator',
    method: 'post',
    path: '/v1/operator/accounts/{accountId}:setOperator',
    summary: 'Add or remove an operator',
    description: `Its user may run this installation from now on, or may not any more, with open sessions and keys too. ${BY_SESSION}`,
    precondition: 'the only operator stays one.',
    body: message({ operator: z.boolean().default(false), reason }).meta({ id: 'SetAccountOperatorRequest' }),
    example: { operator: true, reason: 'Runs it while I am away' },
    reply: Nothing,
    async run({ principal, params: { accountId }, body }) {
      await setOperator(people, principal, accountId, body);
      return {};
    },
  });

const makeResetLinkOperation = (people: People) =>
  operation({
    ...COMMON,
    id: 'MakeResetLink',
    method: 'post',
    path: '/v1/operator/accounts/{accountId}:makeResetLink',
    summary: 'Create a password reset link',
    description:
      'Makes a link with which the account’s user chooses another password within a day, once, and sends it to their address; where ' +
      `no mail is set up, pass it on. Until then nothing changes. ${BY_SESSION}`,
    body: message({ reason }).meta({ id: 'MakeResetLinkRequest' }),
    example: { reason: 'Forgot it; known by voice' },
    reply: z
      .object({
        link: reply.text.describe('Returned only this once.'),
        expiresAt: reply.timestamp,
        sent: reply.flag.describe('Whether it was e-mailed; false: e-mail is not set up, pass it on.'),
      })
      .meta({ id: 'MakeResetLinkResponse' }),
    async run({ principal, params: { accountId }, body: { reason } }) {
      return makeResetLink(people, principal, accountId, reason);
    },
  });

const removeSecondFactor = (people: People) =>
  operation({
    ...COMMON,
    id: 'RemoveAccountSecondFactor',
    method: 'post',
    path: '/v1/operator/accounts/{accountId}:removeSecondFactor',
    summary: "Switch an account's second factor off",
    description:
      'For a user who has lost their app and their recovery codes: verify their identity first. From then on the password alone ' +
      `signs them in. An e-mail tells them the reason. ${BY_SESSION}`,
    precondition: 'it must have one, and be another account than the own.',
    body: message({ reason }).meta({ id: 'RemoveAccountSecondFactorRequest' }),
    example: { reason: 'Lost phone; known by voice' },
    reply: Nothing,
    async run({ principal, params: { accountId }, body }) {
      await removeSecondFactorOf(people, principal, accountId, body.reason);
      return {};
    },
  });

/** Operations that change the access of an account: operator rights, password, second factor. */
export const accountAccessOperations = (people: People): readonly Operation[] => [
  setAccountOperator(people),
  makeResetLinkOperation(people),
  removeSecondFactor(people),
];
