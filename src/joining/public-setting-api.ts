import * as z from 'zod';
import { message } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import type { Clock } from '../kernel/clock.ts';
import { Server, ServerParams } from '../servers/api/messages.ts';
import type { ServeServer } from '../servers/api/operation.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { ServerView } from '../servers/api/view.ts';
import type { Servers } from '../servers/servers.ts';
import type { PublicStatuses } from './public-status.ts';

/** Dependencies of these operations. */
interface Needs {
  serveServer: ServeServer;
  serverView: ServerView;
  servers: Servers;
  publicStatuses: PublicStatuses;
  clock: Clock;
}

export const SetPublicStatus = operation({
  id: 'SetPublicStatus',
  method: 'post',
  scope: 'servers:write',
  role: 'member',
  section: 'Servers',
  params: ServerParams,
  reply: Server,
  path: '/v1/servers/{id}:setPublicStatus',
  auth: 'key',
  summary: 'Show or hide the public status page',
  description:
    'While enabled, `/status/{publicSlug}` shows name, state, version, players and description to anyone, and the ' +
    'address only with `showAddress`. The slug is created when you first enable the page, and stays.',
  body: message({ enabled: z.boolean().default(false), showAddress: z.boolean().default(false) }).meta({
    id: 'SetPublicStatusRequest',
  }),
  example: { enabled: true, showAddress: true },
});

/** Operations on a server's public status. */
export const publicSettingOperations = (needs: Needs): readonly Served[] => [
  needs.serveServer(SetPublicStatus, async ({ server: now, body, principal }) => {
    const detail = body.enabled ? `on, ${body.showAddress ? 'with' : 'without'} the address` : 'off';
    const entry = { action: 'server.publicStatus', detail, at: needs.clock.now() };
    await needs.publicStatuses.set(now.row, body, recordOnServer(principal, now.row, entry));
    return needs.serverView(await needs.servers.patch(now.row.id, {}));
  }),
];
