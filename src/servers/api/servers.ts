import { z } from 'zod';
import { message, text } from '../../http/fields.ts';
import { Nothing } from '../../http/nothing.ts';
import { operation } from '../../http/operation.ts';
import { causeOf, ownAccount } from '../../people/caller.ts';
import { Server, ServerParams } from './messages.ts';
import { serverOperation } from './operation.ts';
import { serverView } from './view.ts';

export const listServers = operation({
  id: 'ListServers',
  method: 'get',
  path: '/v1/servers',
  scope: 'servers:read',
  tag: 'control',
  summary: 'List servers',
  description: 'All servers of the account that the key reaches. An `accountId` other than the own one is refused.',
  query: message({ accountId: text(64).default('').describe("Empty: the caller's own, which is the only one.") }),
  reply: z.object({ servers: z.array(Server).default([]) }).meta({ id: 'ListServersResponse' }),
}).handle(async ({ query, principal }, services) => {
  const servers = await services.servers.listByAccount(ownAccount(principal, query.accountId));
  const reached = servers.filter(({ row }) => principal.serverIds?.has(row.id) ?? true);
  return { servers: reached.map((now) => serverView(now, services)) };
});

export const getServer = serverOperation({
  id: 'GetServer',
  method: 'get',
  path: '/v1/servers/{id}',
  scope: 'servers:read',
  role: 'limited',
  tag: 'control',
  summary: 'Read a server',
  description: 'Poll it while the server starts, until `state` is `running`.',
  params: ServerParams,
  reply: Server,
}).handle(async ({ server }, services) => serverView(server, services));

export const deleteServer = serverOperation({
  id: 'DeleteServer',
  method: 'delete',
  path: '/v1/servers/{id}',
  scope: 'servers:write',
  role: 'owner',
  tag: 'control',
  summary: 'Delete a server',
  description: 'Permanent: its world, backups and settings go with it. Gone from reads at once.',
  params: ServerParams,
  reply: Nothing,
}).handle(async ({ params, principal }, services) => {
  await services.servers.send(params.id, { type: 'DELETE', at: services.clock.now(), cause: causeOf(principal) });
  return {};
});
