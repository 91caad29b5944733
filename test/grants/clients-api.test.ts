import test from 'ava';
import { APP_TOKEN_MS } from '../../src/grants/app-tokens.ts';
import { START, POLL, USER, APP, device, errorOf } from './device.ts';

test('a revoked app’s next call is refused', async (t) => {
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

test('an app’s token expires half a year after its last use, and each use extends it', async (t) => {
  const it = await device(t);
  const half = APP_TOKEN_MS;
  const connectApp = async () => {
    const { id, code } = await it.begin();
    await it.grants.approve(id, USER);
    return String((await it.post(POLL, { device_code: code })).json['access_token']);
  };
  const works = async (token: string) => {
    const answer = await it.call('GET', '/v1/whoami', { key: null, headers: { authorization: `Bearer ${token}` } });
    // Wait for the write that records the use.
    await it.store.write(async () => {});
    return answer.status === 200;
  };
  const [used, unused] = [await connectApp(), await connectApp()];
  for (let n = 0; n < 5; n++) {
    await it.clock.jump(it.clock.now() + half / 2);
    t.true(await works(used));
  }
  t.false(await works(unused));
  const browser = await it.browser('usr_test');
  const [app] = (await browser.ok('GET', '/v1/session/apps'))['apps'] as { expiresAt: string }[];
  t.is(app?.expiresAt, new Date(it.clock.now() + half).toISOString());
  await it.clock.jump(it.clock.now() + half - 1);
  t.deepEqual((await (await it.browser('usr_test')).ok('GET', '/v1/session/apps'))['apps'], [
    { ...app, lastUsedAt: new Date(it.clock.now() - half + 1).toISOString() },
  ]);
  await it.clock.advance(1);
  t.false(await works(used));
  t.deepEqual((await (await it.browser('usr_test')).ok('GET', '/v1/session/apps'))['apps'], []);
});

test('operators can register, disable and enable apps', async (t) => {
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
