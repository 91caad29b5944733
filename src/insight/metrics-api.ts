import * as z from 'zod';
import { tellsTicks } from '../game/tick-stats.ts';
import { reply, rfc3339 } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { findIncident } from './alerts/rows.ts';
import type { MetricSample as Sample, Metrics } from './metrics.ts';
import type { Shared } from '../servers/shared.ts';

const figure = z.number().default(0).meta({ format: 'double' });

const figures = {
  cpuPercent: z.number().default(-1).meta({ format: 'double' }).describe('-1: unknown.'),
  memUsedMb: figure,
  memLimitMb: figure.describe('0: unknown.'),
  mspt: figure.describe('Milliseconds per tick; 0: not reported by the game.'),
  tps: figure.describe('Ticks per second, at most 20; 0: not reported by the game.'),
  players: reply.int32,
};

const MetricSample = z
  .object({ ts: z.string().meta({ format: 'date-time' }), ...figures })
  .meta({ id: 'MetricSample' });

const ServerMetrics = z
  .object({
    ...figures,
    live: reply.flag.describe('Whether the game itself responded recently.'),
    slowSince: reply.timestamp.describe('Start of the current slowness (the alert `tps.low`); null if it is not slow.'),
    series: z
      .array(MetricSample)
      .default([])
      .describe('One sample for each minute that it ran in the last 24 hours, oldest first.'),
    ticksAvailable: reply.flag.describe(
      'False: the game does not report its tick rate. `tps` and `mspt` stay 0, and alerts of low TPS are never ' +
        'sent. Paper and similar software, Forge, NeoForge and the sandbox report it in every version, all other ' +
        'software from Minecraft 1.20.3 on.',
    ),
  })
  .meta({ id: 'ServerMetrics' });

export const GetServerMetrics = operation({
  id: 'GetServerMetrics',
  method: 'get',
  path: '/v1/servers/{id}/metrics',
  auth: 'key',
  scope: 'servers:read',
  role: 'limited',
  section: 'Console, logs and insight',
  summary: 'Get CPU, memory and tick rate',
  description: 'The newest reading of a running server, taken every minute, and the readings of the last 24 hours.',
  params: ServerParams,
  reply: ServerMetrics,
});

function sampleView({ at, ...sample }: Sample): z.input<typeof MetricSample> {
  return { ts: rfc3339(at) ?? '', ...sample };
}

export const metricOperations = ({ serveServer, store }: Shared, metrics: Metrics): readonly Served[] => [
  serveServer(GetServerMetrics, async ({ params, server }) => {
    const series = (await metrics.series(params.id)).map(sampleView);
    const slowSince = (await findIncident(store, params.id))?.openedAt ?? null;
    const latest = server.state === 'running' ? metrics.latest(params.id, server.context.readyAt ?? 0) : undefined;
    const players = server.context.live.players ?? 0;
    const { type: core, version } = server.row;
    const ticksAvailable = tellsTicks({ core, version });
    return { ...latest?.sample, players, live: latest?.live ?? false, slowSince, series, ticksAvailable };
  }),
];
