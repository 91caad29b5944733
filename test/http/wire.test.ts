import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import * as z from 'zod';
import { readBody } from '../../src/http/body.ts';
import { openapiDocument } from '../../src/http/openapi.ts';
import type { Principal } from '../../src/http/principal.ts';
import { createCallerRate, keyRate } from '../../src/http/rate-limit.ts';
import { replyOf } from '../../src/http/reply.ts';
import { KEY_SCOPES } from '../../src/http/scopes.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { OPERATIONS } from '../../src/reference.ts';
import type { Store } from '../../src/store/store.ts';
import { fakeClock } from '../fakes/clock.ts';
import { type Answer, api } from '../support/api-harness.ts';
import * as fc from '../support/property.ts';

const operations = OPERATIONS.filter((operation) => operation.auth === 'key');

const SMALL = { name: 'abc', ramMb: 256 };

/** A store that fails to read users. */
function withoutUsers(store: Store, error: Error): Store {
  return {
    ...store,
    async query<Row>(sql: string, parameters?: unknown[]) {
      if (sql.includes('FROM "users" WHERE "id"')) throw error;
      return await store.query<Row>(sql, parameters);
    },
  };
}

function assertStatusBody(answer: Answer): string | undefined {
  const { code, message, details } = answer.json as { code: unknown; message: unknown; details: { '@type': string }[] };
  if (answer.headers.get('content-type') !== 'application/json; charset=utf-8') return 'content type';
  if (typeof code !== 'number' || typeof message !== 'string' || message === '') return 'code or message';
  const types = details.map((detail) => detail['@type']);
  if (types[0] !== 'type.googleapis.com/google.rpc.ErrorInfo') return 'no ErrorInfo first';
  if (new Set(types).size !== types.length) return 'a detail twice';
  if (!/^[A-Z][A-Z0-9_]+[A-Z0-9]$/.test(answer.reason)) return 'reason';
  return undefined;
}

test('URLs with verbs and their lookalikes return the expected status', async (t) => {
  const { ok, call, reach } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  const expected: [method: string, path: string, status: number, code?: number][] = [
    ['POST', '/v1/servers/abc:start', 200],
    ['POST', '/v1/servers/%61bc:start', 200],
    ['POST', '/v1/servers/abc%3astart', 200],
    ['POST', '/v1/servers/abc%3Astart', 200],
    ['POST', '/v1/servers/a:b:start', 404, 5],
    ['POST', '/v1/servers/a%2Fb:start', 404, 5],
    ['POST', '/v1/servers/..%2F:start', 404, 5],
    ['POST', '/v1/servers/a%00b:start', 404, 5],
    ['POST', '/v1/servers/%0d%0a:start', 404, 5],
    ['POST', '/v1/servers/abc;v=1:start', 404, 5],
    ['POST', '/v1/servers/%zz:start', 404, 5],
    ['POST', '/v1/servers/%E0%A4%A:start', 404, 5],
    ['POST', '/v1/servers/:start', 404, 5],
    ['GET', '/v1/servers/abc:start', 405, 12],
    ['HEAD', '/v1/servers/abc:start', 405],
    ['DELETE', '/v1/servers/abc:start', 405, 12],
    ['DELETE', '/v1/servers/abc%3Astart', 405, 12],
    ['POST', '/v1/servers/abc:bogus', 404, 5],
    ['GET', '/v1/servers/abc:bogus', 404, 5],
    ['POST', '/v1/servers/abc:START', 404, 5],
    ['PUT', '/v1/servers/abc', 405, 12],
    ['PATCH', '/v1/servers', 405, 12],
    ['GET', '/V1/Servers/abc', 404, 5],
    ['GET', '/v1/servers/abc/', 404, 5],
    ['POST', '/v1/servers/abc:start/', 404, 5],
    ['GET', '/v2/servers/abc', 404, 5],
    ['GET', '/nowhere', 404, 5],
    ['GET', '/v1', 404, 5],
    ['POST', '/', 404, 5],
    ['PROPFIND', '/v1/servers/abc', 501, 12],
    ['OPTIONS', '/v1/servers/abc', 200],
    ['HEAD', '/v1/servers/abc', 200],
    ['GET', '/v1/servers/abc', 200],
  ];
  for (const [method, path, status, code] of expected) {
    const answer = await call(method, path);
    t.is(answer.status, status, `${method} ${path}: ${answer.text}`);
    t.is(answer.json['code'], code ?? (undefined as unknown), `${method} ${path}`);
    if (code !== undefined) t.is(assertStatusBody(answer), undefined, `${method} ${path}`);
  }
  t.is((await call('PUT', '/v1/servers/abc')).headers.get('allow'), 'HEAD, GET, DELETE');
  t.is((await call('DELETE', '/v1/servers/abc:start')).status, 405);
  t.is((await call('GET', '/v1/servers/abc')).status, 200, 'the server still exists');
  await reach('abc', 'running');
});

test('`Allow` names exactly the methods that a URL serves', async (t) => {
  const { ok, call, port } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  const allow = async (method: string, path: string) => {
    const { status, headers } = await call(method, path);
    return [status, headers.get('allow')];
  };
  t.deepEqual(await allow('OPTIONS', '/v1/servers/abc:start'), [200, 'POST']);
  t.deepEqual(await allow('OPTIONS', '/v1/servers/abc%3Astart'), [200, 'POST']);
  t.deepEqual(await allow('PUT', '/v1/servers/abc:start'), [405, 'POST']);
  t.deepEqual(await allow('GET', '/v1/servers/abc:start'), [405, 'POST']);
  t.deepEqual(await allow('OPTIONS', '/v1/servers/abc'), [200, 'HEAD, GET, DELETE']);
  t.deepEqual(await allow('OPTIONS', '/v1/servers/abc:bogus'), [404, null]);
  t.deepEqual(await allow('PUT', '/v1/servers/abc:bogus'), [404, null]);
  t.deepEqual(await allow('OPTIONS', '/v1/session/me'), [200, 'HEAD, GET']);
  t.deepEqual(await allow('PROPFIND', '/v1/servers/abc:start'), [501, 'POST']);
  for (const [path, expected] of [
    ['/v1/servers/abc', /^HTTP\/1\.1 405 [^]*\r\nAllow: HEAD, GET, DELETE\r\n[^]*"code":12/],
    ['/v1/servers/abc:start', /^HTTP\/1\.1 405 [^]*\r\nAllow: POST\r\n/],
    ['/healthz', /^HTTP\/1\.1 405 [^]*\r\nAllow: HEAD, GET\r\n/],
    ['/nowhere', /^HTTP\/1\.1 404 /],
  ] as const) {
    t.regex(await rawHttp(port, `TRACE ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`), expected, path);
  }
});

test('each documented URL allows exactly its documented methods', async (t) => {
  const { call } = await api(t);
  const at = Map.groupBy(OPERATIONS, ({ path }) => path.replaceAll(/\{\w+\}/g, 'x1'));
  for (const [path, those] of at) {
    const methods = (await call('OPTIONS', path)).headers.get('allow')?.split(', ') ?? [];
    const named = those.flatMap(({ method }) => (method === 'get' ? ['HEAD', 'GET'] : [method.toUpperCase()]));
    t.deepEqual(methods.toSorted(), named.toSorted(), path);
  }
});

test('a method override header is ignored', async (t) => {
  const { ok, call } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  await call('GET', '/v1/servers/abc', { headers: { 'x-http-method-override': 'DELETE' } });
  await call('POST', '/v1/servers/abc', { headers: { 'x-http-method-override': 'DELETE' } });
  t.is((await call('GET', '/v1/servers/abc')).status, 200);
});

const bodies = test.macro({
  exec: async (
    t,
    raw: string | Uint8Array,
    status: number,
    reason: string,
    headers: Record<string, string> = {},
    path?: string,
  ) => {
    const { call } = await api(t);
    const answer = await call('POST', path ?? '/v1/servers', { raw, headers });
    t.deepEqual([answer.status, answer.reason], [status, reason], answer.text);
    if (status !== 200) t.is(answer.json['code'], 3);
  },
  title: (name) => `body: ${name}`,
});

const gzip = { 'content-encoding': 'gzip' };
const CREATE = '{"name":"abc","ramMb":256}';
test('two values', bodies, '{"a":1}{"b":2}', 400, 'INVALID_JSON');
test('a list', bodies, '[]', 400, 'INVALID_JSON');
test('a string', bodies, '"x"', 400, 'INVALID_JSON');
test('null', bodies, 'null', 400, 'INVALID_JSON');
test('truncated JSON', bodies, '{"name":', 400, 'INVALID_JSON');
test(
  'nested too deeply',
  bodies,
  `{"name":"abc","ramMb":256,"x":${'['.repeat(1500)}${']'.repeat(1500)}}`,
  400,
  'INVALID_JSON',
);
test(
  'nested as deeply as allowed',
  bodies,
  `{"name":"abc","ramMb":256,"x":${'['.repeat(99)}${']'.repeat(99)}}`,
  200,
  '',
);
test('a fraction', bodies, '{"name":"abc","ramMb":1.5}', 400, 'INVALID_FIELD');
test('a number beyond 32 bits', bodies, '{"name":"abc","ramMb":2147483648}', 400, 'INVALID_FIELD');
test('a number as text', bodies, '{"name":"abc","ramMb":"2048"}', 200, '');
test('a number as text with an exponent', bodies, '{"name":"abc","ramMb":"2.56e2"}', 200, '');
test('null for a required field', bodies, '{"name":"abc","ramMb":null}', 400, 'INVALID_FIELD');
test('invalid UTF-8', bodies, Buffer.from('7b226e616d65223a22ff227d', 'hex'), 400, 'INVALID_JSON');
test('a lone surrogate', bodies, '{"name":"a\\ud800","ramMb":256}', 400, 'INVALID_FIELD');
test('an infinite number', bodies, '{"name":"abc","ramMb":1e999}', 400, 'INVALID_FIELD');
test('empty despite required fields', bodies, '', 400, 'INVALID_FIELD');
test('unknown fields', bodies, '{"name":"abc","ramMb":256,"nonsense":{"a":[1]}}', 200, '');
test('both spellings of a field', bodies, '{"name":"abc","ram_mb":1,"ramMb":256}', 200, '');
test('as text/plain', bodies, CREATE, 200, '', { 'content-type': 'text/plain' });
test('as a form', bodies, CREATE, 200, '', { 'content-type': 'application/x-www-form-urlencoded' });
test('gzip', bodies, gzipSync(CREATE), 200, '', gzip);
test('invalid gzip', bodies, CREATE, 400, 'INVALID_BODY', gzip);
test('truncated gzip', bodies, gzipSync(CREATE).subarray(0, 20), 400, 'INVALID_BODY', gzip);
test('brotli', bodies, CREATE, 415, 'UNSUPPORTED_ENCODING', { 'content-encoding': 'br' });
const SMALL_BODY = '/v1/servers/abc:command';
test('too long', bodies, ' '.repeat(70_000), 413, 'BODY_TOO_LARGE', {}, SMALL_BODY);
test('far too long', bodies, ' '.repeat(3_000_000), 413, 'BODY_TOO_LARGE', {}, SMALL_BODY);
test('a gzip bomb', bodies, gzipSync(Buffer.alloc(50_000_000)), 413, 'BODY_TOO_LARGE', gzip, SMALL_BODY);

test('the largest documented lists of paths and properties fit the body limit', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const deep = Array.from({ length: 16 }, () => 'n'.repeat(250)).join('/');
  const paths = Array.from({ length: 1_000 }, (_, n) => `${deep}/${n}`);
  const packed = await it.call('POST', '/v1/servers/abc/file:archive', { body: { paths, to: 'a.zip' } });
  t.is(packed.reason, 'PATH_NOT_FOUND', packed.text.slice(0, 200));
  const names = Array.from({ length: 128 }, (_, n) => [`property-${n}`, '漢'.repeat(4_096)]);
  const properties = Object.fromEntries(names) as Record<string, string>;
  const set = await it.call('POST', '/v1/servers/abc:setProperties', { body: { properties } });
  t.is(set.reason, 'INVALID_FIELD', set.text.slice(0, 200));
  const made = await it.call('POST', '/v1/servers', { body: { name: 'b', ramMb: 256, properties } });
  t.is(made.reason, 'INVALID_FIELD', made.text.slice(0, 200));
});

test('names such as __proto__ and constructor in a body do not pollute prototypes', async (t) => {
  const { call } = await api(t);
  for (const raw of [
    '{"name":"abc","ramMb":256,"__proto__":{"polluted":1},"properties":{"__proto__":"x"}}',
    '{"name":"abc","ramMb":256,"constructor":{"prototype":{"polluted":1}}}',
  ]) {
    const { status, json } = await call('POST', '/v1/servers', { raw });
    t.is(status, 200);
    t.false(Object.hasOwn(json['properties'] as object, '__proto__'));
  }
  t.is(({} as Record<string, unknown>)['polluted'], undefined);
  const known = await call('POST', '/v1/servers', {
    body: { name: 'a', ramMb: 256, properties: { constructor: 'y' } },
  });
  t.is(known.reason, 'INVALID_FIELD');
});

test('arbitrary request bodies never cause a server error', async (t) => {
  const { call } = await api(t);
  const anything = fc.oneof(
    fc.json(),
    fc.string(),
    fc.object().map((value) => JSON.stringify(value)),
  );
  const message = fc
    .dictionary(fc.constantFrom('name', 'ramMb', 'ram_mb', 'id', 'type', 'properties', 'motd'), fc.jsonValue())
    .map((value) => JSON.stringify(value));
  await fc.assert(
    fc.asyncProperty(fc.oneof(anything, message), async (raw) => {
      const { status, reason } = await call('POST', '/v1/servers', { raw });
      return status < 500 && (status === 200) === (reason === '');
    }),
    { numRuns: 150 },
  );
  t.pass();
});

test('forwarded host headers are not reflected in responses', async (t) => {
  const { ok, call } = await api(t);
  await ok('POST', '/v1/servers', SMALL);
  const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'evil', forwarded: 'host=evil.example' };
  for (const path of ['/v1/servers', '/v1/servers/abc', '/openapi.json', '/nowhere', '/readyz']) {
    const answer = await call('GET', path, { headers });
    t.notRegex(answer.text + JSON.stringify([...answer.headers]), /evil/, path);
  }
});

test('a key’s rate limit ignores forwarded addresses and recovers with time', async (t) => {
  const { call, clock, mint } = await api(t, { rate: { perSecond: 2, burst: 5 } });
  const from = (n: number) => call('GET', '/v1/servers', { headers: { 'x-forwarded-for': `10.0.0.${n}` } });
  for (let n = 0; n < 5; n++) t.is((await from(n)).status, 200);
  const refused = await from(6);
  t.deepEqual([refused.status, refused.reason, refused.headers.get('retry-after')], [429, 'RATE_LIMITED', '1']);
  const types = (refused.json['details'] as { '@type': string }[]).map((detail) => detail['@type'].split('.').at(-1));
  t.deepEqual(types, ['ErrorInfo', 'QuotaFailure', 'RetryInfo']);
  t.is((await call('GET', '/v1/servers', { key: (await mint(['servers:read'])).key })).status, 200, 'another key');
  await clock.advance(1_000);
  t.deepEqual([(await from(7)).status, (await from(8)).status, (await from(9)).status], [200, 200, 429]);
});

test('a key may make three seconds’ worth of calls at once', (t) => {
  const take = createCallerRate(keyRate(100), fakeClock());
  const caller = { kind: 'key', keyId: 'key_1', accountId: 'acc_test' } as Principal;
  for (let n = 0; n < 300; n++) take(caller);
  t.throws(() => take(caller), { message: /Too many calls with this credential/ });
});

test('the keys of an account share twice the rate of one key, and other accounts are not slowed', async (t) => {
  const it = await api(t, { rate: { perSecond: 2, burst: 10 } });
  const keys = await Promise.all(Array.from({ length: 5 }, async () => (await it.mint(['servers:read'])).key));
  const statuses: number[] = [];
  for (const key of keys)
    for (let n = 0; n < 5; n++) statuses.push((await it.call('GET', '/v1/servers', { key })).status);
  t.is(statuses.filter((status) => status === 200).length, 20);
  const refused = await it.call('GET', '/v1/servers', { key: keys[4]! });
  t.like(refused, { status: 429, reason: 'RATE_LIMITED' });
  t.regex(refused.text, /account:acc_test/);
  t.is((await it.call('GET', '/v1/servers', { key: await it.stranger() })).status, 200);
});

test('lists of worlds and audit entries have a lower rate limit than other calls', async (t) => {
  const it = await api(t, { rate: { perSecond: 2, burst: 10 } });
  await it.create('castle');
  for (let n = 0; n < 4; n++) t.is((await it.call('GET', '/v1/servers/castle/worlds')).status, 200);
  t.like(await it.call('GET', '/v1/servers/castle/audit'), { status: 429, reason: 'RATE_LIMITED' });
  t.is((await it.call('GET', '/v1/servers/castle')).status, 200);
});

test('at most 60 unauthenticated calls a minute are logged, with a count of the omitted ones', async (t) => {
  const it = await api(t);
  const refusals = () =>
    it.logged.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ status }) => status === 401);
  for (let n = 0; n < 70; n++) await it.call('GET', '/v1/whoami', { key: null });
  t.is(refusals().length, 60);
  await it.clock.advance(60_000);
  await it.call('GET', '/v1/whoami', { key: null });
  t.is(refusals().at(-1)?.['unlogged'], 10);
});

test('a key header sent twice gets 401', async (t) => {
  const { port, key } = await api(t);
  const answer = await rawHttp(
    port,
    `GET /v1/whoami HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\nx-api-key: ${key}\r\nConnection: close\r\n\r\n`,
  );
  t.regex(answer, /^HTTP\/1\.1 401 /);
});

test('malformed HTTP gets a 4xx answer, and a smuggled second request is not answered', async (t) => {
  const { port, key } = await api(t);
  const smuggled = await rawHttp(
    port,
    `POST /v1/servers HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/whoami HTTP/1.1\r\nHost: x\r\n\r\n`,
  );
  t.regex(smuggled, /^HTTP\/1\.1 400 /);
  t.is(smuggled.match(/HTTP\/1\.1/g)?.length, 1);
  t.regex(smuggled, /"code":3/);
  t.regex(await rawHttp(port, `GET / HTTP/1.1\r\nHost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  t.regex(await rawHttp(port, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /);
});

test('a request is checked in order: address, credential, scope, body, server, state', async (t) => {
  const { ok, call, mint } = await api(t);
  const reader = (await mint(['servers:read'])).key;
  await ok('POST', '/v1/servers', SMALL);
  const ask = async (path: string, key: string | null, raw: string) => {
    const answer = await call('POST', path, { ...(key === '' ? {} : { key }), raw });
    return answer.reason;
  };
  t.is(await ask('/v1/servers/a_b:command', null, '['), 'ROUTE_NOT_FOUND');
  t.is(await ask('/v1/servers/none:command', null, '['), 'CREDENTIAL_MISSING');
  t.is(await ask('/v1/servers/none:command', reader, '['), 'SCOPE_MISSING');
  t.is(await ask('/v1/servers/none:command', '', '['), 'INVALID_JSON');
  t.is(await ask('/v1/servers/none:command', '', '{"command":7}'), 'INVALID_FIELD');
  t.is(await ask('/v1/servers/none:command', '', '{"command":"list"}'), 'SERVER_NOT_FOUND');
  t.is(await ask('/v1/servers/abc:command', '', '{"command":"list"}'), 'SERVER_NOT_RUNNING');
});

test('an internal error returns only a request id, and its cause is logged', async (t) => {
  const { call, logged } = await api(t, {
    world: { store: (store) => withoutUsers(store, new Error('SELECT secret FROM stack')) },
  });
  const answer = await call('GET', '/v1/whoami', { headers: { 'x-request-id': 'my-request.1' } });
  t.deepEqual([answer.status, answer.json['code'], answer.reason], [500, 13, 'INTERNAL']);
  t.is(answer.headers.get('x-request-id'), 'my-request.1');
  t.like((answer.json['details'] as unknown[])[1], {
    '@type': 'type.googleapis.com/google.rpc.RequestInfo',
    requestId: 'my-request.1',
  });
  t.notRegex(answer.text, /SELECT|stack|\.ts/);
  t.true(logged.some((line) => line.includes('SELECT secret') && line.includes('my-request.1')));
});

test('an unavailable store returns 503 with Retry-After', async (t) => {
  const away = new StatusError('UNAVAILABLE', 'STORE_UNAVAILABLE', 'Try again.');
  const { call } = await api(t, { world: { store: (store) => withoutUsers(store, away) } });
  const answer = await call('GET', '/v1/whoami');
  t.deepEqual([answer.status, answer.json['code'], answer.headers.get('retry-after')], [503, 14, '1']);
  t.like((answer.json['details'] as unknown[])[1], { retryDelay: '1s' });
});

test('every response has security headers and a valid request id', async (t) => {
  const { call } = await api(t);
  const ids = new Set<string>();
  for (const path of ['/v1/whoami', '/nowhere', '/readyz', '/healthz']) {
    const { headers } = await call('GET', path, { headers: { 'x-request-id': 'x'.repeat(65) } });
    t.is(headers.get('x-content-type-options'), 'nosniff');
    t.is(headers.get('cache-control'), 'no-store');
    t.is(headers.get('x-frame-options'), 'DENY');
    t.is(headers.get('access-control-allow-origin'), null);
    ids.add(headers.get('x-request-id') ?? '');
  }
  t.is(ids.size, 4);
  for (const id of ids) t.regex(id, /^[\w-]{36}$/);
});

test('the OpenAPI document has an ETag, and a request with a matching one gets 304', async (t) => {
  const { call } = await api(t);
  const path = '/openapi.json';
  const first = await call('GET', path, { key: null });
  const etag = first.headers.get('etag') ?? '';
  t.regex(etag, /^"[\w-]{43}"$/);
  t.is(first.headers.get('content-type'), 'application/json; charset=utf-8');
  t.is(first.headers.get('cache-control'), 'no-cache');
  t.is(first.headers.get('x-content-type-options'), 'nosniff');
  const ask = async (ifNoneMatch: string) => {
    const { status, text, headers } = await call('GET', path, { headers: { 'if-none-match': ifNoneMatch } });
    return [status, text.length > 0, headers.get('etag')];
  };
  t.deepEqual(await ask(etag), [304, false, etag]);
  t.deepEqual(await ask(`"other", W/${etag}`), [304, false, etag]);
  t.deepEqual(await ask('"other"'), [200, true, etag]);
  const head = await call('HEAD', path);
  t.is(head.headers.get('content-length'), String(Buffer.byteLength(first.text)));
});

test('requests are logged by path template, without keys, ids or queries', async (t) => {
  const { call, ok, logged, key } = await api(t);
  await ok('POST', '/v1/servers', { ...SMALL, name: 'secretname' });
  await call('GET', '/v1/servers/secretname/logs?cursor=secretcursor');
  await call('GET', `/secretpath?${key}`);
  const text = logged.join('');
  t.regex(text, /"op":"GetServerLogs","method":"GET","path":"\/v1\/servers\/\{id\}\/logs","status":200/);
  t.notRegex(text, /secret(cursor|path)|dmk_/);
});

test('health needs no credential, and readiness names the unavailable part', async (t) => {
  let engine: () => Promise<void> = async () => {};
  const readiness = { store: async () => {}, engine: () => engine(), proxy: async () => {} };
  const { call, clock } = await api(t, { readiness });
  t.is((await call('GET', '/healthz', { key: null })).status, 200);
  const ready = await call('GET', '/readyz', { key: null });
  t.deepEqual([ready.status, ready.json], [200, { ready: true, parts: { store: 'ok', engine: 'ok', proxy: 'ok' } }]);
  engine = () => {
    throw new Error('secret reason');
  };
  await clock.advance(1_000);
  const down = await call('GET', '/readyz', { key: null });
  t.is(down.status, 503);
  t.deepEqual(down.json, { ready: false, parts: { store: 'ok', engine: 'unavailable', proxy: 'ok' } });
  const asked = Promise.withResolvers<void>();
  engine = () => {
    asked.resolve();
    return new Promise(() => {});
  };
  await clock.advance(1_000);
  const late = call('GET', '/readyz', { key: null });
  await asked.promise;
  await clock.advance(2_000);
  t.is((await late).status, 503, 'a check that never answers');
});

test('every operation is described and appears in the OpenAPI document', async (t) => {
  const document = openapiDocument({ baseUrl: 'http://panel.example' }, OPERATIONS) as unknown as {
    openapi: string;
    paths: Record<string, Record<string, Record<string, unknown>>>;
    components: { schemas: Record<string, { properties?: object }> };
  };
  t.true(document.openapi.startsWith('3.1'));
  t.is(new Set(OPERATIONS.map(({ id }) => id)).size, OPERATIONS.length);
  t.is(new Set(OPERATIONS.map(({ method, path }) => method + path)).size, OPERATIONS.length);
  for (const { id, summary, description } of OPERATIONS.filter(({ auth }) => auth !== 'key'))
    t.true(summary.length > 3 && description.length > 10, id);
  t.like(document.paths['/v1/servers/{id}/schedules:run']?.['post'], {
    'x-also-required-scopes': { console: 'kind `command`', backups: 'kind `backup`' },
  });
  for (const { id, method, path, scope, summary, description, section } of operations) {
    t.true(summary.length > 3 && description.length > 10, id);
    t.true(scope === 'any' || (KEY_SCOPES as readonly string[]).includes(scope), id);
    const entry = document.paths[path]?.[method];
    const tag = scope === 'operator' ? 'operator' : section === undefined ? 'account' : 'control';
    t.like(entry, { operationId: id, 'x-required-scope': scope, tags: [tag] });
    t.true(JSON.stringify(entry?.['responses']).includes('#/components/'), id);
    const parameters = entry?.['parameters'] as { in: string; name: string }[];
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    t.deepEqual(
      parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name),
      named as string[],
      id,
    );
  }
  const text = JSON.stringify(document);
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
    t.truthy(document.components.schemas[name!], name);
  t.notRegex(text, /\$defs|\$schema/);
  t.like(document.components.schemas['Server']?.properties, {
    diskUsageMb: { type: 'string', format: 'int64' },
    ramMb: { type: 'integer', format: 'int32' },
    bakedAt: { type: ['string', 'null'], format: 'date-time' },
  });
  t.deepEqual((document.components.schemas['CreateServerRequest'] as { required: string[] }).required, [
    'name',
    'ramMb',
  ]);
  const { call } = await api(t);
  const served = await call('GET', '/openapi.json', { key: null });
  t.deepEqual(served.json as unknown, document);
});

test('a caller that disconnects in the middle of a body causes no error in the log', async (t) => {
  const { port, key, call, logged } = await api(t);
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`POST /v1/servers HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\nContent-Length: 100\r\n\r\n{"name"`);
  await new Promise<void>((resolve) => void socket.write(' ', () => resolve()));
  while (!logged.some((line) => line.includes('"op":"CreateServer"'))) {
    socket.destroy();
    await call('GET', '/healthz');
  }
  t.true(logged.some((line) => line.includes('"reason":"CALLER_GONE"')));
  t.false(
    logged.some((line) => line.includes('"level":"error"')),
    logged.join(''),
  );
});

test('a request body that arrives too slowly fails with BODY_TIMEOUT', async (t) => {
  const refusal = Promise.withResolvers<unknown>();
  const server = createServer((request, response) => {
    readBody(request, 1_000, 20).catch((error: unknown) => {
      refusal.resolve(error);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  // The server may reset the connection, because it did not read the whole request.
  socket.on('error', () => {});
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
  t.like(await refusal.promise, { reason: 'BODY_TIMEOUT', options: { httpStatus: 408 } });
});

async function rawHttp(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(request);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // The server may reset the connection, because it did not read the whole request.
  await new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
  return Buffer.concat(chunks).toString();
}

test('a long list in a reply is validated like the whole schema, without blocking other work', async (t) => {
  const schema = z.object({
    entries: z.array(z.object({ name: z.string() })).default([]),
    total: z.number().default(1),
  });
  const entries = Array.from({ length: 12_000 }, (_, index) => ({ name: `${index}`, secret: 'x' }));
  const given = { entries, hidden: entries };
  let turns = 0;
  const count = setImmediate(function again() {
    turns += 1;
    if (turns < 1_000) setImmediate(again);
  });
  t.deepEqual(await replyOf(schema, given), schema.parse(given));
  clearImmediate(count);
  t.true(turns >= 2);
  const wrong = [...entries.slice(1), { name: 1 }] as typeof entries;
  await t.throwsAsync(replyOf(schema, { entries: wrong }), { instanceOf: z.ZodError });
  t.deepEqual(await replyOf(schema, {}), { entries: [], total: 1 });
});
