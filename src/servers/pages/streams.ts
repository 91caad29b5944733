import { Readable } from 'node:stream';
import * as z from 'zod';
import { iconOf } from '../../game/status-icon.ts';
import { Bytes, type Operation, operation } from '../../http/operation.ts';
import { type EventSource, eventFrame } from '../../http/sse.ts';
import type { AccessChanges } from '../../http/access-changes.ts';
import type { Clock } from '../../kernel/clock.ts';
import { listMemberships } from '../../people/members/rows.ts';
import type { Store } from '../../store/store.ts';
import { plainName } from '../../web/text.ts';
import { ServerParams } from '../api/messages.ts';
import type { ServerOperation } from '../api/operation.ts';
import type { ServerNow } from '../server-now.ts';
import type { Servers } from '../servers.ts';
import type { Standing } from '../standing.ts';
import { drawnIcon } from './icon.ts';

/** Dependencies of these operations. */
interface Needs {
  accessChanges: Pick<AccessChanges, 'onAccessChange'>;
  clock: Clock;
  serverOperation: ServerOperation;
  servers: Servers;
  standing: Pick<Standing, 'follow'>;
  store: Store;
}

/** Icons change at most once per run of a game. */
const ICON_SECONDS = 300;

const streamMyServers = ({ servers, standing, store, clock, accessChanges }: Needs) =>
  operation({
    answers: 'events',
    id: 'StreamMyServers',
    method: 'get',
    path: '/v1/me/servers/events/stream',
    scope: 'servers:read',
    tag: 'control',
    summary: 'Follow the list of servers',
    description:
      'A `changed` whenever the list of servers that one reaches shows something else. It does not say what.',
    reply: z.string(),
    events: { changed: z.object({ at: z.string() }) },
    async run({ principal }): Promise<EventSource> {
      const { userId } = principal;
      const sharedNow = async () => new Set((await listMemberships(store, userId)).map(({ serverId }) => serverId));
      let shared = await sharedNow();
      return {
        play(sink) {
          const seen = new Map<string, string>();
          const changed = () =>
            sink.send(eventFrame({ id: '', type: 'changed', data: { at: new Date(clock.now()).toISOString() } }));
          // Someone was granted or lost access to a server.
          const ignoreAccess = accessChanges.onAccessChange((change) => {
            if (change.userId !== userId || change.serverId === undefined) return;
            sharedNow().then(
              (known) => {
                shared = known;
                changed();
              },
              () => {},
            );
          });
          const ignoreServers = servers.observe((id, now) => {
            const isReached = now?.row.accountId === principal.accountId || shared.has(id);
            const shown = now === null ? '' : shownOf(now);
            if (!isReached || seen.get(id) === shown) return;
            seen.set(id, shown);
            changed();
          });
          const ignoreStanding = standing.follow((id) => {
            servers.get(id).then(
              (now) => {
                if (now?.row.accountId === principal.accountId || shared.has(id)) changed();
              },
              () => {},
            );
          });
          return () => {
            ignoreAccess();
            ignoreServers();
            ignoreStanding();
          };
        },
        overflow: 'end',
      };
    },
  });

const getServerIcon = ({ serverOperation }: Needs) =>
  serverOperation({
    answers: 'bytes',
    id: 'GetServerIcon',
    method: 'get',
    path: '/v1/servers/{id}/icon',
    scope: 'servers:read',
    role: 'limited',
    tag: 'control',
    summary: 'Read the icon of a server',
    description: 'The one that its game showed last, or a drawn one.',
    params: ServerParams,
    reply: Bytes,
    async run({ server: { row } }) {
      const own = iconOf(row.lastStatus);
      const icon = own ?? Buffer.from(drawnIcon(row.id, plainName(row.name) || row.id));
      return {
        filename: own ? 'icon.png' : 'icon.svg',
        sizeBytes: icon.length,
        headers: {
          'Content-Type': own ? 'image/png' : 'image/svg+xml',
          'Content-Disposition': 'inline',
          'Cache-Control': `private, max-age=${ICON_SECONDS}`,
          // An SVG is a document; this keeps it harmless even when opened directly.
          'Content-Security-Policy': "default-src 'none'; sandbox",
        },
        open: () => Readable.from([icon]),
        close: () => {},
      };
    },
  });

/** Streams and icons for the pages of servers, beside the API. */
export const serverPageOperations = (needs: Needs): readonly Operation[] => [
  streamMyServers(needs),
  getServerIcon(needs),
];

/** Returns everything the list shows of a server, as text for comparison. */
function shownOf({ row, state, context: { live, wokenAt, cause, noRoom } }: ServerNow): string {
  const { name, hostname, version, ramMb } = row;
  return JSON.stringify([
    state,
    live.phase,
    live.percent,
    live.players,
    noRoom !== null,
    wokenAt,
    cause,
    name,
    hostname,
    version,
    ramMb,
  ]);
}
