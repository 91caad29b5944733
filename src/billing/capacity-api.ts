import { z } from 'zod';
import type { Reachability } from '../engines/reachability.ts';
import { reply } from '../http/fields.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { AccountLimits } from './account-limits.ts';
import type { Capacity, CapacityNow } from './capacity.ts';

/** What these operations work with. */
interface Needs {
  accountLimits: AccountLimits;
  capacity: Pick<Capacity, 'read'>;
  reachability: Reachability;
  /** Undefined while this node takes new starts. */
  drain: { now(): object | undefined };
}

const double = z.number().default(0).meta({ format: 'double' });

const CpuTier = z
  .object({ ramMb: reply.int64, cpus: double.describe('The most CPU time, in cores.') })
  .meta({ id: 'CpuTier' });

/** What a machine has and what of it is taken, as the reference has it. */
export const CapacityResponse = z
  .object({
    activeServers: reply.int32.describe('Awake, waking or going to sleep.'),
    coresUsable: double,
    coresUsed: double.describe('Promised to awake servers. Servers share cores, so this may be more than there are.'),
    cpusPerServer: double.describe('The most that one server gets.'),
    ramUsableMb: reply.int64.describe('For games: what the system and the service need is left out.'),
    ramUsedMb: reply.int64.describe('Reserved by awake servers.'),
    diskFreeMb: reply.int64,
    diskTotalMb: reply.int64.describe('0: could not be read.'),
    maxServersPerAccount: reply.int32.describe("The caller's; 0: no limit."),
    cpuTiers: z.array(CpuTier).default([]).describe('CPU time by RAM, up to each; the last is for all above as well.'),
    available: reply.flag.describe('Servers are started here now: the engine answers, and no operator has drained it.'),
  })
  .meta({ id: 'CapacityResponse' });

const getCapacity = (needs: Needs) =>
  operation({
    id: 'GetCapacity',
    method: 'get',
    path: '/v1/capacity',
    scope: 'servers:read',
    tag: 'control',
    summary: 'Get capacity',
    description:
      'What the machine has for games, and what awake servers have reserved of it. Sleeping ones reserve nothing.',
    reply: CapacityResponse,
    async run({ principal }) {
      const { capacity, accountLimits } = needs;
      const { maxServers } = accountLimits.of(principal.accountId);
      return capacityView(await capacity.read(), { maxServers, available: await isAvailable(needs) });
    },
  });

/** Whether this node starts servers now: its engine answers, and no operator has drained it. */
export async function isAvailable({ reachability, drain }: Pick<Needs, 'reachability' | 'drain'>): Promise<boolean> {
  return drain.now() === undefined && (await reachability.reachable());
}

export function capacityView(
  now: CapacityNow,
  { maxServers, available }: { maxServers: number; available: boolean },
): z.input<typeof CapacityResponse> {
  const { machine, used, ramUsableMb, cpuTiers, cpusPerServer } = now;
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
    available,
  };
}

export const capacityOperations = (needs: Needs): readonly Operation[] => [getCapacity(needs)];
