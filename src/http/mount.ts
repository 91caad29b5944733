import { Readable } from 'node:stream';
import type { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { Authorize } from './auth.ts';
import { parseFields, parseForm, parseMessage, readBody, streamBody } from './body.ts';
import { type Declared, FORM, type Sent, type Taking } from './declared.ts';
import { STALLED_MS, sendDownload } from './download.ts';
import { goneSignal, onceEnded } from './ended.ts';
import type { AnsweringWith, Operation, RawCall } from './operation.ts';
import { createPlaces } from '../kernel/limits/places.ts';
import { StatusError } from '../kernel/status.ts';
import { type Principal, credentialId } from './principal.ts';
import { WrittenReply } from './reply.ts';
import { type Watched, sendEvents } from './sse.ts';
import type { StreamSlots } from './stream-slots.ts';

/** Decides who may call. `authorizeAgain` repeats the check while a stream is open, without counting as a call. */
export interface Authorizer {
  authorize: Authorize;
  authorizeAgain: Authorize;
}

/** The limits of event streams. */
export interface Streams extends Watched {
  streamSlots: StreamSlots;
}

/** Most unanswered calls of one account, over all its keys. */
const MOST_IN_FLIGHT = 600;
const inFlight = createPlaces();

const JSON_TYPE = 'application/json; charset=utf-8';

/** Adds a route for every operation. The router must be strict and sensitive. */
export function mount(
  router: Router,
  operations: readonly Operation[],
  authorizer: Authorizer,
  streams: Streams,
): void {
  for (const operation of operations) {
    router[operation.method](routePath(operation.path), entering(operation, serve(operation, authorizer, streams)));
  }
}

function serve(operation: Operation, authorizer: Authorizer, streams: Streams): Middleware {
  switch (operation.answers) {
    case 'message':
      return answer(operation, authorizer);
    case 'events':
      return stream(operation, authorizer, streams);
    case 'bytes':
      return download(operation, authorizer);
    case 'text':
      return writing(operation, authorizer);
    default:
      return operation satisfies never;
  }
}

/**
 * Converts a path like `/v1/servers/{id}:start` for the router. Escapes a literal colon, which would start a parameter.
 */
export function routePath(path: string): string {
  return path.replaceAll(':', String.raw`\:`).replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * Returns the route of a request that no operation serves (a page, a file), as given to `routePath`; '' if none
 * matches.
 */
export function declaredRoute(ctx: Context): string {
  const { _matchedRoute: route } = ctx as { _matchedRoute?: unknown };
  return typeof route === 'string' ? route.replaceAll(/(?<!\\):(\w+)/g, '{$1}').replaceAll('\\', '') : '';
}

/** Unescapes the verb's colon, which clients may send escaped (RFC 3986 §2.1): the router compares the raw path. */
export const plainColons: Middleware = async function plainColons(ctx, next) {
  if (/%3a/i.test(ctx.path)) ctx.path = ctx.path.replaceAll(/%3a/gi, ':');
  await next();
};

/**
 * Serves an operation at valid paths and records it for the log. Passes on all other calls: `/v1/servers/abc:start`
 * with an invalid id is no server.
 */
export function entering(operation: Declared, serve: Middleware): Middleware {
  return async function enter(ctx, next) {
    if (!operation.fits(ctx.params)) return next();
    ctx.state.operation = operation;
    return serve(ctx, next);
  };
}

/** Returns the input of a call. The body is read on first use. */
export function sentBy(ctx: Context, { method, bodyLimitBytes, takes }: Declared): Sent {
  const hasMessage = method === 'post' && takes !== 'bytes';
  return {
    params: ctx.params as unknown,
    query: queryFields(ctx.querystring),
    body: async () => (hasMessage ? readMessage(ctx, takes, bodyLimitBytes) : {}),
    upload: () => ({ chunks: streamBody(ctx.req), sizeBytes: sizeSaid(ctx) }),
  };
}

async function readMessage(ctx: Context, takes: Exclude<Taking, 'bytes'> | undefined, limitBytes: number) {
  if (takes === 'form' && !ctx.is(FORM)) {
    throw new StatusError('INVALID_ARGUMENT', 'INVALID_FORM', `The body must be ${FORM}.`);
  }
  const body = await readBody(ctx.req, limitBytes);
  if (takes === 'raw') return body;
  if (takes === 'form') return parseForm(body);
  // Cheap check: JSON without a brace is no object. `parseMessage` refuses the rest.
  if (takes === 'object' && !body.includes('{')) {
    throw new StatusError('INVALID_ARGUMENT', 'INVALID_JSON', 'The body must be a JSON object.');
  }
  return parseMessage(body);
}

// The order of checks is documented in the reference: address, credential, scope, rate, input, state of the subject.
function answer(operation: AnsweringWith<'message'>, authorizer: Authorizer): Middleware {
  return async function serveMessage(ctx) {
    const principal = await admit(ctx, operation, authorizer);
    const reply = await operation.run(callOf(ctx, operation, principal));
    if (reply instanceof WrittenReply) return sendWritten(ctx, reply);
    // Sets the type, so that Koa does not have to detect it.
    ctx.set('Content-Type', JSON_TYPE);
    ctx.body = JSON.stringify(reply);
  };
}

function sendWritten(ctx: Context, { json, sent }: WrittenReply): void {
  const { res } = ctx;
  onceEnded(res, sent);
  if (res.closed) return;
  res.setTimeout(STALLED_MS, () => res.destroy());
  ctx.type = 'application/json';
  // Produces each piece only after the previous one has been sent.
  ctx.body = Buffer.isBuffer(json) ? json : Readable.from(json, { highWaterMark: 1 });
}

function stream(operation: AnsweringWith<'events'>, authorizer: Authorizer, streams: Streams): Middleware {
  return async function serveStream(ctx) {
    const principal = await admit(ctx, operation, authorizer);
    const release = streams.streamSlots.take(principal, operation.id);
    onceEnded(ctx.res, release);
    const { check, ...source } = await operation.run(callOf(ctx, operation, principal));
    const watcher = {
      principal,
      check: async () => check(await authorizer.authorizeAgain(ctx.headers, operation)),
    };
    sendEvents(ctx, source, watcher, streams);
  };
}

function download(operation: AnsweringWith<'bytes'>, authorizer: Authorizer): Middleware {
  return async function serveDownload(ctx) {
    const principal = await admit(ctx, operation, authorizer);
    sendDownload(ctx, await operation.run(callOf(ctx, operation, principal)));
  };
}

function writing(operation: AnsweringWith<'text'>, authorizer: Authorizer): Middleware {
  return async function serveText(ctx) {
    const principal = await admit(ctx, operation, authorizer);
    const { type, text } = await operation.run(callOf(ctx, operation, principal));
    ctx.body = text;
    ctx.set('Content-Type', type);
  };
}

async function admit(ctx: Context, operation: Operation, { authorize }: Authorizer): Promise<Principal> {
  const principal = await authorize(ctx.headers, operation);
  const leave = inFlight.take({ [principal.accountId]: MOST_IN_FLIGHT });
  if (!leave) throw tooManyInFlight(principal.accountId);
  onceEnded(ctx.res, leave);
  ctx.state.credential = credentialId(principal);
  ctx.state.accountId = principal.accountId;
  return principal;
}

function tooManyInFlight(accountId: string): StatusError {
  const sentence = `An account can have at most ${MOST_IN_FLIGHT} calls in progress. Wait until one has ended.`;
  return new StatusError('RESOURCE_EXHAUSTED', 'TOO_MANY_CALLS', sentence, {
    retryAfterSeconds: 1,
    metadata: { subject: `account:${accountId}`, limit: String(MOST_IN_FLIGHT) },
  });
}

function callOf(ctx: Context, operation: Operation, principal: Principal): RawCall {
  const signal = goneSignal(ctx.res);
  return { ...sentBy(ctx, operation), principal, lastEventId: ctx.get('last-event-id'), signal };
}

/** Returns the body's size; undefined if it is unknown or the body is encoded. */
function sizeSaid(ctx: Context): number | undefined {
  const length = ctx.get('content-length');
  return length === '' || ctx.get('content-encoding') !== '' ? undefined : Number(length);
}

// A repeated parameter stays a list, which every schema rejects. The schema drops unknown ones.
function queryFields(querystring: string): object {
  if (querystring === '') return {};
  const given = Object.groupBy(parseFields(querystring), ([name]) => name);
  return Object.fromEntries(
    Object.entries(given).map(([name, pairs = []]) => {
      const values = pairs.map(([, value]) => value);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}
