import { Nothing } from '../../http/nothing.ts';
import type { Operation } from '../../http/operation.ts';
import type { Clock } from '../../kernel/clock.ts';
import { causeOf } from '../../access/caller.ts';
import type { Servers } from '../servers.ts';
import { Server, ServerParams } from './messages.ts';
import type { ServerOperation } from './operation.ts';
import { type ServerView, shownTo } from './view.ts';

/** Dependencies of these operations. */
interface Needs {
  serverView: ServerView;
  clock: Clock;
  serverOperation: ServerOperation;
  servers: Servers;
}

const getServer = (needs: Needs) =>
  needs.serverOperation({
    id: 'GetServer',
    method: 'get',
    path: '/v1/servers/{id}',
    scope: 'servers:read',
    role: 'limited',
    tag: 'control',
    summary: 'Read a server',
    description:
      'Poll it while the server starts, until `state` is `running`. For `limited` members, `alertWebhookUrl` is empty.',
    params: ServerParams,
    reply: Server,
    run: async ({ server, role }) => shownTo(role, needs.serverView(server)),
  });

const deleteServer = ({ serverOperation, servers, clock }: Needs) =>
  serverOperation({
    id: 'DeleteServer',
    method: 'delete',
    path: '/v1/servers/{id}',
    scope: 'servers:write',
    role: 'owner',
    tag: 'control',
    summary: 'Delete a server',
    description:
      'Deletes the server permanently with its worlds, backups and settings. Reads stop returning it immediately.',
    params: ServerParams,
    reply: Nothing,
    async run({ params, principal }) {
      await servers.send(params.id, { type: 'DELETE', at: clock.now(), cause: causeOf(principal) });
      return {};
    },
  });

/** Operations on one server. */
export const serverOperations = (needs: Needs): readonly Operation[] => [getServer(needs), deleteServer(needs)];
