import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { mintToken } from '../../src/kernel/ids.ts';
import type { Grants } from '../../src/grants/grants.ts';
import { START, POLL, USER, APP, ORIGIN, device, errorOf } from './device.ts';

test('an app signs a user in and reads only what its scope allows', async (t) => {
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
  t.deepEqual(granted.json, { access_token: token, token_type: 'Bearer', scope: 'servers:list' });
  t.is(errorOf(t, await it.post(POLL, { device_code: code })), '400 expired_token');

  const bearer = { key: null, headers: { authorization: `Bearer ${token}` } };
  const me = await it.call('GET', '/v1/whoami', bearer);
  t.deepEqual(me.json, { accountId: '', email: 'owner@example.com', emailVerified: true });
  t.deepEqual((await it.call('GET', '/v1/me/servers', bearer)).json, { my: [], shared: [] });
  t.is((await it.call('GET', '/v1/servers', bearer)).status, 403);
  const wrongHeader = await it.call('GET', '/v1/whoami', { key: token });
  t.is(wrongHeader.status, 401);
});

test('the command line signs a user in and gets an API key', async (t) => {
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

test('a device receives access_denied for a declined grant and expired_token for an expired one', async (t) => {
  const it = await device(t);
  const [declined, expired] = [await it.begin(), await it.begin()];
  await it.grants.deny(declined.id, USER);
  for (let again = 0; again < 2; again++) {
    t.is(errorOf(t, await it.post(POLL, { device_code: declined.code })), '400 access_denied');
  }
  await it.clock.advance(601_000);
  t.is(errorOf(t, await it.post(POLL, { device_code: expired.code })), '400 expired_token');
});

test('20 parallel HTTP polls of an approved grant return one token', async (t) => {
  const it = await device(t);
  const { id, code } = await it.begin();
  await it.grants.approve(id, USER);
  const polled = await Promise.all(Array.from({ length: 20 }, () => it.post(POLL, { device_code: code })));
  t.is(polled.filter(({ status }) => status === 200).length, 1);
  t.is(polled.filter(({ json }) => json['error'] === 'expired_token').length, 19);
});

test('a token whose response met a closed connection goes to the next poll only', async (t) => {
  const gone = new AbortController();
  const told: Promise<boolean>[] = [];
  const it = await device(t, {
    wrap(real) {
      const answer = real.poll.bind(real);
      return Object.assign(real, {
        async poll(code: string, clientId?: string, received?: Promise<boolean>) {
          const polled = await answer(code, clientId, received);
          told.push(received!);
          if (told.length > 2) return polled;
          gone.abort();
          await received;
          return polled;
        },
      });
    },
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

test('invalid starts of a device grant are refused with the right error and create no grant', async (t) => {
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
    // A misspelt field would request full access.
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
  t.deepEqual(await it.store.query('SELECT * FROM "grants"'), [], 'no grant was created');
  for (const body of [{ client_id: APP }, { client_id: APP, scope: '' }, { client_id: APP, scope: null, more: 1 }]) {
    t.is((await it.post(START, body)).status, 200);
  }
});

test('invalid polls of a device grant are refused with the right error', async (t) => {
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

test('a device request body has at most 4096 bytes in any encoding, and is read as JSON whatever its type', async (t) => {
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

test('forged host headers do not appear in the verification address', async (t) => {
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

test('a failure of the grant service returns 500 server_error without details, and starts work again later', async (t) => {
  let down = false;
  const wrap = (grants: Grants): Grants => {
    const unless = <T>(work: Promise<T>): Promise<T> => (down ? Promise.reject(new Error('secret detail')) : work);
    const [start, poll] = [grants.start.bind(grants), grants.poll.bind(grants)];
    return Object.assign(grants, {
      start: (wanted: Parameters<typeof start>[0]) => unless(start(wanted)),
      poll: (code: string) => unless(poll(code)),
    });
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

test('other methods and paths of the device API return a status object', async (t) => {
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

test('device codes and tokens do not appear in the log, the audit log, or errors', async (t) => {
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
