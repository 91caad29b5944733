import { z } from 'zod';
import { line, message } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { People } from '../people/people.ts';
import { removeSecondFactorOf } from '../people/second-factor/removal.ts';

const removeSecondFactor = (people: People) =>
  operation({
    id: 'RemoveAccountSecondFactor',
    method: 'post',
    path: '/v1/operator/accounts/{accountId}:removeSecondFactor',
    scope: 'operator',
    tag: 'operator',
    summary: "Switch an account's second factor off",
    description:
      'For somebody who has lost their app and their recovery codes: make sure that it is them who asks. They sign in with the ' +
      'password alone, and a letter tells them. The reason goes into that letter and into the audit log.',
    precondition: 'it must have one.',
    params: message({
      accountId: z
        .string()
        .regex(/^[\w-]{1,64}$/)
        .describe('Account id.'),
    }),
    body: message({ reason: line(200).trim().min(1, 'is required') }).meta({ id: 'RemoveAccountSecondFactorRequest' }),
    example: { reason: 'Lost phone; known by voice' },
    reply: Nothing,
    async run({ principal, params: { accountId }, body: { reason } }) {
      await removeSecondFactorOf(people, principal, accountId, reason);
      return {};
    },
  });

/** What operators do about the second factor of others. */
export const accountSecondFactorOperations = (people: People): readonly Operation[] => [removeSecondFactor(people)];
