import { z } from 'zod';
import { reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { AccountParams } from '../people/account-params.ts';
import { ownAccount } from '../people/caller.ts';

export const getAccountLimits = operation({
  id: 'GetAccountLimits',
  method: 'get',
  path: '/v1/accounts/{accountId}/limits',
  scope: 'servers:read',
  tag: 'control',
  summary: "Get an account's limits",
  description: 'How much RAM the awake servers of the account may have together.',
  params: AccountParams,
  reply: z.object({ maxRamMb: reply.int32 }).meta({ id: 'AccountLimits' }),
}).handle(async ({ params, principal }, services) => {
  const accountId = ownAccount(principal, params.accountId);
  return { maxRamMb: services.accountLimits.of(accountId).maxRamMb };
});
