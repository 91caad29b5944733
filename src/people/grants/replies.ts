import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { StatusError } from '../../kernel/status.ts';
import type { Store } from '../../store/store.ts';
import { APP_TOKEN_MS } from '../apps/app-tokens.ts';
import type { GrantedToken } from './grant-tokens.ts';
import type { Grants, StartedGrant } from './grants.ts';
import type { StartLimit } from './start-limit.ts';

/** What the endpoints of device grants work with, in both their shapes. */
export interface DeviceDeps {
  grants: Pick<Grants, 'start' | 'poll'>;
  /** One for both shapes. */
  startLimit: StartLimit;
  store: Store;
  clock: Clock;
  clientAddress: (request: IncomingMessage) => string;
  config: { baseUrl: string };
  log: Log;
}

/** Of what a device sends. */
export const DEVICE_BODY_BYTES = 4_096;

/** An answer `{ error }`: RFC 6749 §5.2, RFC 8628 §3.5. */
export class GrantError extends Error {
  readonly error: string;
  constructor(error: string, cause?: unknown) {
    super(error, { cause });
    this.error = error;
  }
}

/** Serves a device: what `handle` resolves with is the reply, whatever it throws becomes `{ error }`. */
export function serveDevice(log: Log, handle: (ctx: Context) => Promise<object>): Middleware {
  return async function serveDeviceGrant(ctx) {
    // RFC 6749 §5.1
    ctx.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
    try {
      ctx.body = await handle(ctx);
    } catch (thrown) {
      const { status, error } = failure(thrown);
      if (status === 500) log.error({ requestId: ctx.state.requestId as unknown, err: thrown }, 'device grant failed');
      ctx.state.reason = error;
      ctx.status = status;
      ctx.body = { error };
      const { retryAfterSeconds } = thrown instanceof StatusError ? thrown.options : {};
      if (status === 429) ctx.set('Retry-After', String(retryAfterSeconds ?? 1));
      if (isUnread(thrown)) ctx.set('Connection', 'close');
    }
  };
}

/**
 * To be asked before anything is awaited: whether the answer is received, once it has ended. That is, it was written whole to
 * a connection that was open; what the network between then does to it nobody here can know.
 */
export function whetherReceived({ res }: Context): Promise<boolean> {
  if (res.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => void res.once('close', () => resolve(res.writableFinished)));
}

/** RFC 8628 §3.2. Addresses come from the settings alone: what a request says of its host is the caller's own. */
export function startedReply({ deviceCode, userCode, expiresInMs, intervalMs }: StartedGrant, baseUrl: string): object {
  const complete = `${baseUrl}/device?code=${userCode}`;
  return {
    device_code: deviceCode,
    user_code: userCode,
    verify_url: complete,
    verification_uri: `${baseUrl}/device`,
    verification_uri_complete: complete,
    expires_in: expiresInMs / 1_000,
    interval: intervalMs / 1_000,
  };
}

/** RFC 6749 §5.1. An API key is no bearer token: it goes into the header `x-api-key`. */
export function tokenReply({ kind, token, scope }: GrantedToken): object {
  return kind === 'app'
    ? { access_token: token, token_type: 'Bearer', expires_in: APP_TOKEN_MS / 1_000, scope }
    : { access_token: token, api_key: token, token_type: 'ApiKey', scope };
}

function failure(thrown: unknown): { status: number; error: string } {
  if (thrown instanceof GrantError) return { status: 400, error: thrown.error };
  if (thrown instanceof StatusError && thrown.code === 'RESOURCE_EXHAUSTED')
    return { status: 429, error: 'rate_limited' };
  return { status: 500, error: 'server_error' };
}

/** What is left of a body that was too large or too slow is not read, so the connection cannot be used again. */
function isUnread(thrown: unknown): boolean {
  const cause = thrown instanceof GrantError ? thrown.cause : undefined;
  return cause instanceof StatusError && (cause.options.httpStatus === 413 || cause.options.httpStatus === 408);
}
