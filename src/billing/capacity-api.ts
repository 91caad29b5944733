import * as z from 'zod';
import type { Reachability } from '../engines/reachability.ts';
import { reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { AccountLimits } from './account-limits.ts';
import type { Capacity, CapacityNow } from './capacity.ts';

/** Dependencies of these operations. */
/** The room on the machines, and the rules on who may use it. */
export interface Room {
  accountLimits: AccountLimits;
  capacity: Capacity;
  reachability: Reachability;
  drain: {
    /** The codes of all regions. */
    regions(): readonly string[];
    /** Why starts are refused, in a region or in general; undefined if they are not. */
    closed(region?: string): object | undefined;
  };
}

const double = z.number().default(0).meta({ format: 'double' });

const CpuTier = z
  .object({ ramMb: reply.int64, cpus: double.describe('The most CPU time, in cores.') })
  .meta({ id: 'CpuTier' });

/** A machine's capacity and use, as in the reference. */
export const CapacityResponse = z
  .object({
    activeServers: reply.int32.describe('Awake, waking or going to sleep.'),
    coresUsable: double,
    coresUsed: double.describe('Reserved by awake servers. Servers share cores, so this may exceed `coresUsable`.'),
    cpusPerServer: double.describe('The most that one server can use.'),
    ramUsableMb: reply.int64.describe('RAM for games, without the RAM for the system and the service.'),
    ramUsedMb: reply.int64.describe('Reserved by awake servers.'),
    diskFreeMb: reply.int64,
    diskTotalMb: reply.int64.describe('0: could not be read.'),
    maxServersPerAccount: reply.int32.describe("For the caller's account; 0: no limit."),
    cpuTiers: z
      .array(CpuTier)
      .default([])
      .describe('CPU time by RAM. Each tier applies up to its RAM; the last one also applies above it.'),
    ramPerServerMb: reply.int64.describe('The most RAM for one server. With several machines, the RAM of the largest.'),
    available: reply.flag.describe('Whether servers can start here: the engine responds, and a machine accepts them.'),
  })
  .meta({ id: 'CapacityResponse' });

export const GetCapacity = operation({
  id: 'GetCapacity',
  method: 'get',
  path: '/v1/capacity',
  auth: 'key',
  scope: 'servers:read',
  section: 'Platform',
  summary: 'Get capacity',
  description:
    'Returns the capacity for games, of one machine or of all machines together, and how much of it awake servers ' +
    'have reserved. Sleeping servers reserve nothing. A server must fit on one machine.',
  reply: CapacityResponse,
});

/**
 * Reports whether starts are possible, in a region or anywhere: the engine responds and not all machines are drained.
 */
export async function isAvailable({ reachability, drain }: Room, region?: string): Promise<boolean> {
  return drain.closed(region) === undefined && (await reachability.reachable());
}

export function capacityView(
  now: CapacityNow,
  { maxServers, available }: { maxServers: number; available: boolean },
): z.input<typeof CapacityResponse> {
  const { machine, used, ramUsableMb, ramPerServerMb, cpuTiers, cpusPerServer } = now;
  return {
    activeServers: used.servers,
    coresUsable: machine.cores,
    coresUsed: used.cpus,
    cpusPerServer,
    ramUsableMb,
    ramUsedMb: used.ramMb,
    diskFreeMb: machine.diskFreeMb,
    diskTotalMb: machine.diskTotalMb,
    maxServersPerAccount: maxServers,
    cpuTiers,
    ramPerServerMb,
    available,
  };
}

export const capacityOperations = (room: Room): readonly Served[] => [
  serve(GetCapacity, async ({ principal }) => {
    const { capacity, accountLimits } = room;
    const { maxServers } = accountLimits.of(principal.accountId);
    return capacityView(await capacity.read(), { maxServers, available: await isAvailable(room) });
  }),
];
