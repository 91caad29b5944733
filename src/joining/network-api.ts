import { isPortFree } from '../engines/process/port-forwarder.ts';
import { invalidFields } from '../http/errors.ts';
import { line, message } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { createMutex } from '../kernel/mutex.ts';
import { StatusError } from '../kernel/status.ts';
import { Server, ServerParams } from '../servers/api/messages.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { ServerView } from '../servers/api/view.ts';
import { type ServerRow, listNetworkPorts } from '../servers/rows.ts';
import type { Shared } from '../servers/shared.ts';

/** The front of a network that is no server of this installation. */
export const EXTERNAL = 'external';

export const SetServerNetwork = operation({
  auth: 'key',
  scope: 'servers:write',
  role: 'member',
  section: 'Servers',
  params: ServerParams,
  reply: Server,
  id: 'SetServerNetwork',
  method: 'post',
  path: '/v1/servers/{id}:setNetwork',
  summary: 'Put a server behind a network’s front',
  description:
    'Makes the server a private backend of a network: it has no public address, and only the proxy in front of the ' +
    'network (Velocity, BungeeCord, Gate) can wake it, at `network.address` of the reply. That port stays the same ' +
    'until the server is public again. Changes apply at once; players who are connected stay. Fails with ' +
    'RESOURCE_EXHAUSTED if no port is free.',
  body: message({
    front: line(64)
      .default('')
      .describe('The id of a public server of the same account, or `external`. Empty: the server is public.'),
  }).meta({ id: 'SetServerNetworkRequest' }),
  example: { front: EXTERNAL },
});

/** `range`: the ports of private backends, inclusive. */
export function networkOperations(
  { serveServer, servers, store, clock }: Shared,
  serverView: ServerView,
  range: { from: number; to: number },
): readonly Served[] {
  const withLock = createMutex();

  async function requireFront(front: string, { id, accountId }: ServerRow): Promise<void> {
    if (front === '' || front === EXTERNAL) return;
    const row = (await servers.get(front))?.row;
    if (row?.accountId === accountId && row.networkPort === null && row.id !== id) return;
    throw invalidFields([{ field: 'front', description: 'must be another public server of the account, or external' }]);
  }

  /** Returns the lowest port that no backend has and no other program holds now. */
  async function freePort(): Promise<number> {
    const taken = new Set(await listNetworkPorts(store));
    for (let port = range.from; port <= range.to; port++)
      if (!taken.has(port) && (await isPortFree(port, 'tcp'))) return port;
    const sentence = 'All ports for server networks are in use. Ask the operator to extend NETWORK_PORTS.';
    throw new StatusError('RESOURCE_EXHAUSTED', 'NO_FREE_PORT', sentence);
  }

  return [
    serveServer(SetServerNetwork, ({ server: { row }, body: { front }, principal }) =>
      withLock(async () => {
        await requireFront(front, row);
        const known = (await servers.get(row.id))?.row.networkPort ?? null;
        const networkPort = front === '' ? null : (known ?? (await freePort()));
        const detail = front === '' ? 'public' : `behind ${front}`;
        const record = recordOnServer(principal, row, { action: 'server.network', detail, at: clock.now() });
        return serverView(await servers.patch(row.id, { networkFront: front, networkPort }, record));
      }),
    ),
  ];
}
