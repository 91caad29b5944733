import * as z from 'zod';
import { HTTPS_URL, line, message, reply, text } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { APP_SCOPES } from '../http/scopes.ts';
import { type ClientRow, listClients } from './app-rows.ts';
import { Reason } from '../accounts/fields.ts';
import { disableClient, enableClient, registerClient } from './clients.ts';
import type { Accounts } from '../accounts/accounts.ts';

/** An app as operators see it. */
const Client = z
  .object({
    clientId: reply.text.describe('The app sends it as `client_id`. It is not secret.'),
    name: reply.text,
    homepage: reply.text,
    scopes: z.array(z.string()).default([]),
    createdAt: reply.timestamp,
    disabledAt: reply.timestamp.describe('Null if the app is enabled.'),
  })
  .meta({ id: 'Client' });

/** Shown before "wants to see your servers", so it must not contain invisible or direction-changing characters. */
const AppName = line(64)
  .trim()
  .min(1, 'is required')
  .regex(/^\P{Cf}*$/u, 'must not contain invisible characters')
  .meta({ pattern: String.raw`^[^\p{Cc}\p{Cf}]*$` });

const Homepage = text(512)
  .refine(isHomepage, 'must be an https URL without a user name')
  .meta({ format: 'uri', pattern: HTTPS_URL });

const ClientParams = message({
  clientId: z
    .string()
    .regex(/^[\w-]{1,64}$/)
    .describe('The `clientId` that `RegisterClient` returned.'),
});

const ClientReason = message({
  reason: Reason.optional().describe('Recorded in the audit log.'),
}).meta({ id: 'ClientReason' });

export const ListClients = operation({
  id: 'ListClients',
  method: 'get',
  path: '/v1/operator/clients',
  scope: 'operator',
  auth: 'key',
  summary: 'List apps',
  description: 'Returns the registered third-party apps, oldest first, including disabled ones.',
  reply: z.object({ clients: z.array(Client).default([]) }).meta({ id: 'ListClientsResponse' }),
});

export const RegisterClient = operation({
  id: 'RegisterClient',
  method: 'post',
  path: '/v1/operator/clients',
  scope: 'operator',
  auth: 'key',
  summary: 'Register an app',
  description: 'Registers a third-party app. With its `client_id`, the app can start device grants.',
  body: message({
    name: AppName,
    homepage: Homepage,
    scopes: z
      .array(z.enum(APP_SCOPES))
      .min(1, 'must name at least one scope')
      .default([...APP_SCOPES]),
  }).meta({ id: 'RegisterClientRequest' }),
  reply: Client,
  example: { name: 'Launcher', homepage: 'https://launcher.example', scopes: ['servers:list'] },
});

export const DisableClient = operation({
  id: 'DisableClient',
  method: 'post',
  path: '/v1/operator/clients/{clientId}:disable',
  scope: 'operator',
  auth: 'key',
  summary: 'Disable an app',
  description: 'The app can no longer start grants, its grants in progress end, and its tokens are refused.',
  params: ClientParams,
  body: ClientReason,
  reply: Client,
});

export const EnableClient = operation({
  id: 'EnableClient',
  method: 'post',
  path: '/v1/operator/clients/{clientId}:enable',
  scope: 'operator',
  auth: 'key',
  summary: 'Enable an app',
  description: 'The app can start grants again, and its existing tokens work again.',
  params: ClientParams,
  body: ClientReason,
  reply: Client,
});

/** Operations on registered apps. */
export const clientOperations = (accounts: Accounts): readonly Served[] => [
  serve(ListClients, async () => {
    return { clients: (await listClients(accounts.store)).map(clientView) };
  }),
  serve(RegisterClient, async ({ principal, body }) => {
    const { name, homepage, scopes } = body;
    const wanted = { name, homepage: new URL(homepage).href, scopes: [...new Set(scopes)] };
    return clientView(await registerClient(accounts, principal, wanted));
  }),
  serve(DisableClient, async ({ principal, params, body }) => {
    const client = await disableClient(accounts, principal, params.clientId, body.reason);
    accounts.accessChanges.announce({ clientId: params.clientId });
    return clientView(client);
  }),
  serve(EnableClient, async ({ principal, params, body }) => {
    return clientView(await enableClient(accounts, principal, params.clientId, body.reason));
  }),
];

function clientView({ id, ...client }: ClientRow): z.input<typeof Client> {
  return { clientId: id, ...client };
}

function isHomepage(value: string): boolean {
  const url = URL.parse(value);
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
}
