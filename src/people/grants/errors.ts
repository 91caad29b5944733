import * as z from 'zod';
import { type Described, type ErrorDialect, violationsOf } from '../../http/errors.ts';
import { StatusError } from '../../kernel/status.ts';

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
