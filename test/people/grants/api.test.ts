import { once } from 'node:events';
import { type AddressInfo, BlockList, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Router } from '@koa/router';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import * as oauth from 'oauth4webapi';
import { createAuthorize } from '../../../src/http/auth.ts';
import { createClientAddress } from '../../../src/http/client-address.ts';
import { renderErrors } from '../../../src/http/errors.ts';
import { createHttpServer } from '../../../src/http/http-server.ts';
import { mount, plainColons } from '../../../src/http/mount.ts';
import { mountSession } from '../../../src/http/session-mount.ts';
import { mintToken } from '../../../src/kernel/ids.ts';
import { createLog } from '../../../src/kernel/log.ts';
import { APP_TOKEN_MS, authenticateApp } from '../../../src/people/apps/app-tokens.ts';
import { insertClient } from '../../../src/people/apps/client-rows.ts';
import { clientOperations } from '../../../src/people/apps/clients-api.ts';
import { mountDevice } from '../../../src/people/grants/api.ts';
import { type Grants, createGrants } from '../../../src/people/grants/grants.ts';
import { devicePaths } from '../../../src/people/grants/openapi.ts';
import type { DeviceDeps } from '../../../src/people/grants/replies.ts';
import { deviceOperations } from '../../../src/people/grants/session-api.ts';
import { createStartLimit } from '../../../src/people/grants/start-limit.ts';
import { authenticate } from '../../../src/people/keys/keys.ts';
import { type Answer, type ApiUnderTest, api } from '../../support/api-harness.ts';

const START = '/v1/public/device/start';
const POLL = '/v1/public/device/poll';
const USER = { userId: 'usr_test', accountId: 'acc_test' };
const APP = 'app_launcher';
const ORIGIN = 'https://panel.example';

interface DeviceUnderTest extends ApiUnderTest {
  grants: Grants;
  /** Where the device endpoints listen. */
  origin: string;
  port: number;
  post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>;
  form: (path: string, fields: Record<string, string> | string) => Promise<Answer>;
  send: (path: string, init: RequestInit) => Promise<Answer>;
  /** Starts a grant of the app and gives its codes and its id. */
  begin: (body?: object) => Promise<{ id: string; code: string; userCode: string }>;
}

interface DeviceTestOptions {
  trusted?: BlockList;
  starts?: number;
  wrap?: (grants: Grants) => Grants;
}

/** The device endpoints and the registry of apps over HTTP, beside the API on the same database. */
async function device(t: ExecutionContext, options: DeviceTestOptions = {}): Promise<DeviceUnderTest> {
  const base = await api(t);
  const { store, clock, services } = base;
  const log = createLog({
    level: 'trace',
    pretty: false,
    destination: { write: (line) => void base.logged.push(line) },
  });
  const client = { name: 'Launcher', homepage: 'https://launcher.example', scopes: ['servers:list'] };
  await store.write((tx) => insertClient(tx, { id: APP, ...client, createdAt: clock.now(), disabledAt: null }));
  const real = createGrants({ store, clock, secret: services.secret, log });
  const grants = options.wrap?.(real) ?? real;
  const router = new Router({ strict: true, sensitive: true });
  mountDevice(router, {
    grants,
    startLimit: createStartLimit({ store, clock, limit: options.starts ?? 1_000 }),
    store,
    clock,
    clientAddress: createClientAddress(options.trusted ?? new BlockList()),
    config: { baseUrl: ORIGIN },
    log,
  });
  const findKey = (key: string) => authenticate(store, clock, key);
  const findApp = (token: string) => authenticateApp(store, clock, token);
  const here = { ...services, grants, config: { ...services.config, baseUrl: ORIGIN } };
  mountSession(router, deviceOperations(here), () => {}, here);
  const authorize = createAuthorize(findKey, findApp, () => {});
  mount(router, clientOperations(services), { authorize, authorizeAgain: authorize }, services);
  const app = new Koa();
  app.use(renderErrors(log)).use(plainColons).use(router.routes()).use(router.allowedMethods());
  app.silent = true;
  const server = createHttpServer(app).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;

  async function send(path: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(origin + path, { method: 'POST', ...init });
    const text = await response.text();
    const json = (text === '' ? {} : JSON.parse(text)) as Answer['json'];
    const [info] = (json['details'] ?? []) as { reason?: string }[];
    if (path !== '/.well-known/oauth-authorization-server') {
      t.is(response.headers.get('cache-control'), /^\/v1\/(?:operator|session)/.test(path) ? null : 'no-store', '28');
    }
    return { status: response.status, headers: response.headers, text, json, reason: info?.reason ?? '' };
  }

  return {
    ...base,
    grants,
    origin,
    port,
    send,
    post: (path, body, headers = {}) => send(path, { body: JSON.stringify(body), headers }),
    form: (path, fields) =>
      send(path, {
        body: new URLSearchParams(fields).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    async begin(body = { client_id: APP }) {
      const started = await send(START, { body: JSON.stringify(body) });
      t.is(started.status, 200, started.text);
      const { device_code: code, user_code: userCode } = started.json as Record<string, string>;
      const found = await grants.find(userCode ?? '');
      return { id: found?.id ?? '', code: code ?? '', userCode: userCode ?? '' };
    },
  };
}

/** Status and error of an answer, which has nothing else in it. */
function errorOf(t: ExecutionContext, { status, json, headers }: Answer): string {
  t.deepEqual(Object.keys(json), ['error']);
  t.is(headers.get('content-type'), 'application/json; charset=utf-8');
  t.is(headers.get('pragma'), 'no-cache');
  return `${status} ${String(json['error'])}`;
}

test('an app signs somebody in, and reads what it may', async (t) => {
  const it = await device(t);
  const started = await it.post(START, { client_id: APP, scope: 'servers:list' });
  t.is(started.status, 200);
  const { device_code: code, user_code: userCode, ...rest } = started.json;
  t.deepEqual(rest, {
    verify_url: `${ORIGIN}/device?code=${String(userCode)}`,
    verification_uri: `${ORIGIN}/device`,
    verification_uri_complete: `${ORIGIN}/device?code=${String(userCode)}`,
    expires_in: 600,
    interval: 5,
  });
  t.regex(String(userCode), /^[B-Z]{4}-[B-Z]{4}$/);
  t.is(errorOf(t, await it.post(POLL, { device_code: code })), '400 authorization_pending');
  t.is(errorOf(t, await it.post(POLL, { device_code: code })), '400 slow_down');
  const request = await it.grants.find(String(userCode));
  await it.grants.approve(request!.id, USER);
  const granted = await it.post(POLL, { device_code: code });
  t.is(granted.status, 200);
  const token = String(granted.json['access_token']);
  const expiresIn = 180 * 86_400;
  t.deepEqual(granted.json, {
    access_token: token,
    token_type: 'Bearer',
    expires_in: expiresIn,
    scope: 'servers:list',
  });
  t.is(errorOf(t, await it.post(POLL, { device_code: code })), '400 expired_token');

  const bearer = { key: null, headers: { authorization: `Bearer ${token}` } };
  const me = await it.call('GET', '/v1/whoami', bearer);
  t.deepEqual(me.json, { accountId: '', email: 'owner@example.com', emailVerified: true });
  t.deepEqual((await it.call('GET', '/v1/me/servers', bearer)).json, { my: [], shared: [] });
  t.is((await it.call('GET', '/v1/servers', bearer)).status, 403);
  const wrongHeader = await it.call('GET', '/v1/whoami', { key: token });
  t.is(wrongHeader.status, 401);
});

test('the command line signs somebody in, and gets a key', async (t) => {
  const it = await device(t);
  const { id, code } = await it.begin({});
  await it.grants.approve(id, USER);
  const granted = await it.post(POLL, { device_code: code });
  const { access_token: token, api_key: key, token_type: type, scope } = granted.json;
  t.is(token, key);
  t.is(type, 'ApiKey');
  t.true(String(scope).includes('servers:write') && !String(scope).includes('operator'));
  t.is((await it.call('GET', '/v1/servers', { key: String(key) })).status, 200);
});

test('8, 9: declined and expired, as a device is told', async (t) => {
  const it = await device(t);
  const [declined, expired] = [await it.begin(), await it.begin()];
  await it.grants.deny(declined.id, USER);
  for (let again = 0; again < 2; again++) {
    t.is(errorOf(t, await it.post(POLL, { device_code: declined.code })), '400 access_denied');
  }
  await it.clock.advance(601_000);
  t.is(errorOf(t, await it.post(POLL, { device_code: expired.code })), '400 expired_token');
});

test('6: two polls at once of an approved grant, over HTTP', async (t) => {
  const it = await device(t);
  const { id, code } = await it.begin();
  await it.grants.approve(id, USER);
  const polled = await Promise.all(Array.from({ length: 20 }, () => it.post(POLL, { device_code: code })));
  t.is(polled.filter(({ status }) => status === 200).length, 1);
  t.is(polled.filter(({ json }) => json['error'] === 'expired_token').length, 19);
});

test('a token whose answer finds its connection closed is given to the next poll, and to no more', async (t) => {
  const gone = new AbortController();
  const told: Promise<boolean>[] = [];
  const it = await device(t, {
    wrap: (real) => ({
      ...real,
      async poll(code, clientId, received) {
        const polled = await real.poll(code, clientId, received);
        told.push(received!);
        if (told.length > 2) return polled;
        gone.abort();
        await received;
        return polled;
      },
    }),
  });
  const lost = await it.begin();
  await it.grants.approve(lost.id, USER);
  const body = JSON.stringify({ device_code: lost.code });
  await t.throwsAsync(fetch(it.origin + POLL, { method: 'POST', body, signal: gone.signal }), { name: 'AbortError' });
  while (told.length === 0) await it.store.query('SELECT 1');
  t.false(await told[0]);
  await it.clock.advance(5_000);
  told.length = 2;
  const again = await it.post(POLL, { device_code: lost.code });
  t.regex(String(again.json['access_token']), /^dma_/);
  t.true(await told[2]);
  t.is((await it.store.query('SELECT * FROM "app_tokens"')).length, 1);
  await it.clock.advance(5_000);
  t.is(errorOf(t, await it.post(POLL, { device_code: lost.code })), '400 expired_token');
});

test('what a start can be refused with', async (t) => {
  const it = await device(t);
  const cases: [body: unknown, expected: string][] = [
    [{ client_id: '' }, '400 invalid_client'],
    [{ client_id: null }, '400 invalid_client'],
    [{ client_id: [] }, '400 invalid_client'],
    [{ client_id: {} }, '400 invalid_client'],
    [{ client_id: 0 }, '400 invalid_client'],
    [{ client_id: false }, '400 invalid_client'],
    [{ client_id: [APP] }, '400 invalid_client'],
    [{ client_id: 'app_unknown' }, '400 invalid_client'],
    [{ client_id: `${APP} ` }, '400 invalid_client'],
    [{ client_id: '\0' }, '400 invalid_client'],
    [{ client_id: 'app_unknown', scope: 'nonsense' }, '400 invalid_client'],
    [{ client_id: null, scope: 'servers:list' }, '400 invalid_client'],
    [{ client_id: APP, scope: 'servers:list servers:write' }, '400 invalid_scope'],
    [{ client_id: APP, scope: 'servers:read' }, '400 invalid_scope'],
    [{ client_id: APP, scope: ['servers:list'] }, '400 invalid_scope'],
    [{ client_id: APP, scope: 1 }, '400 invalid_scope'],
    [{ scope: 'servers:list' }, '400 invalid_request'],
    [{ scope: '' }, '400 invalid_request'],
    [{ scope: null }, '400 invalid_request'],
    // Misspelt, they would ask for full access.
    [{ clientId: APP }, '400 invalid_request'],
    [{ clientid: APP, scope: 'servers:list' }, '400 invalid_request'],
    [{ client: APP }, '400 invalid_request'],
    [{ more: 1 }, '400 invalid_request'],
    [[], '400 invalid body'],
    ['text', '400 invalid body'],
    [null, '400 invalid body'],
  ];
  for (const [body, expected] of cases) {
    t.is(errorOf(t, await it.post(START, body)), expected, JSON.stringify(body));
  }
  t.deepEqual(await it.store.query('SELECT * FROM "grants"'), [], '20: none of them has begun a grant');
  for (const body of [{ client_id: APP }, { client_id: APP, scope: '' }, { client_id: APP, scope: null, more: 1 }]) {
    t.is((await it.post(START, body)).status, 200);
  }
});

test('what a poll can be refused with', async (t) => {
  const it = await device(t);
  const cases: [body: unknown, expected: string][] = [
    [{}, '400 invalid_request'],
    [{ device_code: null }, '400 invalid_request'],
    [{ device_code: 1 }, '400 invalid_request'],
    [{ device_code: '' }, '400 expired_token'],
    [{ device_code: mintToken('device') }, '400 expired_token'],
    [{ device_code: mintToken('app') }, '400 expired_token'],
    [[], '400 invalid body'],
  ];
  for (const [body, expected] of cases) {
    t.is(errorOf(t, await it.post(POLL, body)), expected, JSON.stringify(body));
  }
});

test('19: a body has at most 4096 bytes, however it comes, and is JSON whatever it is called', async (t) => {
  const it = await device(t);
  const body = (bytes: number) => {
    const frame = JSON.stringify({ client_id: APP, pad: '' });
    return JSON.stringify({
      client_id: APP,
      pad: 'é'.repeat((bytes - frame.length) >> 1) + 'x'.repeat((bytes - frame.length) & 1),
    });
  };
  t.is(Buffer.byteLength(body(4_096)), 4_096);
  t.is(Buffer.byteLength(body(4_097)), 4_097);
  const chunked = (text: string): RequestInit => ({
    body: new Blob([text]).stream(),
    duplex: 'half',
  });
  const gzipped = (text: string): RequestInit => ({ body: gzipSync(text), headers: { 'content-encoding': 'gzip' } });
  for (const path of [START, POLL]) {
    for (const shape of [(text: string): RequestInit => ({ body: text }), chunked, gzipped]) {
      const fits = await it.send(path, shape(body(4_096)));
      t.not(fits.json['error'], 'invalid body');
      t.is(errorOf(t, await it.send(path, shape(body(4_097)))), '400 invalid body');
    }
    const bomb = gzipSync(Buffer.alloc(50_000_000, ' '));
    t.is(errorOf(t, await it.send(path, { body: bomb, headers: { 'content-encoding': 'gzip' } })), '400 invalid body');
    for (const text of [
      '',
      ' ',
      '\ufeff',
      '{',
      '{} {}',
      'client_id=x',
      '\ufeff1',
      `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
    ]) {
      t.is(errorOf(t, await it.send(path, { body: text })), '400 invalid body', text.slice(0, 10));
    }
    t.is(errorOf(t, await it.send(path, { body: Uint8Array.of(0x7b, 0xff, 0x7d) })), '400 invalid body');
    t.is(errorOf(t, await it.send(path, { body: '{}', headers: { 'content-encoding': 'br' } })), '400 invalid body');
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/vnd.x+json', 'nonsense']) {
    const headers = { 'content-type': type };
    t.is(errorOf(t, await it.post(START, { client_id: 'app_unknown' }, headers)), '400 invalid_client', type);
  }
});

test('18: no address of the request comes back', async (t) => {
  const it = await device(t);
  const socket = connect(it.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const body = JSON.stringify({ client_id: APP });
  socket.write(
    `POST ${START} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: gopher\r\n` +
      `Forwarded: host=evil.example\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) answer += String(chunk);
  t.true(answer.includes(`"verification_uri":"${ORIGIN}/device"`));
  t.false(/evil|gopher/.test(answer));
});

test('23: the 21st start within an hour is told when to come again; other addresses go on', async (t) => {
  const trusted = new BlockList();
  trusted.addAddress('127.0.0.1', 'ipv4');
  const it = await device(t, { trusted, starts: 20 });
  const from = (address: string, body: unknown = { client_id: APP }) =>
    it.post(START, body, { 'x-forwarded-for': address });
  for (let nth = 0; nth < 19; nth++) t.is((await from('203.0.113.1')).status, 200);
  t.is((await from('203.0.113.1', { client_id: 'app_unknown' })).status, 400, 'those that end badly count too');
  await it.clock.advance(600_000);
  for (const body of [{ client_id: APP }, {}, 'nonsense']) {
    const refused = await from('203.0.113.1', body);
    t.is(errorOf(t, refused), '429 rate_limited');
    t.is(refused.headers.get('retry-after'), '3000');
  }
  t.is((await from('203.0.113.2')).status, 200);
  for (let nth = 0; nth < 20; nth++) t.is((await from(`2001:db8:0:1::${nth + 1}`)).status, 200);
  t.is((await from('2001:db8:0:1:ffff::1')).status, 429);
  t.is((await from('2001:db8:0:2::1')).status, 200);
  await it.clock.advance(3_000_000);
  t.is((await from('203.0.113.1')).status, 200);
});

test('23: a forged X-Forwarded-For is of no use', async (t) => {
  const it = await device(t, { starts: 3 });
  const statuses: number[] = [];
  for (let nth = 0; nth < 5; nth++) {
    const headers = { 'x-forwarded-for': `203.0.113.${nth}`, forwarded: `for=203.0.113.${nth}` };
    statuses.push((await it.post(START, { client_id: APP }, headers)).status);
  }
  t.deepEqual(statuses, [200, 200, 200, 429, 429]);
});

test('trouble is 500 server_error, and the grant goes on when it is over', async (t) => {
  let down = false;
  const wrap = (grants: Grants): Grants => {
    const unless = <T>(work: Promise<T>): Promise<T> => (down ? Promise.reject(new Error('secret detail')) : work);
    return { ...grants, start: (wanted) => unless(grants.start(wanted)), poll: (code) => unless(grants.poll(code)) };
  };
  const it = await device(t, { wrap });
  const { id, code } = await it.begin();
  await it.grants.approve(id, USER);
  await it.post(POLL, { device_code: code }).then(() => (down = true));
  const second = await it.post(START, { client_id: APP });
  t.is(errorOf(t, second), '500 server_error');
  t.is(errorOf(t, await it.post(POLL, { device_code: code })), '500 server_error');
  t.false(second.text.includes('secret detail'));
  down = false;
  t.is((await it.post(START, { client_id: APP })).status, 200);
});

test('other methods and paths get a status object', async (t) => {
  const it = await device(t);
  const answers = [
    await fetch(it.origin + START),
    await fetch(`${it.origin}/v1/public/device`, { method: 'POST' }),
    await fetch(`${it.origin + START}/`, { method: 'POST' }),
  ];
  t.deepEqual(
    await Promise.all(answers.map(async (answer) => [answer.status, ((await answer.json()) as { code: number }).code])),
    [
      [405, 12],
      [404, 5],
      [404, 5],
    ],
  );
});

test('24: after an app is revoked its next call is refused', async (t) => {
  const it = await device(t);
  const browser = await it.browser('usr_test');
  const connectApp = async () => {
    const { id, code } = await it.begin();
    await it.grants.approve(id, USER);
    return String((await it.post(POLL, { device_code: code })).json['access_token']);
  };
  const whoami = async (token: string) =>
    (await it.call('GET', '/v1/whoami', { key: null, headers: { authorization: `Bearer ${token}` } })).status;
  const first = await connectApp();
  t.is(await whoami(first), 200);
  await browser.ok('POST', '/v1/session/apps:revoke', { clientId: APP });
  t.is(await whoami(first), 401);
  const second = await connectApp();
  t.deepEqual([await whoami(second), await whoami(first)], [200, 401]);
});

test('an app’s token ends half a year after its last use, and every use begins that anew', async (t) => {
  const it = await device(t);
  const half = APP_TOKEN_MS;
  const connectApp = async () => {
    const { id, code } = await it.begin();
    await it.grants.approve(id, USER);
    return String((await it.post(POLL, { device_code: code })).json['access_token']);
  };
  const works = async (token: string) => {
    const answer = await it.call('GET', '/v1/whoami', { key: null, headers: { authorization: `Bearer ${token}` } });
    // The use is noted behind the call.
    await it.store.write(async () => {});
    return answer.status === 200;
  };
  const [used, unused] = [await connectApp(), await connectApp()];
  for (let n = 0; n < 5; n++) {
    await it.clock.advance(half / 2);
    t.true(await works(used));
  }
  t.false(await works(unused));
  const browser = await it.browser('usr_test');
  const [app] = (await browser.ok('GET', '/v1/session/apps'))['apps'] as { expiresAt: string }[];
  t.is(app?.expiresAt, new Date(it.clock.now() + half).toISOString());
  await it.clock.advance(half - 1);
  t.deepEqual((await (await it.browser('usr_test')).ok('GET', '/v1/session/apps'))['apps'], [
    { ...app, lastUsedAt: new Date(it.clock.now() - half + 1).toISOString() },
  ]);
  await it.clock.advance(1);
  t.false(await works(used));
  t.deepEqual((await (await it.browser('usr_test')).ok('GET', '/v1/session/apps'))['apps'], []);
});

test('an app ends its own token (RFC 7009), and nobody else’s', async (t) => {
  const it = await device(t);
  await it.store.write((tx) =>
    insertClient(tx, { id: 'app_other', name: '', homepage: '', scopes: [], createdAt: 0, disabledAt: null }),
  );
  const connectApp = async () => {
    const { id, code } = await it.begin();
    await it.grants.approve(id, USER);
    return String((await it.post(POLL, { device_code: code })).json['access_token']);
  };
  const works = async (token: string) =>
    (await it.call('GET', '/v1/whoami', { key: null, headers: { authorization: `Bearer ${token}` } })).status === 200;
  const [token, other] = [await connectApp(), await connectApp()];
  t.true(await works(token));
  const revoke = (fields: Record<string, string>) => it.form('/oauth/revoke', fields);
  t.is((await revoke({ token, client_id: 'app_other' })).status, 200, 'tells nothing');
  t.true(await works(token), 'not its own');
  t.is(errorOf(t, await revoke({ token })), '400 invalid_request');
  t.is(errorOf(t, await revoke({ client_id: APP })), '400 invalid_request');
  t.is(errorOf(t, await revoke({ token, client_id: 'nobody' })), '400 invalid_client');
  t.is(errorOf(t, await revoke({ token: it.key, client_id: APP })), '400 unsupported_token_type');
  const done = await revoke({ token, client_id: APP, token_type_hint: 'refresh_token' });
  t.deepEqual([done.status, done.json], [200, {}]);
  t.deepEqual([await works(token), await works(other)], [false, true]);
  for (const again of [token, mintToken('app'), 'garbage']) {
    t.is((await revoke({ token: again, client_id: APP })).status, 200);
  }
  const { entries } = (await it.call('GET', '/v1/accounts/acc_test/audit')).json as { entries: { action: string }[] };
  t.is(entries.filter(({ action }) => action === 'app.revoke').length, 1);
  t.is((await it.call('GET', '/v1/servers')).status, 200, 'the key is as it was');
});

test('27: no code and no token is in the log, the audit log, or an error', async (t) => {
  const it = await device(t);
  const [app, cli] = [await it.begin(), await it.begin({})];
  const secrets = [app.code, app.userCode, cli.code, cli.userCode];
  for (const { id, code } of [app, cli]) {
    await it.grants.approve(id, USER);
    const granted = await it.post(POLL, { device_code: code });
    secrets.push(String(granted.json['access_token']));
    t.false((await it.post(POLL, { device_code: code })).text.includes(code));
    t.false((await it.post(POLL, { device_code: code, client_id: code }, { 'user-agent': code })).text.includes(code));
  }
  const audit = JSON.stringify(await it.store.query('SELECT * FROM "audit"'));
  const logged = it.logged.join('');
  t.true(logged.includes('device grant approved') && audit.includes('grant.approve'));
  for (const secret of secrets) {
    t.false(logged.includes(secret));
    t.false(audit.includes(secret));
  }
});

test('the shape of RFC 8628: forms, and the errors of RFC 6749', async (t) => {
  const it = await device(t);
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: APP };
  const started = await it.form('/oauth/device_authorization', { client_id: APP, scope: 'servers:list' });
  t.is(started.status, 200);
  const { device_code: code = '', user_code: userCode = '' } = started.json as Record<string, string>;
  const token = (fields: Record<string, string>) => it.form('/oauth/token', { ...grant, device_code: code, ...fields });
  t.is(errorOf(t, await token({})), '400 authorization_pending');
  t.is(errorOf(t, await token({})), '400 slow_down');
  await it.grants.approve((await it.grants.find(userCode))!.id, USER);
  await it.store.write((tx) =>
    insertClient(tx, { id: 'app_other', name: '', homepage: '', scopes: [], createdAt: 0, disabledAt: null }),
  );
  t.is(errorOf(t, await token({ client_id: 'app_other' })), '400 invalid_grant');
  t.is(errorOf(t, await token({ client_id: 'app_unknown' })), '400 invalid_client');
  t.is(errorOf(t, await token({ client_id: '' })), '400 invalid_request');
  t.is(errorOf(t, await token({ grant_type: 'password' })), '400 unsupported_grant_type');
  t.is(errorOf(t, await token({ grant_type: '' })), '400 invalid_request');
  t.is(errorOf(t, await token({ device_code: '' })), '400 invalid_request');
  t.is(errorOf(t, await token({ device_code: mintToken('device') })), '400 invalid_grant');
  t.is(errorOf(t, await it.form('/oauth/token', `client_id=${APP}&client_id=${APP}`)), '400 invalid_request');
  t.is(errorOf(t, await it.post('/oauth/token', { ...grant, device_code: code })), '400 invalid_request');
  t.is(errorOf(t, await it.form('/oauth/token', `pad=${'x'.repeat(4_096)}`)), '400 invalid_request');
  const granted = await token({});
  t.is(granted.status, 200);
  t.is(granted.json['token_type'], 'Bearer');
  t.is(errorOf(t, await token({})), '400 expired_token');

  t.is(errorOf(t, await it.form('/oauth/device_authorization', {})), '400 invalid_request', 'never the command line');
  t.is(errorOf(t, await it.form('/oauth/device_authorization', { client_id: '' })), '400 invalid_request');
  t.is(errorOf(t, await it.form('/oauth/device_authorization', { client_id: 'nobody' })), '400 invalid_client');
  const tooMuch = { client_id: APP, scope: 'servers:write' };
  t.is(errorOf(t, await it.form('/oauth/device_authorization', tooMuch)), '400 invalid_scope');
  const cli = await it.begin({});
  await it.grants.approve(cli.id, USER);
  t.is(errorOf(t, await token({ device_code: cli.code })), '400 invalid_grant', 'nor its grants');

  const metadata = await it.send('/.well-known/oauth-authorization-server', { method: 'GET' });
  t.deepEqual(metadata.json, {
    issuer: ORIGIN,
    device_authorization_endpoint: `${ORIGIN}/oauth/device_authorization`,
    token_endpoint: `${ORIGIN}/oauth/token`,
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint: `${ORIGIN}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: ['none'],
    grant_types_supported: [grant.grant_type],
    response_types_supported: [],
    scopes_supported: ['servers:list'],
  });
});

test('both shapes share the limit of starts', async (t) => {
  const it = await device(t, { starts: 2 });
  t.is((await it.post(START, { client_id: APP })).status, 200);
  t.is((await it.form('/oauth/device_authorization', { client_id: APP })).status, 200);
  t.is((await it.form('/oauth/device_authorization', { client_id: APP })).status, 429);
  t.is((await it.post(START, { client_id: APP })).status, 429);
});

test('operators register apps, disable and enable them', async (t) => {
  const it = await device(t);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1', [1]));
  const { key } = await it.mint(['operator']);
  const call = (method: string, path: string, body?: unknown, with_ = key) =>
    it.send(path, {
      method,
      headers: { 'x-api-key': with_ },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const made = await call('POST', '/v1/operator/clients', {
    name: '  Bot ',
    homepage: 'https://bot.example',
    scopes: ['servers:list', 'servers:list'],
  });
  t.is(made.status, 200, made.text);
  const { clientId } = made.json as { clientId: string };
  t.deepEqual(made.json, {
    clientId,
    name: 'Bot',
    homepage: 'https://bot.example/',
    scopes: ['servers:list'],
    createdAt: new Date(it.clock.now()).toISOString(),
    disabledAt: null,
  });
  t.is((await it.post(START, { client_id: clientId })).status, 200);
  const disabled = await call('POST', `/v1/operator/clients/${clientId}:disable`);
  t.is(disabled.json['disabledAt'], made.json['createdAt']);
  t.is(errorOf(t, await it.post(START, { client_id: clientId })), '400 invalid_client');
  const listed = await call('GET', '/v1/operator/clients');
  t.deepEqual(
    (listed.json['clients'] as { clientId: string }[]).map((client) => client.clientId).sort(),
    [clientId, APP].sort(),
  );
  t.is((await call('POST', `/v1/operator/clients/${clientId}:enable`)).json['disabledAt'], null);
  t.is((await it.post(START, { client_id: clientId })).status, 200);
  t.is((await call('POST', '/v1/operator/clients/app_nobody:disable')).reason, 'CLIENT_NOT_FOUND');

  for (const wrong of [
    { name: '', homepage: 'https://bot.example' },
    { name: 'x'.repeat(65), homepage: 'https://bot.example' },
    { name: 'evil\u202egnp', homepage: 'https://bot.example' },
    { name: 'two\nlines', homepage: 'https://bot.example' },
    { name: 'Bot' },
    { name: 'Bot', homepage: 'http://bot.example' },
    { name: 'Bot', homepage: 'javascript:alert(1)' },
    { name: 'Bot', homepage: 'https://user:password@bot.example' },
    { name: 'Bot', homepage: 'https://bot.example', scopes: [] },
    { name: 'Bot', homepage: 'https://bot.example', scopes: ['servers:write'] },
  ]) {
    t.is((await call('POST', '/v1/operator/clients', wrong)).reason, 'INVALID_FIELD', JSON.stringify(wrong));
  }
  const { key: other } = await it.mint(['servers:read', 'servers:write']);
  for (const [method, path] of [
    ['GET', '/v1/operator/clients'],
    ['POST', '/v1/operator/clients'],
    ['POST', `/v1/operator/clients/${clientId}:disable`],
    ['POST', `/v1/operator/clients/${clientId}:enable`],
  ] as const) {
    t.is((await call(method, path, method === 'GET' ? undefined : {}, other)).reason, 'SCOPE_MISSING', path);
  }
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1', [0]));
  await it.clock.advance(30_000);
  t.is((await call('GET', '/v1/operator/clients')).reason, 'NOT_OPERATOR');
});

test('11, 12, 13, 15: a device is let in by who is signed in, on purpose, and not by guessing', async (t) => {
  const it = await device(t);
  const browser = await it.browser('usr_test');
  // The cookie of an https origin has another name.
  const cookie = browser.cookie.replace(/^sid=/, '__Host-sid=');
  const full = { cookie, 'x-csrf-token': browser.csrf, origin: ORIGIN };
  const decide = (verb: string, userCode: string, headers: Record<string, string> = full) =>
    it.post(`/v1/session/device:${verb}`, { userCode }, headers);
  const { code, userCode } = await it.begin();
  const shown = await decide('lookUp', userCode.toLowerCase());
  t.deepEqual(shown.json, {
    userCode,
    client: { clientId: APP, name: 'Launcher', homepage: 'https://launcher.example' },
    scopes: ['servers:list'],
    ip: '127.0.0.1',
    userAgent: 'node',
    createdAt: new Date(it.clock.now()).toISOString(),
    expiresAt: new Date(it.clock.now() + 600_000).toISOString(),
  });
  const { cookie: _, ...noSession } = full;
  const { 'x-csrf-token': __, ...noToken } = full;
  for (const headers of [
    noSession,
    noToken,
    { ...full, 'x-csrf-token': 'x' },
    { ...full, origin: 'https://evil.example' },
  ]) {
    for (const verb of ['approve', 'deny']) {
      const refused = await decide(verb, userCode, headers);
      t.true(refused.status === 401 || refused.status === 403, refused.text);
    }
  }
  t.is(errorOf(t, await it.post(POLL, { device_code: code })), '400 authorization_pending');
  t.is((await decide('approve', userCode)).status, 200);
  t.is((await decide('approve', userCode)).reason, 'GRANT_NOT_FOUND');
  t.is((await it.post(POLL, { device_code: code })).status, 200);

  const declined = await it.begin({});
  t.is((await decide('lookUp', declined.userCode)).json['client'], null);
  t.is((await decide('deny', declined.userCode)).status, 200);
  t.is(errorOf(t, await it.post(POLL, { device_code: declined.code })), '400 access_denied');

  const expired = await it.begin();
  const right = await it.begin();
  await it.clock.advance(599_000);
  const later = await it.begin();
  await it.clock.advance(1_000);
  const answers = [
    await decide('lookUp', 'BCDF-GHJK'),
    await decide('approve', expired.userCode),
    await decide('deny', right.userCode),
    await decide('lookUp', userCode),
    await decide('lookUp', 'nonsense'),
  ];
  t.is(new Set(answers.map(({ text }) => text)).size, 1, '16: unknown, expired and used look alike');
  t.is(answers[0]?.reason, 'GRANT_NOT_FOUND');
  const throttled = await decide('approve', later.userCode);
  t.is(throttled.reason, 'TOO_MANY_ATTEMPTS', 'however right it is');
  t.is(throttled.status, 429);
});

test('every endpoint of device grants is described', (t) => {
  const router = new Router();
  const unused = {} as DeviceDeps;
  mountDevice(router, { ...unused, config: { baseUrl: ORIGIN } });
  const described = Object.entries(devicePaths()).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  const mounted = router.stack.map(({ path, methods }) => `${methods.at(-1)?.toLowerCase()} ${String(path)}`);
  t.deepEqual(mounted.sort(), described.sort());
});

test('an OAuth library signs somebody in, knowing only the issuer', async (t) => {
  const it = await device(t);
  const issuer = new URL(ORIGIN);
  // It keeps to the issuer's addresses, and the endpoints of this test listen elsewhere.
  const options = {
    [oauth.customFetch]: (url: string, init: oauth.CustomFetchOptions<string, oauth.ProtectedResourceRequestBody>) =>
      fetch(it.origin + new URL(url).pathname, init as RequestInit),
  };
  const discovered = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const client: oauth.Client = { client_id: APP };
  const scope = new URLSearchParams({ scope: 'servers:list' });
  const asked = await oauth.deviceAuthorizationRequest(server, client, oauth.None(), scope, options);
  const grant = await oauth.processDeviceAuthorizationResponse(server, client, asked);
  t.is(grant.verification_uri_complete, `${ORIGIN}/device?code=${grant.user_code}`);
  const poll = async () => {
    const answer = await oauth.deviceCodeGrantRequest(server, client, oauth.None(), grant.device_code, options);
    return oauth.processDeviceCodeResponse(server, client, answer);
  };
  const told = async () => (await t.throwsAsync(poll(), { instanceOf: oauth.ResponseBodyError }))?.error;
  t.is(await told(), 'authorization_pending');
  t.is(await told(), 'slow_down');
  await it.grants.approve((await it.grants.find(grant.user_code))!.id, USER);
  const { access_token: token, token_type: type, scope: granted } = await poll();
  t.deepEqual([type, granted], ['bearer', 'servers:list']);
  const headers = { authorization: `Bearer ${token}` };
  t.is((await it.call('GET', '/v1/whoami', { key: null, headers })).status, 200);
  const ended = await oauth.revocationRequest(server, client, oauth.None(), token, options);
  await oauth.processRevocationResponse(ended);
  t.is((await it.call('GET', '/v1/whoami', { key: null, headers })).status, 401);
  t.is(await told(), 'expired_token');
  const declined = await oauth.deviceAuthorizationRequest(server, { client_id: 'x' }, oauth.None(), scope, options);
  const refusal = oauth.processDeviceAuthorizationResponse(server, client, declined);
  t.is((await t.throwsAsync(refusal, { instanceOf: oauth.ResponseBodyError }))?.error, 'invalid_client');
});
