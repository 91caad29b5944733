import type { IncomingMessage } from 'node:http';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { readBody } from '../../http/body.ts';
import { APP_SCOPES } from '../../http/scopes.ts';
import { parseToken } from '../../kernel/ids.ts';
import { addressKey } from '../../kernel/ip.ts';
import { revokeAppToken } from '../apps/app-tokens.ts';
import { findClient } from '../apps/clients.ts';
import {
  DEVICE_BODY_BYTES,
  type DeviceDeps,
  GrantError,
  serveDevice,
  startedReply,
  tokenReply,
  whetherReceived,
} from './replies.ts';

/** RFC 8628 §3.4. */
const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const FORM = 'application/x-www-form-urlencoded';

/**
 * Device authorization as RFC 8628 has it, with forms, for registered apps and the OAuth libraries they use; described by
 * RFC 8414 metadata. Apps are public clients: they have no secret.
 */
export function mountOAuth(router: Router, deps: DeviceDeps): void {
  const { grants, startLimit, store, clock, clientAddress, config, log } = deps;
  const { baseUrl } = config;
  const metadata = {
    issuer: baseUrl,
    device_authorization_endpoint: `${baseUrl}/oauth/device_authorization`,
    token_endpoint: `${baseUrl}/oauth/token`,
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: ['none'],
    grant_types_supported: [DEVICE_CODE_GRANT],
    response_types_supported: [],
    scopes_supported: APP_SCOPES,
  };
  router.get('/.well-known/oauth-authorization-server', (ctx) => {
    ctx.body = metadata;
  });
  router.post('/oauth/device_authorization', serveDevice(log, start));
  router.post('/oauth/token', serveDevice(log, token));
  router.post('/oauth/revoke', serveDevice(log, revoke));

  async function start(ctx: Context): Promise<object> {
    const ip = clientAddress(ctx.req);
    await startLimit.take(addressKey(ip));
    const form = await readForm(ctx);
    const clientId = required(form, 'client_id');
    const scope = form.get('scope') ?? '';
    const started = await grants.start({ clientId, scope, ip, userAgent: ctx.get('user-agent') });
    if ('error' in started) throw new GrantError(started.error);
    return startedReply(started, baseUrl);
  }

  async function token(ctx: Context): Promise<object> {
    const received = whetherReceived(ctx);
    const form = await readForm(ctx);
    if (required(form, 'grant_type') !== DEVICE_CODE_GRANT) throw new GrantError('unsupported_grant_type');
    const deviceCode = required(form, 'device_code');
    const clientId = required(form, 'client_id');
    if (!(await findClient(store, clientId))) throw new GrantError('invalid_client');
    const polled = await grants.poll(deviceCode, clientId, received);
    if ('error' in polled) throw new GrantError(polled.error);
    return tokenReply(polled);
  }

  /** RFC 7009 §2.2: for a token that is none, or ended already, the answer is the same. */
  async function revoke(ctx: Context): Promise<object> {
    const form = await readForm(ctx);
    const given = required(form, 'token');
    const clientId = required(form, 'client_id');
    if (!(await findClient(store, clientId))) throw new GrantError('invalid_client');
    // Of the command line: its user revokes it in the browser. To say that it is done would be a lie.
    if (parseToken(given) === 'key') throw new GrantError('unsupported_token_type');
    await revokeAppToken({ store, clock }, clientId, given);
    return {};
  }
}

/** RFC 6749 §3.2: a parameter without a value is as if omitted, one that comes twice is refused. */
async function readForm(ctx: Context): Promise<Map<string, string>> {
  if (!ctx.is(FORM)) throw new GrantError('invalid_request');
  const text = await bodyText(ctx.req);
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (form.has(name)) throw new GrantError('invalid_request');
    if (value !== '') form.set(name, value);
  }
  return form;
}

async function bodyText(request: IncomingMessage): Promise<string> {
  try {
    return (await readBody(request, DEVICE_BODY_BYTES)).toString();
  } catch (error) {
    throw new GrantError('invalid_request', error);
  }
}

function required(form: Map<string, string>, name: string): string {
  const value = form.get(name);
  if (value === undefined) throw new GrantError('invalid_request');
  return value;
}
