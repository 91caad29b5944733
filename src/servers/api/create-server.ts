import type { AccountLimits } from '../../billing/account-limits.ts';
import type { Capacity } from '../../billing/capacity.ts';
import type { CoreRules } from '../../game/core-rules.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { Principal } from '../../http/principal.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Turns } from '../../kernel/mutex.ts';
import type { NodeDrain } from '../../operators/node-drain.ts';
import { causeOf, ownAccount, requireWholeAccount } from '../../people/caller.ts';
import { createNewServer } from '../creation.ts';
import type { ServerNow } from '../server-now.ts';
import type { Servers } from '../servers.ts';
import { type CompleteRequest, CreateServerRequest, complete } from './create-request.ts';
import { Server } from './messages.ts';
import type { ServerView } from './view.ts';

/** What these operations work with. */
interface Needs {
  serverView: ServerView;
  accountLimits: AccountLimits;
  capacity: Pick<Capacity, 'now' | 'read' | 'reachable'>;
  clock: Clock;
  config: { region: string; nodeLabel: string };
  cores: CoreRules;
  drain: NodeDrain;
  inTurn: Turns;
  sandboxVersions: readonly string[];
  servers: Servers;
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
export async function createServerFor(principal: Principal, needs: Needs, body: CompleteRequest): Promise<ServerNow> {
  const accountId = ownAccount(principal, body.accountId);
  requireWholeAccount(principal);
  const request = complete({ ...body, accountId }, needs);
  return createNewServer({ ...needs, withAccountLock: needs.inTurn }, request, causeOf(principal));
}

/** Makes a server. */
export const createOperations = (needs: Needs): readonly Operation[] => [createServer(needs)];
