import * as z from 'zod';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { APP_SCOPES } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import { parseToken } from '../kernel/ids.ts';
import type { Store } from '../store/store.ts';
import { revokeAppToken } from './app-tokens.ts';
import { findClient } from './clients.ts';
import {
  grantError,
  grantErrors,
  DEVICE_BODY_BYTES,
  type DeviceNeeds,
  NO_STORE,
  POLL_REFUSALS,
  Started,
  Token,
  startGrant,
  takeStart,
  tokenReply,
} from './messages.ts';

/** RFC 8628 §3.4. */
const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export const OAuthMetadata = operation({
  id: 'OAuthMetadata',
  method: 'get',
  path: '/.well-known/oauth-authorization-server',
  auth: 'none',
  summary: 'OAuth metadata (RFC 8414)',
  description: 'Returns the metadata that OAuth libraries need for the device grant.',
  reply: z.object({
    issuer: z.string(),
    device_authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint: z.string(),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
    grant_types_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    scopes_supported: z.array(z.string()),
  }),
});

export const DeviceAuthorization = operation({
  id: 'DeviceAuthorization',
  method: 'post',
  path: '/oauth/device_authorization',
  auth: 'none',
  summary: 'Start a device grant (RFC 8628)',
  description: 'RFC 8628 §3.1, for registered apps. Shares its limit with `/v1/public/device/start`.',
  takes: 'form',
  body: z.object({ client_id: z.string(), scope: z.string().optional() }),
  bodyLimitBytes: DEVICE_BODY_BYTES,
  reply: Started,
  answerHeaders: NO_STORE,
  errors: grantErrors(['invalid_client', 'invalid_scope', 'invalid_request'], { limited: true }),
});

export const DeviceToken = operation({
  id: 'DeviceToken',
  method: 'post',
  path: '/oauth/token',
  auth: 'none',
  summary: 'Poll for the token (RFC 8628)',
  description: 'RFC 8628 §3.4, for registered apps.',
  takes: 'form',
  body: z.object({
    grant_type: z.literal(DEVICE_CODE_GRANT, {
      error: ({ input }) => (input === undefined ? null : 'unsupported_grant_type'),
    }),
    device_code: z.string(),
    client_id: z.string(),
  }),
  bodyLimitBytes: DEVICE_BODY_BYTES,
  reply: Token,
  answerHeaders: NO_STORE,
  errors: grantErrors([
    ...POLL_REFUSALS,
    'invalid_client',
    'invalid_grant',
    'invalid_request',
    'unsupported_grant_type',
  ]),
});

export const RevokeToken = operation({
  id: 'RevokeToken',
  method: 'post',
  path: '/oauth/revoke',
  auth: 'none',
  summary: 'Revoke a token (RFC 7009)',
  description: 'RFC 7009 §2.1, for an app that signs its user out. Invalid tokens get the same response.',
  takes: 'form',
  body: z.object({ token: z.string(), token_type_hint: z.string().optional(), client_id: z.string() }),
  bodyLimitBytes: DEVICE_BODY_BYTES,
  reply: z.object({}),
  answerHeaders: NO_STORE,
  errors: grantErrors(['invalid_client', 'invalid_request', 'unsupported_token_type']),
});

async function requireClient(store: Store, clientId: string): Promise<void> {
  if (!(await findClient(store, clientId))) throw grantError('invalid_client');
}

/**
 * Device authorization with forms as in RFC 8628, for registered apps and their OAuth libraries; described by RFC 8414
 * metadata. Apps are public clients: they have no secret.
 */
export const oauthOperations = (needs: DeviceNeeds & { store: Store; clock: Clock }): readonly Served[] => [
  serve(
    DeviceAuthorization,
    ({ body, caller }) => startGrant(needs, caller, { clientId: body.client_id, scope: body.scope ?? '' }),
    (caller) => takeStart(needs, caller),
  ),
  serve(DeviceToken, async ({ body, received }) => {
    await requireClient(needs.store, body.client_id);
    return tokenReply(await needs.grants.poll(body.device_code, body.client_id, received()));
  }),
  serve(RevokeToken, async ({ body }) => {
    await requireClient(needs.store, body.client_id);
    // A key of the command line, which its user revokes in the browser. Reporting success would be wrong.
    if (parseToken(body.token) === 'key') throw grantError('unsupported_token_type');
    await revokeAppToken(needs, body.client_id, body.token);
    return {};
  }),
  serve(OAuthMetadata, async () => {
    const { baseUrl } = needs.config;
    return {
      issuer: baseUrl,
      device_authorization_endpoint: `${baseUrl}/oauth/device_authorization`,
      token_endpoint: `${baseUrl}/oauth/token`,
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint: `${baseUrl}/oauth/revoke`,
      revocation_endpoint_auth_methods_supported: ['none'],
      grant_types_supported: [DEVICE_CODE_GRANT],
      response_types_supported: [],
      scopes_supported: [...APP_SCOPES],
    };
  }),
];
