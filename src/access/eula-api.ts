import * as z from 'zod';
import { EULA_URL } from '../game/eula.ts';
import { message, reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { AccountParams } from '../accounts/fields.ts';
import { ownAccount, wholeAccount } from './caller.ts';
import type { Eula, EulaAcceptanceRow } from './eula.ts';

/** Dependencies of these operations. */
interface Needs {
  eula: Eula;
}

const EulaConsent = z
  .object({
    accepted: reply.flag.describe('Whether the EULA is accepted, so that servers of Mojang’s software can run.'),
    byOperator: reply.flag.describe(
      'Whether the operator has accepted it for every server of the installation (`MINECRAFT_EULA=accept`).',
    ),
    acceptedAt: reply.timestamp.describe('When a user of the account accepted it. Null if none has.'),
    userId: reply.text.describe('The user who accepted it. Empty if none has.'),
    url: reply.text.describe('The URL of its text.'),
  })
  .meta({ id: 'EulaConsent' });

const SHARED = { path: '/v1/accounts/{accountId}/eula', auth: 'key', params: AccountParams } as const;

export const GetEula = operation({
  id: 'GetEula',
  method: 'get',
  ...SHARED,
  scope: 'servers:read',
  summary: "Get the account's consent to Minecraft's EULA",
  description: 'Servers of every type except the sandbox run Mojang’s software, which requires accepting its licence.',
  reply: EulaConsent,
});

export const AcceptEula = operation({
  id: 'AcceptEula',
  method: 'post',
  ...SHARED,
  scope: 'servers:write',
  summary: "Accept Minecraft's EULA",
  description:
    `Accepts the EULA once for all servers of the account. Read it first (${EULA_URL}). Until it is accepted, ` +
    'starts, joins and installations of servers that need it are refused with FAILED_PRECONDITION EULA_NOT_ACCEPTED.',
  body: message({
    accepted: z.literal(true, `must be true, once a person has read ${EULA_URL} and agrees to it`),
  }).meta({ id: 'AcceptEulaRequest' }),
  example: { accepted: true },
  reply: EulaConsent,
});

function consentView({ byOperator }: Eula, row: EulaAcceptanceRow | undefined): z.input<typeof EulaConsent> {
  const { acceptedAt = null, userId = '', url = EULA_URL } = row ?? {};
  return { accepted: byOperator || row !== undefined, byOperator, acceptedAt, userId, url };
}

/** Operations on the acceptance of Mojang's EULA. */
export const eulaOperations = ({ eula }: Needs): readonly Served[] => [
  serve(GetEula, async ({ params, principal }) => {
    const accountId = ownAccount(principal, params.accountId);
    return consentView(eula, await eula.of(accountId));
  }),
  serve(AcceptEula, async ({ params, principal }) => {
    wholeAccount(principal, params.accountId);
    return consentView(eula, await eula.accept(principal));
  }),
];
