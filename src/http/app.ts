/**
 * The HTTP API. Bounds each request, authenticates the caller, validates the input and answers in a declared form. A
 * request causes no work before its size, rate and scope are checked.
 */
import { randomUUID } from 'node:crypto';
import Koa, { type Context, type Middleware } from 'koa';
import { withActivity } from '../kernel/watchdog.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { type FindApp, type FindBrowser, type FindPrincipal, createAuthorize } from './auth.ts';
import { keyCallers, openCallers } from './callers.ts';
import { renderErrors } from './errors.ts';
import { keptBytes } from './kept-bytes.ts';
import { type Streams, declaredRoute, fits, mount, plainColons, routePath } from './mount.ts';
import type { Operation } from './operation.ts';
import { type RateLimit, type TakeToken, createCallerRate } from './rate-limit.ts';
import { newRouter } from './router.ts';
import { carriedForBrowsers, mountForBrowsers } from './session/browser-mount.ts';
import { type Browsers, browserCallers } from './session/browsers.ts';
import type { Served } from './serve.ts';

/** The operations and pages of a room. */
export interface ApiFeature {
  operations?: readonly Served[];
  /** Streams and files that only pages use. They accept only a browser's session and are not part of the API. */
  pageOperations?: readonly Served[];
}

export interface ApiOptions {
  /** The features of all rooms. */
  features: readonly ApiFeature[];
  /** The OpenAPI document. */
  openapi: () => object;
  /** The limits of streams. */
  streams: Omit<Streams, 'authorizeAgain'>;
  /** Identifies browsers and their sessions. */
  browsers: Browsers;
  findPrincipal: FindPrincipal;
  findApp: FindApp;
  findBrowser: FindBrowser;
  /** Counts answered calls. */
  answered?: (request: AnsweredRequest) => void;
  /** The rate of each API key, app token and session. An account as a whole has a multiple of it. */
  rate: RateLimit;
  clock: Clock;
  log: Log;
}

const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** Errors of callers that disconnect during an answer. They need no action. */
const DISCONNECTS = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE', 'ECONNABORTED']);

/**
 * Creates the API as a Koa application that is not listening yet (`createHttpServer`). Requests that it does not serve
 * fall through to middleware added after it, such as pages.
 */
export function createApi({ log, clock, rate, ...options }: ApiOptions): Koa {
  const { features, streams, browsers, openapi } = options;
  const all = features.flatMap((each) => each.operations ?? []);
  const withAuth = (auth: Operation['auth']) => all.filter(({ operation }) => operation.auth === auth);
  const app = new Koa();
  // A router tries all its routes, so the API has its own, which comes first.
  const [router, others] = [newRouter(), newRouter()];
  const takeToken = createCallerRate(rate, clock);
  const authorizing = (take: TakeToken) =>
    createAuthorize(options.findPrincipal, options.findApp, take, options.findBrowser);
  const watched = { ...streams, authorizeAgain: authorizing(() => {}) };
  others.get(
    '/openapi.json',
    keptBytes({ type: 'json', compress: false }, () => JSON.stringify(openapi())),
  );
  mount(router, withAuth('key'), keyCallers(authorizing(takeToken)), watched);
  mount(others, withAuth('session'), browserCallers(takeToken, browsers), watched);
  mount(others, withAuth('none'), openCallers(browsers.clientAddress), watched);
  const carried = [...carriedForBrowsers(all), ...features.flatMap((each) => each.pageOperations ?? [])];
  const forBrowsers = mountForBrowsers(others, carried, options.findBrowser, takeToken, streams);
  app
    .use(requestId)
    .use(logRequests(log, clock, options.answered))
    .use(securityHeaders(browsers.config.baseUrl))
    .use(renderErrors(log))
    .use(plainColons)
    .use(router.routes())
    .use(others.routes())
    .use(answerMethods([...all, ...forBrowsers]));
  app.on('error', (error: NodeJS.ErrnoException, ctx?: Context) => {
    const level = DISCONNECTS.has(error.code ?? '') ? 'debug' : 'error';
    log[level]({ requestId: ctx?.state.requestId as unknown, err: error }, 'answer not delivered');
  });
  return app;
}

const requestId: Middleware = async function requestId(ctx, next) {
  const given = ctx.get('x-request-id');
  ctx.state.requestId = REQUEST_ID.test(given) ? given : randomUUID();
  ctx.set('X-Request-Id', ctx.state.requestId as string);
  await next();
};

/** An answered call. `route` is the declared path; '' if none matches. */
export interface AnsweredRequest {
  route: string;
  method: string;
  status: number;
  ms: number;
}

/** Answers that anyone can cause in any number. */
const REFUSED = new Set([401, 429]);
/** Most refusals logged per minute. */
const REFUSED_PER_MINUTE = 60;

/** Returns the number of refusals left out since the last logged one; undefined if this one is left out, too. */
function createSample(clock: Clock): () => number | undefined {
  let [minute, logged, unlogged] = [0, 0, 0];
  return function sample() {
    const now = Math.floor(clock.now() / MINUTE_MS);
    if (now !== minute) [minute, logged] = [now, 0];
    if (logged === REFUSED_PER_MINUTE) {
      unlogged += 1;
      return undefined;
    }
    logged += 1;
    const before = unlogged;
    unlogged = 0;
    return before;
  };
}

/**
 * Logs a line for each request, except most refusals of a flood. Logs the operation's path template instead of the
 * address, because ids and queries are the caller's data.
 */
function logRequests(log: Log, clock: Clock, answered: (request: AnsweredRequest) => void = () => {}): Middleware {
  const sample = createSample(clock);
  return async function logRequest(ctx, next) {
    const begun = performance.now();
    // Name for the watchdog. The operation is known only after routing.
    const name = () =>
      `${(ctx.state.operation as Operation | undefined)?.id ?? 'request'} ${String(ctx.state.requestId)}`;
    await withActivity(name, next);
    const operation = ctx.state.operation as Operation | undefined;
    const ms = performance.now() - begun;
    answered({ route: operation?.path ?? declaredRoute(ctx), method: ctx.method, status: ctx.status, ms });
    // Clients poll, so only changes and refusals are logged at `info`.
    const isNews = operation && !operation.routine && (ctx.method !== 'GET' || ctx.status >= 400);
    const level = isNews ? 'info' : 'debug';
    if (!log.isLevelEnabled(level)) return;
    const unlogged = REFUSED.has(ctx.status) ? sample() : 0;
    if (unlogged === undefined) return;
    const fields = {
      requestId: ctx.state.requestId as string,
      op: operation?.id,
      method: ctx.method,
      path: operation?.path,
      status: ctx.status,
      reason: ctx.state.reason as string | undefined,
      credential: ctx.state.credential as string | undefined,
      ms: Math.round(ms),
      ...(unlogged > 0 && { unlogged }),
    };
    const { method, path, status, reason } = fields;
    const answer = [status, reason].filter((part) => part !== undefined).join(' ');
    log[level](
      fields,
      `${operation?.id ?? 'request'}: ${method} ${path ?? ''} was answered ${answer} in ${fields.ms} ms`,
    );
  };
}

/** Keeps browsers from guessing types, framing, running or caching. Pages set their own headers. */
function securityHeaders(baseUrl: string): Middleware {
  const headers = {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    ...(baseUrl.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
  };
  const all = Object.entries(headers);
  return async function secure(ctx, next) {
    for (const [name, value] of all) ctx.res.setHeader(name, value);
    await next();
  };
}

/** RFC 9110 §9.3, PATCH (RFC 5789) and QUERY. Any other method is unknown. */
const KNOWN = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY']);

/** The part of a router's route used here. */
interface Route {
  path: string | RegExp;
  methods: string[];
  captures(path: string): string[];
  params(path: string, captures: string[]): Record<string, string>;
}

/**
 * Answers unserved requests: `OPTIONS` with 200, an unknown method with 501, and 405 if the path exists with other
 * methods. `Allow` lists the methods of this exact path: a path with invalid parameters does not exist. Use directly
 * after the routers.
 */
function answerMethods(all: readonly Served[]): Middleware {
  const byRoute = new Map(all.map(({ operation }) => [routePath(operation.path), operation]));

  function allowed(path: string, matched: readonly Route[]): string[] {
    const ours = matched.filter((route) => {
      const operation = byRoute.get(String(route.path));
      return operation === undefined || fits(operation, route.params(path, route.captures(path)));
    });
    return [...new Set(ours.flatMap(({ methods }) => methods))];
  }

  return async function methods(ctx, next) {
    await next();
    if (ctx.status !== 404 || (ctx.body !== undefined && ctx.body !== null)) return;
    const { matched = [] } = ctx as { matched?: Route[] };
    const methods = allowed(ctx.path, matched);
    if (!KNOWN.has(ctx.method)) ctx.status = 501;
    else if (methods.length === 0) return;
    else if (ctx.method === 'OPTIONS') {
      ctx.status = 200;
      ctx.body = '';
    } else ctx.status = 405;
    if (methods.length > 0) ctx.set('Allow', methods.join(', '));
  };
}
