import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { StatusError } from '../../kernel/status.ts';
import type { Secret } from '../../store/secret.ts';
import type { FindBrowser } from '../auth.ts';
import type { Admit } from '../mount.ts';
import type { Method } from '../operation.ts';
import type { SessionPrincipal } from '../principal.ts';
import type { TakeToken } from '../rate-limit.ts';
import type { Browser, BrowserCaller } from '../serve.ts';
import { CSRF_HEADER, checkCsrfToken, refuseCrossSite } from './csrf.ts';
import { clearedSessionCookie, sessionCookie, sessionToken } from './session-cookie.ts';
import { deviceCookie, deviceOf, pendingCookie, pendingOf } from './visitor.ts';

/** Identifies browsers and their sessions. */
export interface Browsers {
  config: { baseUrl: string };
  /** Finds the user of a session's token; undefined if there is no session. */
  findSession: (token: string) => Promise<SessionPrincipal | undefined>;
  secret: Secret;
  /** Returns the client address of a request for limits and the audit log. Only trusted proxies may state it. */
  clientAddress: (request: IncomingMessage) => string;
}

/**
 * Finds the user of a browser by its session cookie. Every change also needs the CSRF token, which only our pages know.
 * Throws UNAUTHENTICATED SESSION_REQUIRED for a cookie without a session, and PERMISSION_DENIED.
 */
export function createFindBrowser({ config, findSession, secret }: Browsers): FindBrowser {
  return async function findBrowser(headers, { method }) {
    const token = sessionToken(config.baseUrl, headers.cookie);
    if (token === undefined) return undefined;
    refuseCrossSite(method.toUpperCase(), headers, config.baseUrl);
    const principal = await findSession(token);
    if (!principal) throw new StatusError('UNAUTHENTICATED', 'SESSION_REQUIRED', 'Sign in first.');
    if (method !== 'get') checkCsrfToken(secret, principal.sessionId, String(headers[CSRF_HEADER] ?? ''));
    return principal;
  };
}

/** Admits browsers to panel operations. `takeToken` enforces the rate of a session. */
export function browserCallers(takeToken: TakeToken, browsers: Browsers): Admit {
  const { config, findSession, secret } = browsers;

  // The cheap check of the request's origin comes first. The session is looked up only if needed.
  return async function admitBrowser(ctx, operation): Promise<BrowserCaller> {
    refuseCrossSite(ctx.method, ctx.headers, config.baseUrl);
    const needsUser = operation.auth !== 'session' || operation.signedIn;
    const principal = needsUser ? await signedIn(ctx, operation.method) : undefined;
    return { browser: browserOf(ctx, browsers), principal };
  };

  async function signedIn(ctx: Context, method: Method): Promise<SessionPrincipal> {
    const token = sessionToken(config.baseUrl, ctx.headers.cookie);
    const principal = token === undefined ? undefined : await findSession(token);
    if (!principal) throw new StatusError('UNAUTHENTICATED', 'SESSION_REQUIRED', 'Sign in first.');
    ctx.state.credential = principal.userId;
    ctx.state.accountId = principal.accountId;
    if (method !== 'get') checkCsrfToken(secret, principal.sessionId, ctx.get(CSRF_HEADER));
    takeToken(principal);
    return principal;
  }
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
