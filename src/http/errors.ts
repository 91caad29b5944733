import { type Context, HttpError, type Middleware } from 'koa';
import * as z from 'zod';
import type { Log } from '../kernel/log.ts';
import {
  CODES,
  type Code,
  DETAIL_TYPE,
  type Detail,
  type FieldViolation,
  StatusError,
  badRequest,
  preconditionFailure,
  quotaFailure,
  resourceInfo,
} from '../kernel/status.ts';
import { reply } from './fields.ts';

/** The `domain` of every ErrorInfo (AIP-193): reasons are unique within it. */
const ERROR_DOMAIN = 'dormouse';

/** The body of every error, google.rpc.Status (AIP-193): `code` is the number of the google.rpc.Code. */
export const ErrorStatus = z
  .object({
    code: reply.int32,
    message: reply.text,
    details: z.array(z.looseObject({ '@type': z.string() })).default([]),
  })
  .meta({ id: 'ErrorStatus', description: 'A google.rpc.Status. The first detail is a google.rpc.ErrorInfo.' });

/** An error as callers receive it. `code` is the number of the google.rpc.Code. */
export interface ErrorAnswer {
  httpStatus: number;
  body: { code: number; message: string; details: Detail[] };
}

/** An answer with one HTTP status, for the documentation. */
export interface Described {
  description: string;
  reply: z.ZodType;
  headers?: Readonly<Record<string, object>>;
}

/** The error format of another protocol, whose clients would not understand google.rpc.Status. */
export interface ErrorDialect {
  answer: (error: StatusError) => { httpStatus: number; body: object };
  /** Documentation by HTTP status. */
  described: Readonly<Record<string, Described>>;
}

/**
 * Answers thrown errors, and the router's bare 404, 405 and 501, with a status object that has exactly one ErrorInfo,
 * or in the operation's own dialect. Errors that are no StatusError become INTERNAL: they are logged with the request
 * id and never shown.
 */
export function renderErrors(log: Log): Middleware {
  return async function errors(ctx, next) {
    try {
      await next();
      const unserved = unservedError(ctx);
      if (unserved) send(ctx, unserved);
    } catch (thrown) {
      const error = toStatusError(thrown);
      if (error.code === 'INTERNAL') log.error({ requestId: ctx.state.requestId, err: thrown }, 'request failed');
      else if (error.cause) log.debug({ requestId: ctx.state.requestId, err: error }, 'request refused');
      send(ctx, error);
    }
  };
}

/**
 * Returns the answer to an error: its own details and those that can be derived. `about` is the subject if the error
 * names none, as `server:…`.
 */
export function errorAnswer(error: StatusError, requestId: string, about = ''): ErrorAnswer {
  const [number, httpStatus] = CODES[error.code];
  const { metadata = {}, details = [] } = error.options;
  const retryAfterSeconds = retryAfter(error);
  const all: Detail[] = [
    { '@type': `${DETAIL_TYPE}ErrorInfo`, reason: error.reason, domain: ERROR_DOMAIN, metadata },
    ...details,
    ...derived(error, about),
  ];
  if (retryAfterSeconds !== undefined)
    all.push({ '@type': `${DETAIL_TYPE}RetryInfo`, retryDelay: `${retryAfterSeconds}s` });
  if (error.code === 'INTERNAL') all.push({ '@type': `${DETAIL_TYPE}RequestInfo`, requestId, servingData: '' });
  return {
    httpStatus: error.options.httpStatus ?? httpStatus,
    body: { code: number, message: error.message, details: onePerType(all) },
  };
}

/** The field violations of an error; empty if it is about no field. */
export function violationsOf({ options }: StatusError): FieldViolation[] {
  const details = (options.details ?? []) as { fieldViolations?: FieldViolation[] }[];
  return details.flatMap(({ fieldViolations = [] }) => fieldViolations);
}

/** A refusal because of invalid fields: google.rpc.BadRequest. */
export function invalidFields(violations: FieldViolation[], message = fieldsMessage(violations)): StatusError {
  return new StatusError('INVALID_ARGUMENT', 'INVALID_FIELD', message, {
    metadata: { fields: violations.map(({ field }) => field).join(',') },
    details: [badRequest(violations)],
  });
}

/** Returns the message for programs if only fields are wrong. */
export function fieldsMessage(violations: readonly FieldViolation[]): string {
  return violations.map(({ field, description }) => `${field}: ${description}`).join('; ');
}

/** The error for an unknown path, or for one whose id is invalid. */
export function routeNotFound(): StatusError {
  return new StatusError('NOT_FOUND', 'ROUTE_NOT_FOUND', 'No such address.');
}

function send(ctx: Context, error: StatusError): void {
  const { errors } = (ctx.state.operation ?? {}) as { errors?: ErrorDialect };
  const { httpStatus, body } =
    errors?.answer(error) ?? errorAnswer(error, ctx.state.requestId as string, subjectOf(ctx));
  const retryAfterSeconds = retryAfter(error);
  ctx.state.reason = error.reason;
  ctx.status = httpStatus;
  ctx.body = body;
  if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(Math.max(1, Math.ceil(retryAfterSeconds))));
  if (error.code === 'UNAUTHENTICATED') ctx.set('WWW-Authenticate', challenge(ctx));
  // The rest of such a body is not read, so the connection cannot be reused.
  if (httpStatus === 408 || httpStatus === 413 || isCutShort(ctx)) ctx.set('Connection', 'close');
}

/** Reports whether the body was read in part. */
function isCutShort({ req }: Context): boolean {
  return !req.complete && req.readableDidRead;
}

/** Returns the seconds until a retry. UNAVAILABLE may be retried blindly (AIP-194), so it always has a value. */
function retryAfter({ code, options }: StatusError): number | undefined {
  return options.retryAfterSeconds ?? (code === 'UNAVAILABLE' ? 1 : undefined);
}

/** Returns the challenge that RFC 9110 §11.6.1 requires. By RFC 6750 §3, it names an error only if a token was sent. */
function challenge(ctx: Context): string {
  return ctx.get('authorization') === '' || ctx.state.reason === 'API_KEY_REQUIRED'
    ? 'ApiKey realm="dormouse"'
    : 'ApiKey realm="dormouse", Bearer realm="dormouse", error="invalid_token"';
}

function toStatusError(thrown: unknown): StatusError {
  if (thrown instanceof StatusError) return thrown;
  if (thrown instanceof HttpError && thrown.status < 500) {
    return new StatusError('INVALID_ARGUMENT', 'INVALID_REQUEST', 'The request cannot be read.', { cause: thrown });
  }
  // The caller has disconnected, and the work for it was cancelled.
  if (thrown instanceof Error && thrown.name === 'AbortError')
    return new StatusError('CANCELLED', 'CALL_ENDED', 'The call was cancelled before it was done.', { cause: thrown });
  return new StatusError('INTERNAL', 'INTERNAL', 'Something went wrong. Report the request ID to the operator.', {
    cause: thrown,
  });
}

/** Returns the error for answers that the router leaves without a body. */
function unservedError(ctx: Context): StatusError | undefined {
  if (ctx.body !== undefined && ctx.body !== null) return undefined;
  if (ctx.status === 404) return routeNotFound();
  if (ctx.status === 405) return unimplemented('METHOD_NOT_ALLOWED', 'This address does not support this method.', 405);
  if (ctx.status === 501) return unimplemented('METHOD_UNKNOWN', 'This method is unknown.', 501);
  return undefined;
}

function unimplemented(reason: string, message: string, httpStatus: number): StatusError {
  return new StatusError('UNIMPLEMENTED', reason, message, { httpStatus });
}

/** Returns the subject in the call's address, else the caller's account; '' if there is neither. */
function subjectOf(ctx: Context): string {
  const { path = '' } = (ctx.state.operation ?? {}) as { path?: string };
  const { id, accountId = ctx.state.accountId } = (ctx.params ?? {}) as Record<string, string | undefined>;
  if (path.includes('/servers/{id}')) return `server:${id}`;
  return accountId === undefined ? '' : `account:${accountId}`;
}

function derived(error: StatusError, about: string): Detail[] {
  const { reason, message } = error;
  const { metadata = {} } = error.options;
  const subject = metadata['subject'] ?? named(metadata) ?? about;
  const name = Object.values(metadata).at(-1) ?? about.slice(about.indexOf(':') + 1);
  const resource = resourceInfo(reason.replace(/_(?:NOT_[A-Z]+|EXISTS)$/, '').toLowerCase(), name, message);
  const make: Partial<Record<Code, Detail>> = {
    FAILED_PRECONDITION: preconditionFailure(reason, subject, message),
    RESOURCE_EXHAUSTED: quotaFailure(subject, message),
    ...(name !== '' && { NOT_FOUND: resource, ALREADY_EXISTS: resource }),
  };
  const detail = make[error.code];
  return detail ? [detail] : [];
}

/** Returns the subject named by the metadata: a refusal because of a server names the server. */
function named(metadata: Record<string, string>): string | undefined {
  const key = ['server', 'account', 'node'].find((each) => metadata[each] !== undefined);
  return key && `${key}:${metadata[key]}`;
}

function onePerType(details: Detail[]): Detail[] {
  const first = new Map<string, Detail>();
  for (const detail of details) if (!first.has(detail['@type'])) first.set(detail['@type'], detail);
  return [...first.values()];
}
