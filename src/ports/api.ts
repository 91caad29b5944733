import { GAME_PORT, MANAGEMENT_PORT, RCON_PORT } from '../engines/engine.ts';
import * as z from 'zod';
import { invalidFields } from '../http/errors.ts';
import { int32, line, message } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { Server, ServerParams } from '../servers/api/messages.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { ServerView } from '../servers/api/view.ts';
import type { ServerPorts } from './ports.ts';
import type { Shared } from '../servers/shared.ts';

const COMMON = {
  auth: 'key',
  scope: 'servers:write',
  role: 'member',
  section: 'Servers',
  params: ServerParams,
} as const;

/** Ports reserved for players, the console and Dormouse itself; the console and the management port are unencrypted. */
const OWN_PORTS = new Set([GAME_PORT, RCON_PORT, MANAGEMENT_PORT]);

export const AddServerPort = operation({
  ...COMMON,
  id: 'AddServerPort',
  method: 'post',
  path: '/v1/servers/{id}/ports',
  summary: 'Open another port',
  description:
    'For mods and plugins that need their own port, such as voice chat or a web map. From the next start of the ' +
    'server, clients reach it at `hostPort` of `host`. Traffic only reaches ports that the game itself listens on, ' +
    'and does not wake the server. With `wakes`, Bedrock players who join at the port wake it.',
  body: message({
    containerPort: int32({ min: 1, max: 65_535 }).describe('The port that the game listens on.'),
    label: line(64).default(''),
    proto: z.enum(['tcp', 'udp'], 'must be tcp or udp'),
    wakes: z
      .boolean()
      .default(false)
      .describe('Whether Bedrock players wake the server at this port, for Geyser. UDP only, one port of a server.'),
  }).meta({ id: 'AddServerPortRequest' }),
  example: { containerPort: 24_454, label: 'Voice chat', proto: 'udp' },
  reply: Server,
});

export const RemoveServerPort = operation({
  ...COMMON,
  id: 'RemoveServerPort',
  method: 'post',
  path: '/v1/servers/{id}/ports:remove',
  summary: 'Close a port',
  description: 'The port closes at the next start of the server. Another server may get its number then.',
  body: message({ slot: int32({ min: 0 }) }).meta({ id: 'RemoveServerPortRequest' }),
  example: { slot: 0 },
  reply: Server,
});

export const portOperations = (
  { serveServer, clock }: Shared,
  serverPorts: ServerPorts,
  serverView: ServerView,
): readonly Served[] => [
  serveServer(AddServerPort, async ({ server, body, principal }) => {
    if (body.proto === 'tcp' && OWN_PORTS.has(body.containerPort)) {
      throw invalidFields([{ field: 'containerPort', description: 'is used by Dormouse itself' }]);
    }
    if (body.wakes && body.proto !== 'udp')
      throw invalidFields([{ field: 'wakes', description: 'needs the protocol udp' }]);
    const detail = `${body.containerPort}/${body.proto}`;
    const entry = { action: 'server.port.add', detail, at: clock.now() };
    await serverPorts.add(server.row.id, body, recordOnServer(principal, server.row, entry));
    return serverView(server);
  }),
  serveServer(RemoveServerPort, async ({ server, body, principal }) => {
    const entry = { action: 'server.port.remove', detail: `slot ${body.slot}`, at: clock.now() };
    await serverPorts.remove(server.row.id, body.slot, recordOnServer(principal, server.row, entry));
    return serverView(server);
  }),
];
