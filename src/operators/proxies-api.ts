import * as z from 'zod';
import { reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { Proxies, ProxyView } from '../joining/link/proxies.ts';

const Proxy = z
  .object({
    id: reply.text.describe('Identifies the process.'),
    name: reply.text,
    version: reply.text.describe('The release, and a digest of its program.'),
    since: reply.timestamp,
    connected: reply.flag.describe('Whether it is connected to the service.'),
    listening: reply.flag.describe('Players can connect to it.'),
    host: reply.text.describe('The address for players; empty unless it listens.'),
    port: reply.int32,
    draining: reply.flag.describe('Whether it accepts no new players and ends with its last one.'),
    players: reply.int32.describe('Players in a game through this proxy.'),
    waiting: reply.int32.describe('Players who wait until their server is up.'),
    lagMs: reply.int32.describe('The last round trip to it, rounded up.'),
  })
  .meta({ id: 'Proxy' });

export const ListProxies = operation({
  scope: 'operator',
  id: 'ListProxies',
  method: 'get',
  path: '/v1/operator/proxies',
  auth: 'key',
  summary: 'List proxies',
  description: 'Lists the processes that players connect to, including those that are draining.',
  reply: z.object({ proxies: z.array(Proxy).default([]) }).meta({ id: 'ListProxiesResponse' }),
});

function proxyView({ listening, held, lagMs, ...view }: ProxyView): z.input<typeof Proxy> {
  return {
    ...view,
    listening: listening !== null,
    host: listening?.host,
    port: listening?.port,
    waiting: held,
    lagMs: Math.ceil(lagMs ?? 0),
  };
}

/** Operations on proxies. */
export const proxyOperations = (proxies: Proxies): readonly Served[] => [
  serve(ListProxies, async () => ({ proxies: proxies.views().map(proxyView) })),
];
