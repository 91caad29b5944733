import * as z from 'zod';
import type { Cause as StoredCause } from '../../../machines/server-types.ts';
import { reply, rfc3339 } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import { type Served, serve } from '../../http/serve.ts';
import { type Principal, credentialId, reachesServer } from '../../http/principal.ts';
import type { Role } from '../../http/roles.ts';
import { listMemberships } from '../../access/member-rows.ts';
import type { Store } from '../../store/store.ts';
import type { ServerNow } from '../server-now.ts';
import type { Servers } from '../servers.ts';
import type { Addresses } from './addresses.ts';
import { Cause } from './machine.ts';
import { FOR_CALLER } from './messages.ts';
import { playersOf } from './view.ts';

/** Dependencies of these operations. */
interface Needs {
  addresses: Addresses;
  servers: Servers;
  store: Store;
}

/** Fields hidden from apps. Apps only see what players see. */
const forOwners = {
  name: z.string().optional().describe('Same as in GetServer. Apps get neither this nor the following fields.'),
  ramMb: z.int32().optional().meta({ format: 'int32' }),
  tags: z.array(z.string()).optional(),
  lastActiveAt: z.iso.datetime().optional().describe('When a player was last online. Absent if never.'),
  awakeSince: z.iso.datetime().optional().describe('When it woke. Absent while it is asleep.'),
  stopsAt: z.iso.datetime().optional().describe('As in GetServer. Absent unless players are warned of a stop.'),
  stopIsRestart: z.boolean().optional().describe('Present with `stopsAt`.'),
  cause: Cause.optional().describe(
    'The cause of the wake. On a shared server, `id` is empty if it names another user, key or operator.',
  ),
};

const ServerSummary = z
  .object({
    id: reply.text,
    address: reply.text.describe('The address for players.'),
    state: reply.text,
    type: reply.text,
    version: reply.text,
    region: reply.text,
    ...FOR_CALLER,
    ...forOwners,
  })
  .meta({ id: 'ServerSummary' });

export const ListMyServers = operation({
  id: 'ListMyServers',
  method: 'get',
  path: '/v1/me/servers',
  auth: 'key',
  scope: 'servers:read',
  appScope: 'servers:list',
  section: 'Account and wallet',
  summary: 'List the servers you can access',
  description: 'Returns your own servers (`my`), and the servers shared with you (`shared`) without their owners.',
  reply: z
    .object({ my: z.array(ServerSummary).default([]), shared: z.array(ServerSummary).default([]) })
    .meta({ id: 'ListMyServersResponse' }),
});

function summary(now: ServerNow, role: Role, { addresses }: Pick<Needs, 'addresses'>): z.input<typeof ServerSummary> {
  const { row, state } = now;
  return {
    id: row.id,
    address: addresses.of(row),
    state,
    type: row.type,
    version: row.version,
    region: row.region,
    role,
    ...playersOf(now),
  };
}

function detailsOf(
  { row: { name, ramMb, tags: given }, context: { wokenAt, cause, live, announced } }: ServerNow,
  role: Role,
  principal: Principal,
): Partial<z.input<typeof ServerSummary>> {
  const tags = [...given];
  const lastActiveAt = rfc3339(live.lastActiveAt) ?? undefined;
  if (wokenAt === null) return { name, ramMb, tags, lastActiveAt };
  const awakeSince = new Date(wokenAt).toISOString();
  return {
    name,
    ramMb,
    tags,
    lastActiveAt,
    awakeSince,
    ...(announced && { stopsAt: rfc3339(announced.at) ?? undefined, stopIsRestart: announced.type === 'RESTART' }),
    cause: role === 'owner' ? cause : withoutOthers(cause, principal),
  };
}

/** Removes ids of other people from a cause, because the owner of a shared server stays unnamed. */
function withoutOthers(cause: StoredCause, principal: Principal): StoredCause {
  const isPerson = cause.kind === 'user' || cause.kind === 'key' || cause.kind === 'operator';
  const isCaller = cause.id === principal.userId || cause.id === credentialId(principal);
  return isPerson && !isCaller ? { ...cause, id: '' } : cause;
}

export const myServerOperations = (needs: Needs): readonly Served[] => [
  serve(ListMyServers, async ({ principal }) => {
    const { servers, store } = needs;
    const view = (server: ServerNow, role: Role) => ({
      ...summary(server, role, needs),
      ...(principal.kind !== 'app' && detailsOf(server, role, principal)),
    });
    const reaches = ({ row }: ServerNow) => reachesServer(principal, row.id);
    const [own, memberships] = await Promise.all([
      servers.listByAccount(principal.accountId),
      listMemberships(store, principal.userId),
    ]);
    const shared = await Promise.all(
      memberships.map(async ({ serverId, role }) => ({ server: await servers.get(serverId), role })),
    );
    return {
      my: own.filter(reaches).map((server) => view(server, 'owner')),
      shared: shared.flatMap(({ server, role }) => (server && reaches(server) ? [view(server, role)] : [])),
    };
  }),
];
