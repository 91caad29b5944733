import * as z from 'zod';
import { tellsTicks } from '../game/tick-stats.ts';
import { clamped, message, reply, rfc3339 } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { HOUR_MS } from '../kernel/units.ts';
import { listStatesSince } from '../servers/machine-rows.ts';
import { Cause } from '../servers/api/machine.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { findIncident } from './alerts/rows.ts';
import { KEPT_MS, type MetricSample as Sample, type Metrics } from './metrics.ts';
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
      .describe(
        'One sample for each minute that it ran, oldest first. If `hours` is above 24, one for each ten minutes.',
      ),
    states: z
      .array(z.object({ state: reply.text.describe('As in GetServer.'), since: reply.timestamp, cause: Cause }))
      .default([])
      .describe('The states of these hours, oldest first, as far as they are among the last 200 transitions.'),
    ticksAvailable: reply.flag.describe(
      'False: the game does not report its tick rate. `tps` and `mspt` stay 0, and alerts of low TPS are never ' +
        'sent. Paper and similar software, Forge, NeoForge and the sandbox report it in every version, all other ' +
        'software from Minecraft 1.20.3 on.',
    ),
  })
  .meta({ id: 'ServerMetrics' });

const MOST_HOURS = KEPT_MS / HOUR_MS;

export const GetServerMetrics = operation({
  id: 'GetServerMetrics',
  method: 'get',
  path: '/v1/servers/{id}/metrics',
  auth: 'key',
  scope: 'servers:read',
  role: 'limited',
  section: 'Console, logs and insight',
  summary: 'Get CPU, memory and tick rate',
  description:
    'The newest reading of a running server, taken every minute, and its readings and states of the last hours.',
  params: ServerParams,
  query: message({
    hours: clamped({ min: 1, max: MOST_HOURS, fallback: 24 }).describe('How far back: 1 to 168 hours. Default: 24.'),
  }),
  reply: ServerMetrics,
});

function sampleView({ at, ...sample }: Sample): z.input<typeof MetricSample> {
  return { ts: rfc3339(at) ?? '', ...sample };
}

export const metricOperations = ({ serveServer, store, clock }: Shared, metrics: Metrics): readonly Served[] => [
  serveServer(GetServerMetrics, async ({ params, server, query }) => {
    const spanMs = query.hours * HOUR_MS;
    const series = (await metrics.series(params.id, spanMs)).map(sampleView);
    const entered = await listStatesSince(store, [params.id], clock.now() - spanMs);
    const states = entered.map(({ to, at, cause }) => ({
      state: to,
      since: at,
      cause: Cause.parse(JSON.parse(cause)),
    }));
    const slowSince = (await findIncident(store, params.id))?.openedAt ?? null;
    const latest = server.state === 'running' ? metrics.latest(params.id, server.context.readyAt ?? 0) : undefined;
    const players = server.context.live.players ?? 0;
    const { type: core, version } = server.row;
    const ticksAvailable = tellsTicks({ core, version });
    return { ...latest?.sample, players, live: latest?.live ?? false, slowSince, series, states, ticksAvailable };
  }),
];
