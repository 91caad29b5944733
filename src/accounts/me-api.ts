import * as z from 'zod';
import { reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { StatusError } from '../kernel/status.ts';
import type { UserRow } from './rows.ts';

/** Dependencies of these operations. */
interface Needs {
  findUser: (id: string) => Promise<UserRow | undefined>;
}

const WhoAmIResponse = z
  .object({
    accountId: reply.text.describe('Account of the key; empty for an app token.'),
    email: reply.text,
    emailVerified: reply.flag,
  })
  .meta({ id: 'WhoAmIResponse' });

export const WhoAmI = operation({
  id: 'WhoAmI',
  method: 'get',
  path: '/v1/whoami',
  auth: 'key',
  scope: 'any',
  appScope: 'any',
  section: 'Account and wallet',
  summary: 'Who am I?',
  description: 'The account and the user behind the credential of this call.',
  reply: WhoAmIResponse,
});

export const whoAmIOperations = ({ findUser }: Needs): readonly Served[] => [
  serve(WhoAmI, async ({ principal }) => {
    const user = await findUser(principal.userId);
    if (!user) throw new StatusError('UNAUTHENTICATED', 'CREDENTIAL_INVALID', 'The user no longer exists.');
    const accountId = principal.kind === 'app' ? '' : principal.accountId;
    return { accountId, email: user.email, emailVerified: user.emailVerified };
  }),
];
