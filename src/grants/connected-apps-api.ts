import * as z from 'zod';
import { message, reply, text } from '../http/fields.ts';
import { Nothing } from '../http/nothing.ts';
import type { SessionPrincipal } from '../http/principal.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { StatusError } from '../kernel/status.ts';
import type { AccessStore } from '../accounts/accounts.ts';
import { revokeApp } from './app-tokens.ts';
import { type ConnectedApp, listConnectedApps } from './app-rows.ts';

const ConnectedApp = z
  .object({
    clientId: reply.text,
    name: reply.text,
    homepage: reply.text,
    scopes: z.array(z.string()).default([]),
    connectedAt: reply.timestamp,
    lastUsedAt: reply.timestamp.describe('Accurate to the minute. Null if never used.'),
    expiresAt: reply.timestamp.describe('Extended by each use.'),
  })
  .meta({ id: 'ConnectedApp' });

export const ListConnectedApps = operation({
  id: 'ListConnectedApps',
  method: 'get',
  path: '/v1/session/apps',
  auth: 'session',
  summary: 'List connected apps',
  description: 'Returns the apps you have approved, in order of approval.',
  reply: z.object({ apps: z.array(ConnectedApp).default([]) }).meta({ id: 'ListConnectedAppsResponse' }),
});

export const DisconnectApp = operation({
  id: 'DisconnectApp',
  method: 'post',
  path: '/v1/session/apps:revoke',
  auth: 'session',
  summary: 'Disconnect an app',
  description: 'The next call of the app is refused.',
  body: message({ clientId: text(64).min(1, 'is required') }).meta({ id: 'DisconnectAppRequest' }),
  reply: Nothing,
});

export const connectedAppOperations = (access: AccessStore): readonly Served[] => [
  serve(ListConnectedApps, async ({ principal }) => ({ apps: await connectedAppsOf(access, principal) })),
  serve(DisconnectApp, async ({ principal, body }) => disconnectApp(access, principal, body.clientId)),
];

/** Returns the apps that the caller has approved, in order of approval. */
export async function connectedAppsOf(
  { store, clock }: AccessStore,
  { userId }: SessionPrincipal,
): Promise<ConnectedApp[]> {
  return listConnectedApps(store, userId, clock.now());
}

/** Revokes an app's tokens for the caller. Once this resolves, they are refused. NOT_FOUND APP_NOT_FOUND. */
export async function disconnectApp(
  services: AccessStore,
  principal: SessionPrincipal,
  clientId: string,
): Promise<void> {
  if (!(await revokeApp(services, principal, clientId))) {
    throw new StatusError('NOT_FOUND', 'APP_NOT_FOUND', 'There is no such connected app.', { metadata: { clientId } });
  }
  services.accessChanges.announce({ clientId, userId: principal.userId });
}
