import { z } from 'zod';
import { HTTPS_URL, line, message, reply, text } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import type { Principal } from '../../http/principal.ts';
import { APP_SCOPES } from '../../http/scopes.ts';
import { StatusError } from '../../kernel/status.ts';
import { type ClientRow, listClients } from './client-rows.ts';
import { disableClient, enableClient, registerClient } from './clients.ts';

/** An app as operators see it. */
const Client = z
  .object({
    clientId: reply.text.describe('What the app sends as `client_id`. No secret.'),
    name: reply.text,
    homepage: reply.text,
    scopes: z.array(z.string()).default([]),
    createdAt: reply.timestamp,
    disabledAt: reply.timestamp.describe('Null: enabled.'),
  })
  .meta({ id: 'Client' });

/** People read it in front of "wants to see your servers": nothing invisible, nothing that turns the text around. */
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
    .describe('As it was given at registration.'),
});

export const listClientsOperation = operation({
  id: 'ListClients',
  method: 'get',
  path: '/v1/operator/clients',
  scope: 'operator',
  tag: 'operator',
  summary: 'List apps',
  description: 'The registered third-party apps, oldest first, disabled ones too.',
  reply: z.object({ clients: z.array(Client).default([]) }).meta({ id: 'ListClientsResponse' }),
}).handle(async ({ principal }, { store }) => {
  requireOperator(principal);
  return { clients: (await listClients(store)).map(clientView) };
});

export const registerClientOperation = operation({
  id: 'RegisterClient',
  method: 'post',
  path: '/v1/operator/clients',
  scope: 'operator',
  tag: 'operator',
  summary: 'Register an app',
  description: 'Gives a third-party app the `client_id` with which it may start device grants.',
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
}).handle(async ({ principal, body }, services) => {
  requireOperator(principal);
  const { name, homepage, scopes } = body;
  const wanted = { name, homepage: new URL(homepage).href, scopes: [...new Set(scopes)] };
  return clientView(await registerClient(services, principal, wanted));
});

export const disableClientOperation = operation({
  id: 'DisableClient',
  method: 'post',
  path: '/v1/operator/clients/{clientId}:disable',
  scope: 'operator',
  tag: 'operator',
  summary: 'Disable an app',
  description: 'From now on it gets no grant, those under way end, and its tokens are refused.',
  params: ClientParams,
  reply: Client,
}).handle(async ({ principal, params }, services) => {
  requireOperator(principal);
  const client = await disableClient(services, principal, params.clientId);
  services.accessChanges.announce({ clientId: params.clientId });
  return clientView(client);
});

export const enableClientOperation = operation({
  id: 'EnableClient',
  method: 'post',
  path: '/v1/operator/clients/{clientId}:enable',
  scope: 'operator',
  tag: 'operator',
  summary: 'Enable an app',
  description: 'It may start grants again, and the tokens that it has are good again.',
  params: ClientParams,
  reply: Client,
}).handle(async ({ principal, params }, services) => {
  requireOperator(principal);
  return clientView(await enableClient(services, principal, params.clientId));
});

/** The registry of apps. */
export const clientOperations = [
  listClientsOperation,
  registerClientOperation,
  disableClientOperation,
  enableClientOperation,
] as const;

/** A key keeps its scopes when its user is no operator any more. */
function requireOperator({ operator }: Principal): void {
  if (operator) return;
  throw new StatusError('PERMISSION_DENIED', 'NOT_OPERATOR', 'Only operators of this installation may do this.');
}

function clientView({ id, ...client }: ClientRow): z.input<typeof Client> {
  return { clientId: id, ...client };
}

function isHomepage(value: string): boolean {
  const url = URL.parse(value);
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
}
