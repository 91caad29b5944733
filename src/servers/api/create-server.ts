import { operation } from '../../http/operation.ts';
import type { Principal } from '../../http/principal.ts';
import type { Services } from '../../http/services.ts';
import { causeOf, ownAccount, requireWholeAccount } from '../../people/caller.ts';
import { createNewServer } from '../creation.ts';
import type { ServerNow } from '../server-now.ts';
import { type CompleteRequest, CreateServerRequest, complete } from './create-request.ts';
import { Server } from './messages.ts';
import { serverView } from './view.ts';

export const createServer = operation({
  id: 'CreateServer',
  method: 'post',
  path: '/v1/servers',
  scope: 'servers:write',
  tag: 'control',
  summary: 'Create a server',
  description:
    'Costs nothing and starts nothing; with a mod pack it is installed first, for which the machine needs as much room as for ' +
    'a start. Start it, or just join it.',
  body: CreateServerRequest,
  example: { name: 'My Server', ramMb: 2048, type: 'paper', version: '1.21.8', properties: { difficulty: 'hard' } },
  reply: Server,
}).handle(async ({ body, principal }, services) =>
  serverView(await createServerFor(principal, services, body), services),
);

/** Checks a request and stores the server it asks for. Throws as CreateServer answers. */
export async function createServerFor(
  principal: Principal,
  services: Services,
  body: CompleteRequest,
): Promise<ServerNow> {
  const accountId = ownAccount(principal, body.accountId);
  requireWholeAccount(principal);
  const request = complete({ ...body, accountId }, services);
  return createNewServer({ ...services, withAccountLock: services.inTurn }, request, causeOf(principal));
}
