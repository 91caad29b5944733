import * as z from 'zod';
import type { DiskQuota } from '../disk/quota.ts';
import type { Operation } from '../http/operation.ts';
import { type EventSource, eventFrame } from '../http/sse.ts';
import { ServerParams } from '../servers/api/messages.ts';
import type { ServerOperation } from '../servers/api/operation.ts';
import type { Store } from '../store/store.ts';
import { findIncident } from './alerts/rows.ts';
import { SERVER_EVENTS } from './event-schemas.ts';
import type { ServerEvents } from './events.ts';

/** Dependencies of these operations. */
interface Needs {
  disk: DiskQuota;
  serverEvents: Pick<ServerEvents, 'follow'>;
  serverOperation: ServerOperation;
  store: Store;
}

const streamServerEvents = ({ serverOperation, serverEvents, disk, store }: Needs) =>
  serverOperation({
    answers: 'events',
    id: 'StreamServerEvents',
    method: 'get',
    path: '/v1/servers/{id}/events/stream',
    scope: 'servers:read',
    role: 'limited',
    tag: 'control',
    summary: 'Follow what happens',
    description: [
      'Server-sent events with ids; the data is JSON with the instant `at`. More kinds and fields may come.',
      '',
      '`state`: `state`, `cause`, `players` (null: not known), and, while it starts, `phase` and `percent` as in `progress`; where',
      'it failed, `error` with `code`, `summary`, `suggestion`. `waits`, with `node` and `since`: that machine does not answer and may',
      'still run it, so that it can be neither reached nor started elsewhere; null: it is not so, or not any more. `suspended`, with',
      '`reason` and `since`: an operator lets nothing wake it; null: it is not so, or not any more.',
      '',
      '`progress` of a start: `phase` is `starting`, `loading_mods`, `generating_world` or `ready`; `percent` from 0 to 100.',
      '`players`: `online`. `tick`, each minute of a running server: the figures of GetServerMetrics, with `live`.',
      '',
      '`quota`, when it is exceeded or no longer: `diskUsageMb`, `diskQuotaEffectiveMb`, `quotaExceeded`. `backup`: `id`, `state`,',
      '`percent`, and, where it failed, `error`. `alert`: `alert` is `tps.low`; or `tps.recovered` with `slowSeconds`; both with',
      '`tps`, `mspt`, `players`; or `tps.ended` with `slowSeconds`, where a slow server stops; or `game.hung`, where one that does not',
      'answer any more is ended; or `stop.forced`, where one that did not end in time is killed.',
      '',
      'With `Last-Event-ID` the stream goes on after that event; of `tick` only the newest is kept. Where that event is not known',
      'any more, as after a restart of the service, the stream begins with a `gap`, which has no id: events in between are',
      'missing. After it, and without `Last-Event-ID`, comes a `state` that also has `quota`, as above, and `alert`: null, or `alert` and `at` of',
      'the one that is open. So nothing needs to be polled beside it. Pings, the end after 30 minutes and the number of streams',
      'are those of StreamServerLogs, counted apart.',
    ].join('\n'),
    params: ServerParams,
    reply: z.string().describe('Frames of `id`, `event` and `data`.'),
    events: SERVER_EVENTS,
    async run({ server, lastEventId }): Promise<EventSource> {
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
    },
  });

export const eventOperations = (needs: Needs): readonly Operation[] => [streamServerEvents(needs)];
