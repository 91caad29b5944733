type Json = Record<string, unknown>;

const text: Json = { type: 'string' };
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** The endpoints of device grants as OpenAPI paths: they are no operations, as their errors have a shape of their own. */
export function devicePaths(): Record<string, Json> {
  return {
    '/v1/public/device/start': endpoint('StartDevice', 'Start a device grant', {
      description:
        'RFC 8628 §3.2 with a JSON body of at most 4 KiB. `{}` is for the command line’s own grant, which ' +
        'yields an API key of full scope; other fields without `client_id` are refused. At most 20 an hour by client address.',
      body: [JSON_TYPE, object({ client_id: text, scope: { ...text, default: 'servers:list' } })],
      reply: STARTED,
      errors: ['invalid_client', 'invalid_scope', 'invalid_request', 'invalid body'],
      limited: true,
    }),
    '/v1/public/device/poll': endpoint('PollDevice', 'Ask for the token', {
      description:
        'RFC 8628 §3.4 with a JSON body. The token is given once; where its answer was cut ' +
        'off, the same one is given again within a minute. On `slow_down` add 5 s to the interval.',
      body: [JSON_TYPE, object({ device_code: text }, ['device_code'])],
      reply: TOKEN,
      errors: [...POLL_ERRORS, 'invalid_request', 'invalid body'],
    }),
    '/oauth/device_authorization': endpoint('DeviceAuthorization', 'Start a device grant, as RFC 8628 has it', {
      description: 'RFC 8628 §3.1, for registered apps. Shares its limit with `/v1/public/device/start`.',
      body: [FORM_TYPE, object({ client_id: text, scope: text }, ['client_id'])],
      reply: STARTED,
      errors: ['invalid_client', 'invalid_scope', 'invalid_request'],
      limited: true,
    }),
    '/oauth/token': endpoint('DeviceToken', 'Ask for the token, as RFC 8628 has it', {
      description: 'RFC 8628 §3.4, for registered apps.',
      body: [
        FORM_TYPE,
        object({ grant_type: text, device_code: text, client_id: text }, ['grant_type', 'device_code', 'client_id']),
      ],
      reply: TOKEN,
      errors: [...POLL_ERRORS, 'invalid_client', 'invalid_grant', 'invalid_request', 'unsupported_grant_type'],
    }),
    '/oauth/revoke': endpoint('RevokeToken', 'End a token, as RFC 7009 has it', {
      description: 'RFC 7009 §2.1, for an app that signs its user out. A token that is none is answered alike.',
      body: [FORM_TYPE, object({ token: text, token_type_hint: text, client_id: text }, ['token', 'client_id'])],
      reply: object({}),
      errors: ['invalid_client', 'invalid_request', 'unsupported_token_type'],
    }),
    '/.well-known/oauth-authorization-server': {
      get: {
        operationId: 'OAuthMetadata',
        tags: ['public'],
        summary: 'OAuth metadata (RFC 8414)',
        description: 'All that an OAuth library needs to know of the device grant here.',
        security: [],
        responses: { '200': { description: 'Done.', ...content(JSON_TYPE, { type: 'object' }) } },
      },
    },
  };
}

const POLL_ERRORS = ['authorization_pending', 'slow_down', 'access_denied', 'expired_token'];

const STARTED = object(
  {
    device_code: text,
    user_code: text,
    verify_url: { ...text, deprecated: true },
    verification_uri: text,
    verification_uri_complete: text,
    expires_in: { type: 'integer', description: 'Seconds.' },
    interval: { type: 'integer', description: 'Seconds.' },
  },
  ['device_code', 'user_code', 'verify_url', 'verification_uri', 'verification_uri_complete', 'expires_in', 'interval'],
);

const TOKEN = object(
  {
    access_token: text,
    token_type: { ...text, description: '`Bearer`; `ApiKey` for the command line.' },
    scope: text,
    expires_in: {
      type: 'integer',
      description:
        'Seconds from the last use on, for an app’s token; each use begins them anew. A key does not expire.',
    },
    api_key: {
      ...text,
      description: 'For the command line only: the same as `access_token`, for the header x-api-key.',
    },
  },
  ['access_token', 'token_type', 'scope'],
);

interface Endpoint {
  description: string;
  body: [type: string, schema: Json];
  reply: Json;
  /** What `error` can be with status 400. */
  errors: string[];
  /** Whether 429 can come. */
  limited?: boolean;
}

function endpoint(operationId: string, summary: string, { description, body, reply, errors, limited }: Endpoint): Json {
  const error = (...values: string[]) => content(JSON_TYPE, object({ error: { ...text, enum: values } }, ['error']));
  return {
    post: {
      operationId,
      tags: ['public'],
      summary,
      description,
      security: [],
      requestBody: { required: true, ...content(...body) },
      responses: {
        '200': { description: 'Done.', ...content(JSON_TYPE, reply) },
        '400': { description: 'Refused, or not decided yet.', ...error(...errors) },
        ...(limited && {
          '429': {
            description: 'Too many.',
            headers: { 'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } } },
            ...error('rate_limited'),
          },
        }),
        '500': { description: 'Trouble here; try again.', ...error('server_error') },
      },
    },
  };
}

function object(properties: Record<string, Json>, required: string[] = []): Json {
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

function content(type: string, schema: Json): Json {
  return { content: { [type]: { schema } } };
}
