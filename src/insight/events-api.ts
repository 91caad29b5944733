import * as z from 'zod';
import type { DiskQuota } from '../disk/quota.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { type EventSource, eventFrame } from '../http/sse.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { findIncident } from './alerts/rows.ts';
import { SERVER_EVENTS } from './event-schemas.ts';
import type { ServerEvents } from './events.ts';
import type { Shared } from '../servers/shared.ts';

export const StreamServerEvents = operation({
  answers: 'events',
  id: 'StreamServerEvents',
  method: 'get',
  path: '/v1/servers/{id}/events/stream',
  scope: 'servers:read',
  role: 'limited',
  auth: 'key',
  section: 'Console, logs and insight',
  summary: 'Follow the events of a server',
  description: [
    'Server-sent events with ids; the data is JSON with the instant `at`. More kinds and fields may come.',
    '',
    '`state`: `state`, `cause`, `players` (null if unknown), and, while the server starts, `phase` and `percent` as',
    'in `progress`. After a failure, `error` has `code`, `summary` and `suggestion`. `waits` has `node` and `since`',
    'while that machine does not respond: it may still run the server, which can neither be reached nor start',
    'elsewhere. `suspended` has `reason` and `since` while an operator keeps the server from waking. Otherwise,',
    'these two are null.',
    '',
    '`progress` of a start: `phase` as `startupPhase` of a server (`downloading` … `ready`); `percent` from 0',
    'to 100. `players`: `online`. `tick`, each minute of a running server: the figures of GetServerMetrics, with',
    '`live`.',
    '',
    '`quota`, when the disk quota is exceeded or no longer exceeded: `diskUsageMb`, `diskQuotaEffectiveMb`,',
    '`quotaExceeded`. `backup`: `id`, `state`, `percent`, and, after a failure, `error`. `alert`: `alert` is',
    '`tps.low`, or `tps.recovered` with `slowSeconds`, both with `tps`, `mspt` and `players`; `tps.ended` with',
    '`slowSeconds`, if a slow server stops; `game.hung`, if the game stops responding and is ended; or',
    '`stop.forced`, if the game does not stop in time and is killed.',
    '',
    'With `Last-Event-ID`, the stream resumes after that event; of `tick`, only the newest is kept. If that event is',
    'unknown, for example after a restart of the service, the stream begins with a `gap`, which has no id: events',
    'are missing there. After a `gap`, and without `Last-Event-ID`, a `state` follows that also has `quota`, as',
    'above, and `alert`: null, or `alert` and `at` of the open alert. You do not need to poll anything else. Pings,',
    'the end after 30 minutes and the limit of streams are the same as for StreamServerLogs. These streams are',
    'counted separately.',
  ].join('\n'),
  params: ServerParams,
  reply: z.string().describe('Frames of `id`, `event` and `data`.'),
  events: SERVER_EVENTS,
});

export const eventOperations = (
  { serveServer, store }: Shared,
  serverEvents: ServerEvents,
  disk: DiskQuota,
): readonly Served[] => [
  serveServer(StreamServerEvents, async ({ server, lastEventId }): Promise<EventSource> => {
    const { row } = server;
    const incident = await findIncident(store, row.id);
    const { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded } = disk.view(row);
    const besides = {
      quota: { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded },
      alert: incident ? { alert: 'tps.low', at: new Date(incident.openedAt).toISOString() } : null,
    };
    return {
      play: (sink) =>
        serverEvents.follow(server, besides, lastEventId, (event) => {
          if (event === null) sink.end();
          else sink.send(eventFrame(event));
        }),
      // A silent gap would go unnoticed. A disconnected client instead resumes after its last id.
      overflow: 'end',
    };
  }),
];
