import type { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { StatusError } from '../kernel/status.ts';
import { findSession } from '../people/sessions.ts';
import { checkCsrfToken, refuseCrossSite } from './csrf.ts';
import { entering, routePath, sentBy } from './mount.ts';
import type { SessionPrincipal } from './principal.ts';
import type { Services } from './services.ts';
import { clearedSessionCookie, sessionCookie, sessionToken } from './session-cookie.ts';
import type { Browser, SessionOperation } from './session-operation.ts';
import { deviceCookie, deviceOf } from './visitor.ts';

/** The header that must bear the session's CSRF token in every change. */
export const CSRF_HEADER = 'x-csrf-token';

/** Gives every operation of the dashboard its route. `takeToken` holds the rate of a session. */
export function mountSession(
  router: Router,
  operations: readonly SessionOperation[],
  takeToken: (sessionId: string) => void,
  services: Services,
): void {
  for (const operation of operations) {
    router[operation.method](routePath(operation.path), entering(operation, serve(operation, takeToken, services)));
  }
}

/** Who is signed in with the browser that asks; undefined: nobody. */
export async function signedInWith(ctx: Context, services: Services): Promise<SessionPrincipal | undefined> {
  const token = sessionToken(services.config.baseUrl, ctx.headers.cookie);
  return token === undefined ? undefined : findSession(services.store, services.clock, token);
}

/** The browser that asks. */
export function browserOf(ctx: Context, { config, clientAddress }: Services): Browser {
  return {
    address: clientAddress(ctx.req),
    userAgent: ctx.get('user-agent'),
    device: deviceOf(config.baseUrl, ctx.headers.cookie),
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
function serve(operation: SessionOperation, takeToken: (sessionId: string) => void, services: Services): Middleware {
  return async function serveSessionOperation(ctx) {
    refuseCrossSite(ctx.method, ctx.headers, services.config.baseUrl);
    const principal = operation.signedIn ? await signedIn(ctx) : undefined;
    const call = { ...sentBy(ctx, operation), browser: browserOf(ctx, services), principal };
    ctx.body = await operation.run(call, services);
  };

  async function signedIn(ctx: Context): Promise<SessionPrincipal> {
    const principal = await signedInWith(ctx, services);
    if (!principal) throw new StatusError('UNAUTHENTICATED', 'SESSION_REQUIRED', 'Sign in first.');
    ctx.state.credential = principal.userId;
    if (operation.method !== 'get') checkCsrfToken(services.secret, principal.sessionId, ctx.get(CSRF_HEADER));
    takeToken(principal.sessionId);
    return principal;
  }
}
