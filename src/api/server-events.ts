import { z } from 'zod';
import { serverStream } from './server-operation.ts';
import { ServerParams } from './schemas.ts';
import { eventFrame } from './sse.ts';

export const streamServerEvents = serverStream({
  id: 'StreamServerEvents',
  method: 'get',
  path: '/v1/servers/{id}/events/stream',
  scope: 'servers:read',
  role: 'limited',
  tag: 'control',
  summary: 'Follow what happens',
  description: [
    'Server-sent events with ids; the data is JSON with the instant `at`. `state`: `state`, `cause`, and, where it failed,',
    '`error` with `code`, `summary`, `suggestion`. `progress` of a start: `phase`, `percent`. `players`: `online`. Also',
    '`tick`, `quota`, `backup`; and `alert`: `alert` is `tps.low`, or `tps.recovered` with `slowSeconds`, both with `tps`,',
    '`mspt`, `players`; more may come. With `Last-Event-ID` the stream goes on behind that event; without,',
    'or where it is not known any more, it begins with a `state`. Pings, the end after 30 minutes and the number of streams',
    'are those of StreamServerLogs, counted apart.',
  ].join('\n'),
  params: ServerParams,
  reply: z.string().describe('Frames of `id`, `event` and `data`.'),
}).handle(async ({ server, lastEventId }, { serverEvents }) => ({
  play: (sink) =>
    serverEvents.follow(server, lastEventId, (event) => {
      if (event === null) sink.end();
      else sink.send(eventFrame(event));
    }),
  // A gap would be taken for the whole: who is cut off comes back with the last id instead.
  overflow: 'end',
}));
