import * as z from 'zod';
import { reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { AccountParams } from '../accounts/fields.ts';
import { ownAccount } from '../access/caller.ts';
import type { AccountLimits } from './account-limits.ts';

export const GetAccountLimits = operation({
  id: 'GetAccountLimits',
  method: 'get',
  path: '/v1/accounts/{accountId}/limits',
  scope: 'servers:read',
  auth: 'key',
  section: 'Account and wallet',
  summary: "Get an account's limits",
  description: 'Returns the RAM limit for all servers of the account together, asleep or awake.',
  params: AccountParams,
  reply: z.object({ maxRamMb: reply.int32 }).meta({ id: 'AccountLimits' }),
});

export const limitOperations = (accountLimits: AccountLimits): readonly Served[] => [
  serve(GetAccountLimits, async ({ params, principal }) => {
    const accountId = ownAccount(principal, params.accountId);
    return { maxRamMb: accountLimits.of(accountId).maxRamMb };
  }),
];
