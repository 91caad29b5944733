import type { IncomingMessage } from 'node:http';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { parseMessage, readBody } from '../../http/body.ts';
import { addressKey } from '../../kernel/ip.ts';
import { mountOAuth } from './oauth.ts';
import {
  DEVICE_BODY_BYTES,
  type DeviceDeps,
  GrantError,
  serveDevice,
  startedReply,
  tokenReply,
  whetherReceived,
} from './replies.ts';

/**
 * Device authorization (RFC 8628) with JSON bodies, at `/v1/public/device/start` and `/poll`, and in the RFC's own shape
 * (`oauth.ts`). Needs no credential: errors are `{ error }`, and nothing is done for a body before it is bounded.
 */
export function mountDevice(router: Router, deps: DeviceDeps): void {
  const { grants, startLimit, clientAddress, config, log } = deps;
  router.post('/v1/public/device/start', serveDevice(log, start));
  router.post('/v1/public/device/poll', serveDevice(log, poll));
  mountOAuth(router, deps);

  async function start(ctx: Context): Promise<object> {
    const ip = clientAddress(ctx.req);
    await startLimit.take(addressKey(ip));
    const fields = await readJson(ctx.req);
    const { client_id: clientId, scope } = fields;
    // An app that misspells its client_id must not come to be asked full access for: that takes an empty object.
    if (clientId === undefined && Object.keys(fields).length > 0) throw new GrantError('invalid_request');
    // Whatever else is sent as client_id must not come to be taken as none, which asks for far more.
    if (clientId !== undefined && typeof clientId !== 'string') throw new GrantError('invalid_client');
    const wanted = { clientId: clientId ?? null, scope: scopeText(scope), ip, userAgent: ctx.get('user-agent') };
    const started = await grants.start(wanted);
    if ('error' in started) throw new GrantError(started.error);
    return startedReply(started, config.baseUrl);
  }

  async function poll(ctx: Context): Promise<object> {
    const received = whetherReceived(ctx);
    const { device_code: deviceCode } = await readJson(ctx.req);
    if (typeof deviceCode !== 'string') throw new GrantError('invalid_request');
    const polled = await grants.poll(deviceCode, undefined, received);
    if (!('error' in polled)) return tokenReply(polled);
    // The reference's list is closed: a client starts anew with an unknown code as with an expired one.
    throw new GrantError(polled.error === 'invalid_grant' ? 'expired_token' : polled.error);
  }
}

/** One JSON object, whatever the content type. */
async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  try {
    const body = await readBody(request, DEVICE_BODY_BYTES);
    // Elsewhere a body without anything in it is an empty object. Here that would ask for the command line's grant.
    if (!body.includes('{')) throw new GrantError('invalid body');
    return parseMessage(body) as Record<string, unknown>;
  } catch (error) {
    throw new GrantError('invalid body', error);
  }
}

/** Absent, null and empty ask for the default. */
function scopeText(scope: unknown): string {
  if (scope === undefined || scope === null) return '';
  return typeof scope === 'string' ? scope : NO_SCOPE;
}

/** A text that is no scope, for what is not even text: so a bad client_id is still told first. */
const NO_SCOPE = '?';
