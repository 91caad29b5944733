import { z } from 'zod';
import type { Reachability } from '../engines/reachability.ts';
import { reply } from '../http/fields.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { AccountLimits } from './account-limits.ts';
import { CapacityResponse, capacityView, isAvailable } from './capacity-api.ts';
import type { Capacity } from './capacity.ts';

/** What these operations work with. */
interface Needs {
  accountLimits: AccountLimits;
  capacity: Pick<Capacity, 'read'>;
  reachability: Reachability;
  config: { region: string; nodeLabel: string };
  /** Undefined while this node takes new starts. */
  drain: { now(): object | undefined };
}

const RegionInfo = z
  .object({
    region: reply.text,
    label: reply.text.describe('For people.'),
    available: reply.flag.describe('A machine there can be reached and starts servers.'),
    capacity: CapacityResponse.prefault({}).describe('All zero where not available.'),
  })
  .meta({ id: 'RegionInfo' });

/** Codes that installations commonly use. */
const LABELS: Record<string, string> = {
  af: 'Africa',
  ap: 'Asia Pacific',
  as: 'Asia',
  eu: 'Europe',
  me: 'Middle East',
  na: 'North America',
  oc: 'Oceania',
  sa: 'South America',
};

const listRegions = (needs: Needs) =>
  operation({
    id: 'ListRegions',
    method: 'get',
    path: '/v1/regions',
    scope: 'servers:read',
    tag: 'control',
    summary: 'List regions',
    description: 'Where servers can be, whether anything runs there now, and what room is left.',
    reply: z.object({ regions: z.array(RegionInfo).default([]) }).meta({ id: 'ListRegionsResponse' }),
    async run({ principal }) {
      const { capacity, accountLimits, config } = needs;
      const { region } = config;
      const label = LABELS[region] ?? region.toUpperCase();
      const available = await isAvailable(needs);
      if (!available) return { regions: [{ region, label, available }] };
      const { maxServers } = accountLimits.of(principal.accountId);
      const view = capacityView(await capacity.read(), { maxServers, available });
      return { regions: [{ region, label, available, capacity: view }] };
    },
  });

export const regionOperations = (needs: Needs): readonly Operation[] => [listRegions(needs)];
