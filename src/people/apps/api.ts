import { z } from 'zod';
import { message, reply, text } from '../../http/fields.ts';
import { Nothing } from '../../http/nothing.ts';
import { sessionOperation } from '../../http/session-operation.ts';
import { connectedAppsOf, disconnectApp } from './connected-apps.ts';

const ConnectedApp = z
  .object({
    clientId: reply.text,
    name: reply.text,
    homepage: reply.text,
    scopes: z.array(z.string()).default([]),
    connectedAt: reply.timestamp,
    lastUsedAt: reply.timestamp.describe('To the minute; null: never.'),
    expiresAt: reply.timestamp.describe('Moves on with each use.'),
  })
  .meta({ id: 'ConnectedApp' });

export const listConnectedAppsOperation = sessionOperation({
  id: 'ListConnectedApps',
  method: 'get',
  path: '/v1/session/apps',
  summary: 'List connected apps',
  description: 'The apps you have let in, in the order you did.',
  reply: z.object({ apps: z.array(ConnectedApp).default([]) }).meta({ id: 'ListConnectedAppsResponse' }),
}).handle(async ({ principal }, services) => ({ apps: await connectedAppsOf(services, principal) }));

export const disconnectAppOperation = sessionOperation({
  id: 'DisconnectApp',
  method: 'post',
  path: '/v1/session/apps:revoke',
  summary: 'Disconnect an app',
  description: 'Its next call is refused.',
  body: message({ clientId: text(64).min(1, 'is required') }).meta({ id: 'DisconnectAppRequest' }),
  reply: Nothing,
}).handle(async ({ principal, body }, services) => {
  await disconnectApp(services, principal, body.clientId);
  return {};
});
