import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import * as z from 'zod';
import { iconOf } from '../../game/status-icon.ts';
import type { AccessChanges } from '../../http/access-changes.ts';
import { Bytes, operation } from '../../http/operation.ts';
import { type Served, serve } from '../../http/serve.ts';
import { type EventSource, eventFrame } from '../../http/sse.ts';
import type { Clock } from '../../kernel/clock.ts';
import { listMemberships } from '../../access/member-rows.ts';
import type { Store } from '../../store/store.ts';
import { escapeHtml } from '../../web/html.ts';
import { plainName } from '../../web/text.ts';
import { ServerParams } from '../api/messages.ts';
import type { ServeServer } from '../api/operation.ts';
import type { ServerBlocks, ServerNow } from '../server-now.ts';
import type { Servers } from '../servers.ts';

/** Dependencies of these operations. */
interface Needs {
  accessChanges: AccessChanges;
  clock: Clock;
  serveServer: ServeServer;
  servers: Servers;
  blocks: ServerBlocks;
  store: Store;
}

/** Icons change at most once per run of a game. */
const ICON_SECONDS = 300;

export const StreamMyServers = operation({
  answers: 'events',
  id: 'StreamMyServers',
  method: 'get',
  path: '/v1/me/servers/events/stream',
  scope: 'servers:read',
  auth: 'key',
  summary: 'Follow the list of servers',
  description:
    'Sends `changed` when anything in the list of servers you can access changes. The event does not say what.',
  reply: z.string(),
  events: { changed: z.object({ at: z.string() }) },
});

export const GetServerIcon = operation({
  answers: 'bytes',
  id: 'GetServerIcon',
  method: 'get',
  path: '/v1/servers/{id}/icon',
  scope: 'servers:read',
  role: 'limited',
  auth: 'key',
  summary: 'Read the icon of a server',
  description: 'The icon that the game showed last, or a generated one.',
  params: ServerParams,
  reply: Bytes,
});

/** Streams and icons for servers' pages, in addition to the API. */
export const serverPageOperations = ({
  servers,
  blocks,
  store,
  clock,
  accessChanges,
  serveServer,
}: Needs): readonly Served[] => [
  serve(StreamMyServers, async ({ principal }): Promise<EventSource> => {
    const { userId } = principal;
    const sharedNow = async () => new Set((await listMemberships(store, userId)).map(({ serverId }) => serverId));
    let shared = await sharedNow();
    return {
      play(sink) {
        const seen = new Map<string, string>();
        const changed = () =>
          sink.send(eventFrame({ id: '', type: 'changed', data: { at: new Date(clock.now()).toISOString() } }));
        // The caller gained or lost access to a server.
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
        const ignoreBlocks = blocks.follow((id) => {
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
          ignoreBlocks();
        };
      },
      overflow: 'end',
    };
  }),
  serveServer(GetServerIcon, async ({ server: { row } }) => {
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
  }),
];

/** Returns everything the list shows of a server, as text for comparison. */
function shownOf({ row, state, context: { live, wokenAt, cause, noRoom, announced } }: ServerNow): string {
  const { name, hostname, version, ramMb } = row;
  return JSON.stringify([
    state,
    live.phase,
    live.percent,
    live.players,
    noRoom !== null,
    announced,
    wokenAt,
    cause,
    name,
    hostname,
    version,
    ramMb,
  ]);
}

/** Skies from night to dawn in distinguishable hues, each with enough contrast to light letters. */
const SKIES = [
  ['#332b66', '#a8653c'],
  ['#1f3b63', '#3f7f86'],
  ['#4a2459', '#b0486a'],
  ['#1f4a3c', '#5f8a3a'],
  ['#4d3119', '#b5712a'],
  ['#2b2f6b', '#6a5bc0'],
] as const;

/** Returns an icon for a server without one: the first letter of the name on a background derived from the id. */
function drawnIcon(id: string, name: string): string {
  const [from, to] = SKIES[(createHash('sha256').update(id).digest()[0] ?? 0) % SKIES.length] ?? SKIES[0];
  const letter = escapeHtml(Array.from(name)[0]?.toUpperCase() ?? '');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><linearGradient id="a" x2="1" y2="1"><stop stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient><rect width="64" height="64" fill="url(#a)"/><text x="32" y="44" text-anchor="middle" font-family="system-ui,sans-serif" font-size="34" font-weight="700" fill="#fdf6ec">${letter}</text></svg>`;
}
