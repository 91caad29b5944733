import type { IncomingMessage } from 'node:http';
import type { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { StatusError } from '../../kernel/status.ts';
import type { Secret } from '../../store/secret.ts';
import { checkCsrfToken, refuseCrossSite } from './csrf.ts';
import { entering, routePath, sentBy } from '../mount.ts';
import type { SessionPrincipal } from '../principal.ts';
import type { TakeToken } from '../rate-limit.ts';
import { clearedSessionCookie, sessionCookie, sessionToken } from './session-cookie.ts';
import type { Browser, SessionOperation } from './session-operation.ts';
import { deviceCookie, deviceOf, pendingCookie, pendingOf } from './visitor.ts';

/** The header with the session's CSRF token, required for every change. */
export const CSRF_HEADER = 'x-csrf-token';

/** Identifies browsers and their sessions. */
export interface Browsers {
  config: { baseUrl: string };
  /** Finds the user of a session's token; undefined if there is no session. */
  findSession: (token: string) => Promise<SessionPrincipal | undefined>;
  secret: Secret;
  /** Returns the client address of a request for limits and the audit log. Only trusted proxies may state it. */
  clientAddress: (request: IncomingMessage) => string;
}

/** Adds a route for every panel operation. `takeToken` enforces the rate of a session. */
export function mountSession(
  router: Router,
  operations: readonly SessionOperation[],
  takeToken: TakeToken,
  browsers: Browsers,
): void {
  for (const operation of operations) {
    router[operation.method](routePath(operation.path), entering(operation, serve(operation, takeToken, browsers)));
  }
}

/** Returns the user signed in with the calling browser; undefined if not signed in. */
async function signedInWith(ctx: Context, browsers: Browsers): Promise<SessionPrincipal | undefined> {
  const token = sessionToken(browsers.config.baseUrl, ctx.headers.cookie);
  return token === undefined ? undefined : browsers.findSession(token);
}

/** Returns the calling browser. */
function browserOf(ctx: Context, { config, clientAddress }: Browsers): Browser {
  return {
    address: clientAddress(ctx.req),
    userAgent: ctx.get('user-agent'),
    device: deviceOf(config.baseUrl, ctx.headers.cookie),
    pending: pendingOf(config.baseUrl, ctx.headers.cookie),
    keepPending: (pending) => ctx.append('Set-Cookie', pendingCookie(config.baseUrl, pending)),
    keepDevice: (device) => ctx.append('Set-Cookie', deviceCookie(config.baseUrl, device)),
    keepSession(token) {
      ctx.set(
        'Set-Cookie',
        token === null ? clearedSessionCookie(config.baseUrl) : sessionCookie(config.baseUrl, token),
      );
    },
  };
}

// The cheap check of the request's origin comes first. The session is looked up only if needed.
function serve(operation: SessionOperation, takeToken: TakeToken, browsers: Browsers): Middleware {
  return async function serveSessionOperation(ctx) {
    refuseCrossSite(ctx.method, ctx.headers, browsers.config.baseUrl);
    const principal = operation.signedIn ? await signedIn(ctx) : undefined;
    const call = { ...sentBy(ctx, operation), browser: browserOf(ctx, browsers), principal };
    ctx.body = await operation.run(call);
  };

  async function signedIn(ctx: Context): Promise<SessionPrincipal> {
    const principal = await signedInWith(ctx, browsers);
    if (!principal) throw new StatusError('UNAUTHENTICATED', 'SESSION_REQUIRED', 'Sign in first.');
    ctx.state.credential = principal.userId;
    ctx.state.accountId = principal.accountId;
    if (operation.method !== 'get') checkCsrfToken(browsers.secret, principal.sessionId, ctx.get(CSRF_HEADER));
    takeToken(principal);
    return principal;
  }
}
