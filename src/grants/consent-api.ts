import * as z from 'zod';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import type { SessionPrincipal } from '../http/principal.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { requireFreshPassword } from '../accounts/passwords.ts';
import { noticeNewKey } from '../accounts/notices.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { type ConsentRequest, type Grants, grantNotFound } from './grants.ts';
import type { GuessLimit } from './limits.ts';

const UserCode = message({ userCode: text(64).min(1, 'is required') });

const DeviceRequest = z
  .object({
    userCode: reply.text,
    client: z
      .object({ clientId: reply.text, name: reply.text, homepage: reply.text })
      .nullable()
      .default(null)
      .describe('Null for the command line, which requests full access.'),
    scopes: z.array(z.string()).default([]),
    ip: reply.text,
    userAgent: reply.text,
    createdAt: reply.timestamp,
    expiresAt: reply.timestamp,
  })
  .meta({ id: 'DeviceRequest' });

/**
 * Approves a device. Full access requires the password again, and an e-mail notifies the user. PERMISSION_DENIED
 * PASSWORD_REQUIRED, and the errors of `Grants.approve`.
 */
export async function approveGrant(
  services: Accounts & CodeLookup,
  principal: SessionPrincipal,
  { id, client }: ConsentRequest,
): Promise<void> {
  if (client === null) requireFreshPassword(principal, services.clock.now());
  await services.grants.approve(id, principal);
  if (client === null) noticeNewKey(services, principal, 'A command line was given full access to your account');
}

export const LookUpDevice = operation({
  id: 'LookUpDevice',
  method: 'post',
  path: '/v1/session/device:lookUp',
  auth: 'session',
  summary: 'Look up a device code',
  description: 'Returns the access request of the device that shows the code. Changes nothing.',
  body: UserCode.meta({ id: 'LookUpDeviceRequest' }),
  reply: DeviceRequest,
});

export const ApproveDevice = operation({
  id: 'ApproveDevice',
  method: 'post',
  path: '/v1/session/device:approve',
  auth: 'session',
  summary: 'Approve a device',
  description:
    'The device gets its token with its next poll. The command line gets full access, so approving it requires a ' +
    'password entered in the last 15 minutes (`ProvePassword`).',
  body: UserCode.meta({ id: 'ApproveDeviceRequest' }),
  reply: Nothing,
});

export const DenyDevice = operation({
  id: 'DenyDevice',
  method: 'post',
  path: '/v1/session/device:deny',
  auth: 'session',
  summary: 'Decline a device',
  description: 'The next poll of the device returns `access_denied`.',
  body: UserCode.meta({ id: 'DenyDeviceRequest' }),
  reply: Nothing,
});

/**
 * Operations that decide on a device by its code. All count wrong codes: NOT_FOUND GRANT_NOT_FOUND for unknown, expired
 * and used ones alike, and RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
 */
export const deviceOperations = (services: Accounts & CodeLookup): readonly Served[] => [
  serve(LookUpDevice, async ({ body, principal, browser }) => {
    const { client, ...request } = await waitingGrant(services, body.userCode, principal, browser.address);
    return { ...request, client: client && { clientId: client.id, name: client.name, homepage: client.homepage } };
  }),
  serve(ApproveDevice, async ({ body, principal, browser }) =>
    approveGrant(services, principal, await waitingGrant(services, body.userCode, principal, browser.address)),
  ),
  serve(DenyDevice, async ({ body, principal, browser }) => {
    const { id } = await waitingGrant(services, body.userCode, principal, browser.address);
    await services.grants.deny(id, principal);
  }),
];

/** Dependencies of looking up a user code. */
export interface CodeLookup {
  grants: Grants;
  /** Counts wrong user codes; shared by everything that accepts codes. */
  guessLimit: GuessLimit;
}

/**
 * Returns the request waiting under a typed user code. NOT_FOUND GRANT_NOT_FOUND for unknown, expired and used codes
 * alike, so that guesses reveal nothing; RESOURCE_EXHAUSTED TOO_MANY_ATTEMPTS.
 */
export async function waitingGrant(
  { grants, guessLimit }: CodeLookup,
  typed: string,
  { sessionId, accountId }: SessionPrincipal,
  address: string,
): Promise<ConsentRequest> {
  const guess = guessLimit.take({ sessionId, accountId, address });
  const request = await grants.find(typed);
  if (!request) throw grantNotFound();
  guess.forgive();
  return request;
}
