import * as z from 'zod';
import { type Described, type ErrorDialect, violationsOf } from '../http/errors.ts';
import type { Visitor } from '../http/session/visitor.ts';
import { addressKey } from '../kernel/ip.ts';
import { StatusError } from '../kernel/status.ts';
import type { Grants } from './grants.ts';
import type { StartLimit } from './limits.ts';

/** Dependencies of starting and polling device grants, in both formats. */
export interface DeviceNeeds {
  grants: Grants;
  /** Shared by both formats. */
  startLimit: StartLimit;
  config: { baseUrl: string };
}

/** Size limit of a device's request. */
export const DEVICE_BODY_BYTES = 4_096;
/** RFC 6749 §5.1. */
export const NO_STORE = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };
/** RFC 8628 §3.5. */
export const POLL_REFUSALS = ['authorization_pending', 'slow_down', 'access_denied', 'expired_token'] as const;

const seconds = z.int().meta({ minimum: undefined, maximum: undefined });

/** RFC 8628 §3.2. */
export const Started = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verify_url: z.string().meta({ deprecated: true }),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: seconds.describe('Seconds.'),
  interval: seconds.describe('Seconds.'),
});

/**
 * RFC 6749 §5.1, without the lifetime, which would count from this answer on: tokens only expire when unused. An API
 * key is not a bearer token: it is sent in the header `x-api-key`.
 */
export const Token = z.object({
  access_token: z.string(),
  token_type: z.string().describe('`Bearer`; `ApiKey` for the command line.'),
  scope: z.string(),
  api_key: z
    .string()
    .describe('For the command line only: the same as `access_token`, for the header x-api-key.')
    .optional(),
});

/** Counts a start by its caller. Throws RESOURCE_EXHAUSTED. */
export function takeStart({ startLimit }: DeviceNeeds, { address }: Visitor): Promise<void> {
  return startLimit.take(addressKey(address));
}

/** Starts a grant. Addresses come from the settings, because a request's host is chosen by the caller. */
export async function startGrant(
  { grants, config: { baseUrl } }: DeviceNeeds,
  { address, userAgent }: Visitor,
  wanted: { clientId: string | null; scope: string },
): Promise<z.input<typeof Started>> {
  const started = await grants.start({ ...wanted, ip: address, userAgent });
  if ('error' in started) throw grantError(started.error);
  const complete = `${baseUrl}/device?code=${started.userCode}`;
  return {
    device_code: started.deviceCode,
    user_code: started.userCode,
    verify_url: complete,
    verification_uri: `${baseUrl}/device`,
    verification_uri_complete: complete,
    expires_in: started.expiresInMs / 1_000,
    interval: started.intervalMs / 1_000,
  };
}

/** Returns the answer to a poll. */
export function tokenReply(polled: Awaited<ReturnType<Grants['poll']>>): z.input<typeof Token> {
  if ('error' in polled) throw grantError(polled.error);
  const { kind, token, scope } = polled;
  return kind === 'app'
    ? { access_token: token, token_type: 'Bearer', scope }
    : { access_token: token, api_key: token, token_type: 'ApiKey', scope };
}

/** The error for any other fault of a call (RFC 6749 §5.2). */
const FAULT = 'invalid_request';
/** The description for a body that is not a JSON object. */
const INVALID_BODY = 'invalid body';
const RATE_LIMITED = 'rate_limited';
const SERVER_ERROR = 'server_error';

/** Returns the error for a code of RFC 6749 §5.2, RFC 8628 §3.5 or RFC 7009 §2.2.1. */
export function grantError(error: string): StatusError {
  return new StatusError('INVALID_ARGUMENT', error.toUpperCase(), 'The device grant is refused or pending.');
}

/**
 * Errors as `{ error }` (RFC 6749 §5.2). `refusals`: the values possible with status 400; a field's schema may name the
 * value for its field. `limited`: whether 429 is possible.
 */
export function grantErrors(refusals: readonly string[], { limited = false } = {}): ErrorDialect {
  const unreadable = refusals.includes(INVALID_BODY) ? INVALID_BODY : FAULT;

  function refusal(error: StatusError): string {
    const isField = error.reason === 'INVALID_FIELD';
    const name = isField ? (violationsOf(error)[0]?.description ?? '') : error.reason.toLowerCase();
    if (refusals.includes(name)) return name;
    return isField ? FAULT : unreadable;
  }

  return {
    answer(error) {
      if (error.code === 'RESOURCE_EXHAUSTED') return { httpStatus: 429, body: { error: RATE_LIMITED } };
      const isRefusal = error.code === 'INVALID_ARGUMENT' || error.code === 'CANCELLED';
      if (!isRefusal) return { httpStatus: 500, body: { error: SERVER_ERROR } };
      return { httpStatus: 400, body: { error: refusal(error) } };
    },
    described: {
      '400': described('Refused or pending.', refusals),
      ...(limited && { '429': { ...described('Too many requests.', [RATE_LIMITED]), headers: RETRY_AFTER } }),
      '500': described('Internal error. Try again.', [SERVER_ERROR]),
    },
  };
}

const RETRY_AFTER = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } };

function described(description: string, errors: readonly string[]): Described {
  return { description, reply: z.object({ error: z.enum(errors) }) };
}
