import { type Described, ErrorStatus } from './errors.ts';
import { Components } from './openapi-schemas.ts';
import { FORM, type KeyOperation, type Method, type Operation, type SessionOperation } from './operation.ts';
import { CSRF_HEADER } from './session/csrf.ts';
import { sessionCookieName } from './session/session-cookie.ts';

type Json = Record<string, unknown>;

const TAGS = [
  { name: 'control', description: 'Operations for API keys, within their scopes.' },
  { name: 'account', description: 'Further operations for API keys on their account, within their scopes.' },
  { name: 'session', description: 'Operations for the panel. They accept a session cookie but no API key.' },
  { name: 'public', description: 'Operations without authentication.' },
  {
    name: 'operator',
    description: 'Operations for operators, with a key that has the scope `operator` or a signed-in session.',
  },
];

const DESCRIPTION = [
  'Minecraft servers that sleep until someone joins.',
  'Fields of format int64 are decimal strings. Request messages may use snake_case names. `null` means unset. Unknown',
  'fields are ignored. Errors are google.rpc.Status (AIP-193). `code` is the number of the google.rpc.Code, and the',
  'first detail is an ErrorInfo with a stable `reason`.',
].join('\n');

const JSON_TYPE = 'application/json';
const BYTES = 'application/octet-stream';
const EVENTS = 'text/event-stream';

const RANGE: Json = {
  name: 'Range',
  in: 'header',
  required: false,
  description: 'One byte range (RFC 9110 §14.2). With `If-Range`, a changed file is sent completely.',
  schema: { type: 'string', examples: ['bytes=0-1023'] },
};

/** Additional answers to a request for a file's content. */
const PARTS: Json = {
  '206': {
    description: 'The requested range.',
    content: { [BYTES]: { schema: { type: 'string', format: 'binary' } } },
  },
  '304': { description: 'The file has not changed since the version in `If-None-Match`.' },
  '416': { description: 'The range is outside the file.' },
};

const ERROR: Json = { default: { $ref: '#/components/responses/Error' } };

/** Describes this document's own path, which is served as constant bytes and is no operation. */
const DOCUMENT: Json = {
  '/openapi.json': {
    get: {
      operationId: 'OpenApi',
      tags: ['public'],
      summary: 'This document',
      description: 'Generated from the operations. `/docs` is the readable version.',
      security: [],
      responses: { '200': { description: 'Done.', ...json({ type: 'object' }) } },
    },
  },
};

/** Generates the OpenAPI 3.1 document from the operations. */
export function openapiDocument({ baseUrl }: { baseUrl: string }, operations: readonly Operation[]): Json {
  const components = new Components();
  const error = { description: 'Refused or failed.', ...json(components.reply(ErrorStatus)) };
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    (paths[operation.path] ??= {})[operation.method] = {
      operationId: operation.id,
      tags: [tagOf(operation)],
      ...(operation.auth === 'key' && operation.section !== undefined && { 'x-section': operation.section }),
      summary: operation.summary,
      ...access(operation),
      parameters: [
        ...components.parameters(operation.params, 'path'),
        ...components.parameters(operation.query, 'query'),
        ...(operation.auth === 'none' ? components.parameters(operation.headers, 'header') : []),
        ...('answers' in operation && operation.answers === 'bytes' ? [RANGE] : []),
      ],
      ...(operation.method === 'post' && { requestBody: requestBody(components, operation) }),
      responses: {
        '200': { description: 'Done.', ...content(components, operation) },
        ...(operation.precondition !== undefined && refusal(operation.precondition)),
        ...('answers' in operation && operation.answers === 'bytes' && PARTS),
        ...('also' in operation && described(components, operation.also)),
        ...('errors' in operation ? described(components, operation.errors?.described) : ERROR),
      },
    };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Dormouse',
      version: 'v1',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: TAGS,
    security: [{ apiKey: [] }],
    paths: { ...paths, ...DOCUMENT },
    components: {
      schemas: components.schemas,
      responses: { Error: error },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key, `dmk_…`.' },
        appToken: { type: 'http', scheme: 'bearer', description: 'An app token, `dma_…`.' },
        session: { type: 'apiKey', in: 'cookie', name: sessionCookieName(baseUrl), description: 'Set by SignIn.' },
        csrf: { type: 'apiKey', in: 'header', name: CSRF_HEADER, description: 'The `csrfToken` from GetMe.' },
      },
    },
  };
}

function tagOf(operation: Operation): string {
  if (operation.auth === 'none') return 'public';
  if (operation.auth === 'session') return 'session';
  if (operation.scope === 'operator') return 'operator';
  return operation.section === undefined ? 'account' : 'control';
}

function access(operation: Operation): Json {
  if (operation.auth === 'none') return { description: operation.description, security: [] };
  return operation.auth === 'session' ? sessionAccess(operation) : keyAccess(operation);
}

function keyAccess({ description, method, scope, alsoScopes, appScope, ...operation }: KeyOperation): Json {
  const { keyOnly, bearerKey, role } = operation;
  const also = Object.entries(alsoScopes ?? {}).map(([each, when]) => `\`${each}\` for ${when}`);
  const sentences = [scope === 'any' ? 'Accepts any valid credential.' : `Needs the scope \`${scope}\`.`];
  if (also.length > 0) sentences.push(`Also needs ${also.join(' and ')}.`);
  if (appScope !== undefined && appScope !== 'any') sentences.push(`Apps need the scope \`${appScope}\`.`);
  if (scope === 'operator') sentences.push('Also accepts an operator’s session.');
  if (bearerKey) sentences.push('The API key may also be sent as a Bearer token.');
  if (keyOnly) sentences.push('Accepts only API keys. A Bearer token is refused (401).');
  if (role !== undefined) sentences.push(`On the server, needs the role \`${role}\`.`);
  return {
    description: `${description}\n\n${sentences.join(' ')}`,
    'x-required-scope': scope,
    ...(alsoScopes !== undefined && { 'x-also-required-scopes': alsoScopes }),
    ...(role !== undefined && { 'x-required-role': role }),
    ...(appScope !== undefined && { security: [{ apiKey: [] }, { appToken: [] }] }),
    ...(scope === 'operator' && { security: [{ apiKey: [] }, sessionSecurity(method)] }),
  };
}

function sessionAccess({ description, method, signedIn }: SessionOperation): Json {
  if (!signedIn) return { description, security: [] };
  return { description, security: [sessionSecurity(method)] };
}

function sessionSecurity(method: Method): Json {
  return method === 'get' ? { session: [] } : { session: [], csrf: [] };
}

function requestBody(components: Components, { body, example, takes }: Operation): Json {
  if (takes === 'bytes') return { content: { [BYTES]: { schema: { type: 'string', format: 'binary' } } } };
  const content = { schema: components.request(body), ...(example !== undefined && { example }) };
  const required = takes !== undefined || !body.safeParse({}).success;
  return { required, content: { [takes === 'form' ? FORM : JSON_TYPE]: content } };
}

function content(components: Components, operation: Operation): Json {
  const schema = components.reply(operation.reply);
  const answers = 'answers' in operation ? operation.answers : 'message';
  if (answers === 'bytes') return { content: { [BYTES]: { schema } } };
  if (answers === 'text') return { content: { 'text/plain': { schema } } };
  if (answers === 'events') return { content: { [EVENTS]: eventsOf(components, operation, schema) } };
  return json(schema);
}

function described(components: Components, answers: Readonly<Record<string, Described>> = {}): Json {
  return mapValues(answers, ({ reply, ...rest }) => ({ ...rest, ...json(components.reply(reply)) }));
}

/**
 * Describes a stream with the object in each event's `data`. OpenAPI supports that only from 3.2, which few programs
 * read.
 */
function eventsOf(components: Components, { events }: Operation, schema: Json): Json {
  if (events === undefined) return { schema };
  const kinds = mapValues(events, (event) => components.reply(event));
  const schemas = Object.values(kinds);
  const data = { type: 'array', items: schemas.length > 1 ? { anyOf: schemas } : schemas[0] };
  return { schema: { ...schema, contentMediaType: EVENTS, contentSchema: data }, 'x-events': kinds };
}

/** Describes the answer to a valid call that the current state does not allow. */
function refusal(precondition: string): Json {
  return {
    '400': {
      description: `Invalid request (INVALID_ARGUMENT) or unmet condition (FAILED_PRECONDITION): ${precondition}`,
      ...json({ $ref: '#/components/schemas/ErrorStatus' }),
    },
  };
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, convert: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, convert(value)]));
}

/** Describes a JSON message as content. */
function json(schema: Json): Json {
  return { content: { [JSON_TYPE]: { schema } } };
}
