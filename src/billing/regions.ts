import * as z from 'zod';
import { reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { CapacityResponse, type Room, capacityView, isAvailable } from './capacity-api.ts';

const RegionInfo = z
  .object({
    region: reply.text,
    label: reply.text.describe('Display name.'),
    available: reply.flag.describe('Whether a machine there responds and accepts starts.'),
    capacity: CapacityResponse.prefault({}).describe('All zero if not available.'),
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

export const ListRegions = operation({
  id: 'ListRegions',
  method: 'get',
  path: '/v1/regions',
  auth: 'key',
  scope: 'servers:read',
  section: 'Platform',
  summary: 'List regions',
  description: 'The regions for servers, their availability and their free capacity.',
  reply: z.object({ regions: z.array(RegionInfo).default([]) }).meta({ id: 'ListRegionsResponse' }),
});

export const regionOperations = (room: Room): readonly Served[] => [
  serve(ListRegions, async ({ principal }) => {
    const { capacity, accountLimits, drain } = room;
    const { maxServers } = accountLimits.of(principal.accountId);
    const views = drain.regions().map(async (region) => {
      const label = LABELS[region] ?? region.toUpperCase();
      const available = await isAvailable(room, region);
      if (!available) return { region, label, available };
      return {
        region,
        label,
        available,
        capacity: capacityView(await capacity.read(region), { maxServers, available }),
      };
    });
    return { regions: await Promise.all(views) };
  }),
];
