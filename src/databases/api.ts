import * as z from 'zod';
import { reply } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import type { Role } from '../http/roles.ts';
import type { Address } from '../kernel/address.ts';
import { StatusError } from '../kernel/status.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { DatabaseAccess, ServerDatabases } from './databases.ts';
import type { Shared } from '../servers/shared.ts';

const ServerDatabase = z
  .object({
    serverId: reply.text,
    host: reply.text.describe('The host name that game servers connect to.'),
    port: reply.int32,
    dbName: reply.text,
    dbUser: reply.text,
    dbPassword: reply.text.describe('Shown to the owner; empty for members.'),
    present: reply.flag,
    offered: reply.flag.describe('Whether this service offers databases.'),
  })
  .meta({ id: 'ServerDatabase' });

const COMMON = { auth: 'key', scope: 'servers:write', section: 'Database', params: ServerParams } as const;
const OFFERED = 'Fails with UNIMPLEMENTED if this service offers no databases.';

export const GetServerDatabase = operation({
  ...COMMON,
  role: 'member',
  id: 'GetServerDatabase',
  method: 'get',
  path: '/v1/servers/{id}/database',
  summary: "Show the server's MySQL database",
  description: 'Without a database, `present` is false and the connection fields are empty.',
  reply: ServerDatabase,
});

export const CreateServerDatabase = operation({
  ...COMMON,
  role: 'member',
  id: 'CreateServerDatabase',
  method: 'post',
  path: '/v1/servers/{id}/database',
  summary: 'Create a MySQL database for the server',
  description: `Creates a database with its own user. The user has all rights in it and none elsewhere. ${OFFERED}`,
  reply: ServerDatabase,
});

export const DropServerDatabase = operation({
  ...COMMON,
  role: 'member',
  id: 'DropServerDatabase',
  method: 'post',
  path: '/v1/servers/{id}/database:drop',
  summary: "Drop the server's MySQL database",
  description:
    'Deletes the database permanently with all its data. Open sessions end. A new database gets another name.',
  reply: Nothing,
});

export const RotateServerDatabasePassword = operation({
  ...COMMON,
  role: 'owner',
  id: 'RotateServerDatabasePassword',
  method: 'post',
  path: '/v1/servers/{id}/database:rotatePassword',
  summary: "Change the database's password",
  description: 'Open sessions end. Plugins need the new password to reconnect.',
  reply: ServerDatabase,
});

/** Returns the databases. Throws UNIMPLEMENTED NOT_SUPPORTED without a configured database server. */
function offered(databases: ServerDatabases | undefined): ServerDatabases {
  if (databases !== undefined) return databases;
  throw new StatusError('UNIMPLEMENTED', 'NOT_SUPPORTED', 'This service offers no databases.');
}

function view(serverId: string, { name, password }: DatabaseAccess, role: Role, mysqlAddress: Address) {
  const { host, port } = mysqlAddress;
  const dbPassword = role === 'owner' ? password : '';
  return { serverId, host, port, dbName: name, dbUser: name, dbPassword, present: true, offered: true };
}

export const databaseOperations = (
  { serveServer, clock }: Shared,
  databases: ServerDatabases | undefined,
  mysqlAddress: Address,
): readonly Served[] => [
  serveServer(GetServerDatabase, async ({ server, role }) => {
    const { id } = server.row;
    const access = await databases?.find(id);
    if (access === undefined) return { serverId: id, offered: databases !== undefined };
    return view(id, access, role, mysqlAddress);
  }),
  serveServer(CreateServerDatabase, async ({ server, role, principal }) => {
    const { row } = server;
    const entry = { action: 'database.create', at: clock.now() };
    const access = await offered(databases).create(row.id, recordOnServer(principal, row, entry));
    return view(row.id, access, role, mysqlAddress);
  }),
  serveServer(DropServerDatabase, async ({ server: { row }, principal }) => {
    const entry = { action: 'database.drop', at: clock.now() };
    await offered(databases).drop(row.id, recordOnServer(principal, row, entry));
  }),
  serveServer(RotateServerDatabasePassword, async ({ server: { row }, role, principal }) => {
    const entry = { action: 'database.rotate', at: clock.now() };
    const access = await offered(databases).rotate(row.id, recordOnServer(principal, row, entry));
    return view(row.id, access, role, mysqlAddress);
  }),
];
