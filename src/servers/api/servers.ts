import { Nothing } from '../../http/nothing.ts';
import { operation } from '../../http/operation.ts';
import type { Served } from '../../http/serve.ts';
import { causeOf } from '../../access/caller.ts';
import { FOR_CALLER, Server, ServerParams } from './messages.ts';
import type { ServerNeeds } from './operation.ts';
import { playersOf, shownTo } from './view.ts';

export const GetServer = operation({
  id: 'GetServer',
  method: 'get',
  path: '/v1/servers/{id}',
  auth: 'key',
  scope: 'servers:read',
  role: 'limited',
  section: 'Servers',
  summary: 'Read a server',
  description:
    'Poll it while the server starts, until `state` is `running`. For `limited` members, `alertWebhookUrl` is empty.',
  params: ServerParams,
  reply: Server.extend(FOR_CALLER).meta({ id: 'GetServerResponse' }),
});

export const DeleteServer = operation({
  id: 'DeleteServer',
  method: 'delete',
  path: '/v1/servers/{id}',
  auth: 'key',
  scope: 'servers:write',
  role: 'owner',
  section: 'Servers',
  summary: 'Delete a server',
  description:
    'Deletes the server permanently with its worlds, backups and settings. Reads stop returning it immediately.',
  params: ServerParams,
  reply: Nothing,
});

/** Operations on one server. */
export const serverOperations = (needs: ServerNeeds): readonly Served[] => [
  needs.serveServer(GetServer, async ({ server, role }) => ({
    ...shownTo(role, needs.serverView(server)),
    role,
    ...playersOf(server),
  })),
  needs.serveServer(DeleteServer, async ({ params, principal }) =>
    needs.servers.send(params.id, { type: 'DELETE', at: needs.clock.now(), cause: causeOf(principal) }),
  ),
];
