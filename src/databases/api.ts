import { z } from 'zod';
import { reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import type { Role } from '../http/roles.ts';
import type { Services } from '../http/services.ts';
import { StatusError } from '../kernel/status.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { serverOperation } from '../servers/api/operation.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { DatabaseAccess, ServerDatabases } from './databases.ts';

const ServerDatabase = z
  .object({
    serverId: reply.text,
    host: reply.text.describe('As game servers reach it.'),
    port: reply.int32,
    dbName: reply.text,
    dbUser: reply.text,
    dbPassword: reply.text.describe('Shown to the owner; empty for members.'),
    present: reply.flag,
  })
  .meta({ id: 'ServerDatabase' });

const of = { scope: 'servers:write', tag: 'control', params: ServerParams } as const;
const OFFERED = 'UNIMPLEMENTED where this service offers no databases.';

export const getServerDatabase = serverOperation({
  ...of,
  role: 'member',
  id: 'GetServerDatabase',
  method: 'get',
  path: '/v1/servers/{id}/database',
  summary: "Show the server's MySQL database",
  description: `\`present\` is false, and the rest empty, where it has none. ${OFFERED}`,
  reply: ServerDatabase,
}).handle(async ({ server, role }, services) => {
  const { id } = server.row;
  const access = await offered(services).find(id);
  return access === undefined ? { serverId: id } : view(id, access, role, services);
});

export const createServerDatabase = serverOperation({
  ...of,
  role: 'member',
  id: 'CreateServerDatabase',
  method: 'post',
  path: '/v1/servers/{id}/database',
  summary: 'Give the server a MySQL database',
  description: `Of its own, with a user who may do anything in it and nothing elsewhere. ${OFFERED}`,
  reply: ServerDatabase,
}).handle(async ({ server, role, principal }, services) => {
  const { row } = server;
  const deed = { action: 'database.create', at: services.clock.now() };
  const access = await offered(services).create(row.id, recordOnServer(principal, row, deed));
  return view(row.id, access, role, services);
});

export const dropServerDatabase = serverOperation({
  ...of,
  role: 'member',
  id: 'DropServerDatabase',
  method: 'post',
  path: '/v1/servers/{id}/database:drop',
  summary: "Drop the server's MySQL database",
  description: 'For good, with everything in it; sessions end. A later one has another name.',
  reply: Nothing,
}).handle(async ({ server: { row }, principal }, services) => {
  const deed = { action: 'database.drop', at: services.clock.now() };
  await offered(services).drop(row.id, recordOnServer(principal, row, deed));
  return {};
});

export const rotateServerDatabasePassword = serverOperation({
  ...of,
  role: 'owner',
  id: 'RotateServerDatabasePassword',
  method: 'post',
  path: '/v1/servers/{id}/database:rotatePassword',
  summary: "Change the database's password",
  description: 'Sessions that are open end; plugins need the new password before they can sign in again.',
  reply: ServerDatabase,
}).handle(async ({ server: { row }, role, principal }, services) => {
  const deed = { action: 'database.rotate', at: services.clock.now() };
  const access = await offered(services).rotate(row.id, recordOnServer(principal, row, deed));
  return view(row.id, access, role, services);
});

/** UNIMPLEMENTED NOT_SUPPORTED where no database server is set. */
function offered({ databases }: Services): ServerDatabases {
  if (databases !== undefined) return databases;
  throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', 'This service offers no databases.');
}

function view(serverId: string, { name, password }: DatabaseAccess, role: Role, { config }: Services) {
  const { host, port } = config.mysqlAddress;
  const dbPassword = role === 'owner' ? password : '';
  return { serverId, host, port, dbName: name, dbUser: name, dbPassword, present: true };
}
