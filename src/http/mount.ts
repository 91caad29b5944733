import { Readable } from 'node:stream';
import type { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { Authorize } from './auth.ts';
import { parseFields, parseForm, parseMessage, readBody, streamBody } from './body.ts';
import { STALLED_MS, sendDownload } from './download.ts';
import { onceEnded } from './ended.ts';
import { FORM, type KeyOperation, type Operation, type Taking } from './operation.ts';
import { StatusError } from '../kernel/status.ts';
import { WrittenReply } from './reply.ts';
import type { Caller, KeyCaller, Sent, Served } from './serve.ts';
import { type Watched, sendEvents } from './sse.ts';
import type { StreamSlots } from './stream-slots.ts';

/** Admits the caller of an operation. Throws StatusError for all others. */
export type Admit = (ctx: Context, operation: Operation) => Promise<Caller>;

/** The limits of event streams. */
export interface Streams extends Watched {
  streamSlots: StreamSlots;
  /** Repeats the check of the caller while a stream is open, without counting as a call. */
  authorizeAgain: Authorize;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Adds a route for every operation. The router must be strict and sensitive. */
export function mount(router: Router, all: readonly Served[], admit: Admit, streams: Streams): void {
  for (const served of all) {
    router[served.operation.method](routePath(served.operation.path), serving(served, admit, streams));
  }
}

/**
 * Serves an operation at valid paths and records it for the log. Passes on all other calls: `/v1/servers/abc:start`
 * with an invalid id is no server.
 */
function serving(served: Served, admit: Admit, streams: Streams): Middleware {
  const { operation } = served;
  const answer = answering(served, streams);
  return async function serveOperation(ctx, next) {
    if (!fits(operation, ctx.params)) return await next();
    ctx.state.operation = operation;
    // The order of checks is documented in the reference: address, credential, scope, rate, input, state of the subject.
    return await answer(ctx, await admit(ctx, operation));
  };
}

/** Reports whether the path parameters are valid. */
export function fits(operation: Operation, params: unknown): boolean {
  return operation.params.safeParse(params).success;
}

function answering(served: Served, streams: Streams): (ctx: Context, caller: Caller) => Promise<void> {
  const { operation } = served;
  if (operation.auth !== 'key') return (ctx, caller) => answerMessage(ctx, served, caller);
  switch (operation.answers) {
    case 'message':
      return (ctx, caller) => answerMessage(ctx, served, caller);
    case 'events':
      return (ctx, caller) => answerEvents(ctx, { ...served, operation }, caller as KeyCaller, streams);
    case 'bytes':
      return async (ctx, caller) => sendDownload(ctx, await served.run<'bytes'>(sentBy(ctx, operation), caller));
    case 'text':
      return async function answerText(ctx, caller) {
        const { type, text } = await served.run<'text'>(sentBy(ctx, operation), caller);
        ctx.body = text;
        ctx.set('Content-Type', type);
      };
    default:
      return operation.answers satisfies never;
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

/** Returns the input of a call. The body is read on first use. */
function sentBy(ctx: Context, { method, bodyLimitBytes, takes }: Operation): Sent {
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

async function answerMessage(ctx: Context, { operation, run }: Served, caller: Caller): Promise<void> {
  const reply = await run<'message'>(sentBy(ctx, operation), caller);
  if (reply instanceof WrittenReply) return sendWritten(ctx, reply);
  // Sets the type, so that Koa does not have to detect it.
  ctx.set('Content-Type', JSON_TYPE);
  ctx.body = JSON.stringify(reply);
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

async function answerEvents(
  ctx: Context,
  { operation, run }: Served<KeyOperation>,
  caller: KeyCaller,
  streams: Streams,
): Promise<void> {
  const { principal } = caller;
  const release = streams.streamSlots.take(principal, operation.id);
  onceEnded(ctx.res, release);
  const { check, ...source } = await run<'events'>(sentBy(ctx, operation), caller);
  const watcher = { principal, check: async () => check(await streams.authorizeAgain(ctx.headers, operation)) };
  sendEvents(ctx, source, watcher, streams);
}

/** Returns the body's size; undefined if it is unknown or the body is encoded. */
function sizeSaid(ctx: Context): number | undefined {
  const length = ctx.get('content-length');
  return length === '' || ctx.get('content-encoding') !== '' ? undefined : Number(length);
}

// A repeated parameter is a list, which only the schema of a list accepts. The schema drops unknown ones.
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
