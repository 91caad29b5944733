import { type Operation, operation } from '../../http/operation.ts';
import type { Principal } from '../../http/principal.ts';
import type { WithKeyLock } from '../../kernel/mutex.ts';
import { causeOf, wholeAccount } from '../../people/caller.ts';
import { type Creation, createNewServer } from '../creation.ts';
import type { ServerNow } from '../server-now.ts';
import { type CompleteRequest, CreateServerRequest, type RequestDefaults, complete } from './create-request.ts';
import { Server } from './messages.ts';
import type { ServerView } from './view.ts';

/** What servers are made with. */
export interface CreationNeeds extends RequestDefaults, Omit<Creation, 'withAccountLock'> {
  accountLimits: RequestDefaults['accountLimits'] & Creation['accountLimits'];
  withLock: WithKeyLock;
}

/** What these operations work with. */
interface Needs extends CreationNeeds {
  serverView: ServerView;
}

const createServer = (needs: Needs) =>
  operation({
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
    run: async ({ body, principal }) => needs.serverView(await createServerFor(principal, needs, body)),
  });

/** Checks a request and stores the server it asks for. Throws as CreateServer answers. */
export async function createServerFor(
  principal: Principal,
  needs: CreationNeeds,
  body: CompleteRequest,
): Promise<ServerNow> {
  const accountId = wholeAccount(principal, body.accountId);
  const request = complete({ ...body, accountId }, needs);
  return createNewServer({ ...needs, withAccountLock: needs.withLock }, request, causeOf(principal));
}

/** Makes a server. */
export const createOperations = (needs: Needs): readonly Operation[] => [createServer(needs)];
