import * as z from 'zod';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import {
  grantError,
  grantErrors,
  DEVICE_BODY_BYTES,
  type DeviceNeeds,
  NO_STORE,
  POLL_REFUSALS,
  Started,
  Token,
  startGrant,
  takeStart,
  tokenReply,
} from './messages.ts';

const Start = z
  .looseObject({
    // Any other client_id must not be treated as a missing one, which requests far more.
    client_id: z.string('invalid_client').optional(),
    scope: z.preprocess(scopeText, z.string().meta({ default: 'servers:list' })).optional(),
  })
  // An app that misspells its client_id must not request full access by accident, which requires an empty object.
  .refine((fields) => fields.client_id !== undefined || Object.keys(fields).length === 0)
  .meta({ additionalProperties: undefined });

export const StartDevice = operation({
  id: 'StartDevice',
  method: 'post',
  path: '/v1/public/device/start',
  auth: 'none',
  summary: 'Start a device grant',
  description:
    'RFC 8628 §3.2 with a JSON body of at most 4 KiB. `{}` starts the grant of the command line, which yields an ' +
    'API key with full scope. Other fields without `client_id` are refused. Limited to 20 per hour for each ' +
    'client address.',
  takes: 'object',
  body: Start,
  bodyLimitBytes: DEVICE_BODY_BYTES,
  reply: Started,
  answerHeaders: NO_STORE,
  errors: grantErrors(['invalid_client', 'invalid_scope', 'invalid_request', 'invalid body'], { limited: true }),
});

export const PollDevice = operation({
  id: 'PollDevice',
  method: 'post',
  path: '/v1/public/device/poll',
  auth: 'none',
  summary: 'Poll for the token',
  description:
    'RFC 8628 §3.4 with a JSON body. The token is returned once. If the response was interrupted, the same token ' +
    'is returned again within a minute. After `slow_down`, add 5 s to the interval.',
  takes: 'object',
  body: z.object({ device_code: z.string() }),
  bodyLimitBytes: DEVICE_BODY_BYTES,
  reply: Token,
  answerHeaders: NO_STORE,
  errors: grantErrors([...POLL_REFUSALS, 'invalid_request', 'invalid body']),
});

/**
 * Device authorization (RFC 8628) with JSON bodies; `oauth-api.ts` has the RFC's own format. Errors are `{ error }`. The
 * body's size is limited before any other work.
 */
export const deviceGrantOperations = (needs: DeviceNeeds): readonly Served[] => [
  serve(
    StartDevice,
    ({ body, caller }) => startGrant(needs, caller, { clientId: body.client_id ?? null, scope: body.scope ?? '' }),
    (caller) => takeStart(needs, caller),
  ),
  serve(PollDevice, async ({ body, received }) => {
    const polled = await needs.grants.poll(body.device_code, undefined, received());
    // The reference's list of errors is closed. Clients start over for unknown codes as for expired ones.
    if ('error' in polled && polled.error === 'invalid_grant') throw grantError('expired_token');
    return tokenReply(polled);
  }),
];

/**
 * Null and empty request the default. Text that is no scope at all is converted to an invalid one, so that a bad
 * client_id is reported first.
 */
function scopeText(scope: unknown): string {
  if (scope === undefined || scope === null) return '';
  return typeof scope === 'string' ? scope : '?';
}
