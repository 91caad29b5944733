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

/** The header that must bear the session's CSRF token in every change. */
export const CSRF_HEADER = 'x-csrf-token';

/** Identifies browsers and their sessions. */
export interface Browsers {
  config: { baseUrl: string };
  /** Finds the user of a session's token; undefined without one. */
  findSession: (token: string) => Promise<SessionPrincipal | undefined>;
  secret: Secret;
  /** Whose request it is, as limits and audit know it: through trusted proxies only. */
  clientAddress: (request: IncomingMessage) => string;
}

/** Gives every operation of the dashboard its route. `takeToken` holds the rate of a session. */
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

/** Returns the user signed in with the calling browser; undefined without one. */
async function signedInWith(ctx: Context, browsers: Browsers): Promise<SessionPrincipal | undefined> {
  const token = sessionToken(browsers.config.baseUrl, ctx.headers.cookie);
  return token === undefined ? undefined : browsers.findSession(token);
}

/** The browser that asks. */
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

// First where the call comes from, as it costs nothing; a session is looked at only where it is needed.
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
