import test from 'ava';
import { OPERATIONS } from '../../src/reference.ts';
import { FULL_SCOPES } from '../../src/http/scopes.ts';
import { PASSWORD_FRESH_MS } from '../../src/accounts/passwords.ts';
import { Grants } from '../../src/grants/grants.ts';
import { LOGIN_RULES } from '../../src/accounts/login-limits.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';

const sessionOperations = OPERATIONS.filter((operation) => operation.auth === 'session');

const STEVE = { email: 'Steve@Example.com', password: 'correct horse' };

const tokenOf = ({ letters }: ApiUnderTest) => /token=([\w-]+)/.exec(letters.at(-1)?.text ?? '')?.[1] ?? '';

test('a user can sign up, verify the e-mail address, sign out and sign in again', async (t) => {
  const it = await api(t);
  const browser = await it.browser();
  const me = await browser.ok('POST', '/v1/session/me:signUp', STEVE);
  t.like(me, { email: 'steve@example.com', emailVerified: false, operator: false });
  t.deepEqual(Object.keys(me), ['userId', 'accountId', 'email', 'emailVerified', 'operator', 'csrfToken']);
  t.deepEqual(await browser.ok('GET', '/v1/session/me'), me);

  const token = tokenOf(it);
  const elsewhere = await it.browser();
  const verify = (given: string) => elsewhere.call('POST', '/v1/session/me:verifyEmail', { body: { token: given } });
  t.is((await verify('x'.repeat(43))).reason, 'LINK_INVALID');
  t.is((await verify(token)).status, 200);
  t.is((await verify(token)).reason, 'LINK_INVALID', 'a link works once');
  t.true((await browser.ok('GET', '/v1/session/me'))['emailVerified']);
  await browser.ok('POST', '/v1/session/me:sendVerification');
  t.is(it.letters.length, 1, 'a verified address gets no e-mail');

  const { cookie } = browser;
  await browser.ok('POST', '/v1/session/me:signOut');
  t.is(browser.cookie, 'sid=');
  browser.cookie = cookie;
  t.is(
    (await browser.call('GET', '/v1/session/me')).reason,
    'SESSION_REQUIRED',
    'the session has ended on the server too',
  );
  const refused = await browser.call('POST', '/v1/session/me:signIn', { body: { ...STEVE, password: 'wrong' } });
  t.deepEqual([refused.status, refused.json['code'], refused.reason], [401, 16, 'SIGN_IN_FAILED']);
  t.is((await browser.ok('POST', '/v1/session/me:signIn', STEVE))['userId'], me['userId']);
  t.not(browser.cookie, cookie);
});

test('a verification link expires after a day, and an earlier link still works after a newer one is sent', async (t) => {
  const it = await api(t);
  const browser = await it.browser();
  await browser.ok('POST', '/v1/session/me:signUp', STEVE);
  const first = tokenOf(it);
  await it.clock.jump(it.clock.now() + 86_400_000);
  t.is((await browser.call('POST', '/v1/session/me:verifyEmail', { body: { token: first } })).reason, 'LINK_INVALID');
  await browser.ok('POST', '/v1/session/me:sendVerification');
  const second = tokenOf(it);
  await browser.ok('POST', '/v1/session/me:sendVerification');
  t.not(tokenOf(it), second);
  await browser.ok('POST', '/v1/session/me:verifyEmail', { token: second });
  t.is(it.letters.length, 3);
});

test('requests for verification e-mails are rate-limited', async (t) => {
  const { browser } = await api(t);
  const visitor = await browser();
  await visitor.ok('POST', '/v1/session/me:signUp', STEVE);
  for (let n = 0; n < 10; n++) await visitor.ok('POST', '/v1/session/me:sendVerification');
  const refused = await visitor.call('POST', '/v1/session/me:sendVerification');
  t.deepEqual([refused.status, refused.reason], [429, 'TOO_MANY_ATTEMPTS']);
  t.truthy(refused.headers.get('retry-after'));
});

test('sign-up lists the fields with an invalid e-mail address or password', async (t) => {
  const { browser, call } = await api(t);
  const visitor = await browser();
  const reasons = async (body: object) => {
    const { json, reason } = await visitor.call('POST', '/v1/session/me:signUp', { body });
    t.is(reason, 'INVALID_FIELD');
    return (json['details'] as { metadata?: { fields: string } }[])[0]?.metadata?.fields;
  };
  t.is(await reasons({}), 'email,password');
  t.is(await reasons({ email: 'x', password: 'long enough' }), 'email');
  t.is(await reasons({ email: 'a@b.c', password: 'seven!!' }), 'password');
  t.is(await reasons({ email: 'a@b.c', password: 'ü'.repeat(513) }), 'password');
  t.is(
    (await visitor.call('POST', '/v1/session/me:signUp', { body: { email: 'a@b.c', password: 'ü'.repeat(4) } })).status,
    200,
  );
  t.is((await call('GET', '/v1/session/me:signUp', { key: null })).status, 405);
});

test('session operations require a session, writes also a CSRF token and our origin, and API keys are rejected', async (t) => {
  const it = await api(t);
  const expired = await it.browser('usr_test');
  await it.clock.jump(it.clock.now() + 14 * 86_400_000);
  const signedIn = await it.browser('usr_test');
  const ended = await it.browser('usr_test');
  await ended.ok('POST', '/v1/session/me:signOut');
  const { key } = await it.mint(FULL_SCOPES);
  const cookie = { cookie: signedIn.cookie };
  const credentials: Record<string, Record<string, string>> = {
    nothing: {},
    'an API key': { 'x-api-key': key },
    garbage: { cookie: 'sid=garbage' },
    'an ended session': { cookie: ended.cookie },
    'an expired session': { cookie: expired.cookie, 'x-csrf-token': expired.csrf },
    'two sessions': { cookie: `${signedIn.cookie}; ${signedIn.cookie}` },
    'a cookie of another name': { cookie: signedIn.cookie.replace('sid=', '__Host-sid=') },
  };
  for (const { id, method, path } of sessionOperations.filter((each) => each.signedIn)) {
    const ask = async (headers: Record<string, string>) => {
      const answer = await it.call(method.toUpperCase(), path, { key: null, headers });
      return [answer.status, answer.json['code'], answer.reason];
    };
    for (const [name, headers] of Object.entries(credentials)) {
      t.deepEqual(await ask(headers), [401, 16, 'SESSION_REQUIRED'], `${id} with ${name}`);
    }
    if (method === 'get') {
      t.deepEqual(await ask(cookie), [200, undefined, ''], id);
      continue;
    }
    for (const csrf of ['', 'x', expired.csrf]) {
      t.deepEqual(await ask({ ...cookie, 'x-csrf-token': csrf }), [403, 7, 'CSRF_TOKEN_INVALID'], id);
    }
  }
  for (const { id, method, path } of sessionOperations.filter(({ method }) => method !== 'get')) {
    for (const [name, value] of [
      ['origin', 'https://evil.example'],
      ['sec-fetch-site', 'cross-site'],
    ] as const) {
      const headers = { ...cookie, 'x-csrf-token': signedIn.csrf, [name]: value };
      const answer = await it.call(method.toUpperCase(), path, { key: null, headers });
      t.deepEqual([answer.status, answer.reason], [403, 'CROSS_SITE'], id);
    }
  }
  t.is((await signedIn.call('GET', '/v1/session/me')).status, 200, 'no refused request ended the session');
});

test('sessions can be listed and ended, one at a time or all others at once', async (t) => {
  const it = await api(t);
  const [here, there, third] = [
    await it.browser('usr_test'),
    await it.browser('usr_test'),
    await it.browser('usr_test'),
  ];
  await it.stranger();
  const foreign = await it.browser('usr_other');
  const list = async () => (await here.ok('GET', '/v1/session/sessions'))['sessions'] as Record<string, unknown>[];
  const sessions = await list();
  t.is(sessions.length, 3);
  t.is(sessions.filter(({ current }) => current).length, 1);
  t.like(sessions[0], { address: '127.0.0.1', userAgent: 'test' });
  const [foreignId] = ((await foreign.ok('GET', '/v1/session/sessions'))['sessions'] as { sessionId: string }[]).map(
    ({ sessionId }) => sessionId,
  );
  const end = (sessionId: unknown) => here.call('POST', '/v1/session/sessions:end', { body: { sessionId } });
  t.is((await end(foreignId)).reason, 'SESSION_NOT_FOUND');
  t.is((await foreign.call('GET', '/v1/session/me')).status, 200);
  t.is((await end(sessions.find(({ current }) => !current)?.['sessionId'])).status, 200);
  const left = [await there.call('GET', '/v1/session/me'), await third.call('GET', '/v1/session/me')];
  t.is(left.filter(({ status }) => status === 200).length, 1);
  t.deepEqual(await here.ok('POST', '/v1/session/sessions:endOthers'), { ended: 1 });
  t.is((await list()).length, 1);
});

test('a new API key is shown once, has only its own scopes, and stops working when revoked', async (t) => {
  const it = await api(t);
  const browser = await it.browser('usr_test');
  const wanted = { name: 'backup script', scopes: ['servers:read', 'servers:read', 'backups'] };
  const minted = await browser.ok('POST', '/v1/session/keys', wanted);
  const apiKey = String(minted['apiKey']);
  const now = new Date(it.clock.now()).toISOString();
  const { keyId } = minted['key'] as { keyId: string };
  t.deepEqual(minted['key'], {
    keyId,
    name: 'backup script',
    prefix: 'dmk_',
    last4: apiKey.slice(-4),
    scopes: ['servers:read', 'backups'],
    serverIds: [],
    createdAt: now,
    lastUsedAt: null,
    expiresAt: null,
  });
  t.is((await it.call('GET', '/v1/servers', { key: apiKey })).status, 200);
  t.is((await it.call('GET', '/v1/servers/abc/members', { key: apiKey })).reason, 'SCOPE_MISSING');
  await it.store.write(async () => {});
  const listed = await browser.call('GET', '/v1/session/keys');
  const keys = listed.json['keys'] as Record<string, unknown>[];
  t.like(
    keys.find((key) => key['keyId'] === keyId),
    { last4: apiKey.slice(-4), lastUsedAt: now },
  );
  t.false(listed.text.includes(apiKey));
  t.false(JSON.stringify(await it.store.query('SELECT * FROM "api_keys"')).includes(apiKey));
  t.false(JSON.stringify(await it.store.query('SELECT * FROM "audit"')).includes(apiKey));
  t.false(it.logged.join('').includes(apiKey));

  const heard: unknown[] = [];
  it.services.accessChanges.onAccessChange((change) => heard.push(change));
  await browser.ok('POST', '/v1/session/keys:revoke', { keyId });
  t.is((await it.call('GET', '/v1/servers', { key: apiKey })).status, 401);
  t.deepEqual(heard, [{ keyId }]);
  t.is((await browser.call('POST', '/v1/session/keys:revoke', { body: { keyId } })).reason, 'KEY_NOT_FOUND');
  t.false(JSON.stringify(await browser.ok('GET', '/v1/session/keys')).includes(keyId));
});

test('requests for API keys are validated, and an account can have at most fifty unexpired keys', async (t) => {
  const it = await api(t);
  const browser = await it.browser('usr_test');
  const foreign = await it.stranger();
  await it.call('POST', '/v1/servers', { key: foreign, body: { name: 'Foreign', ramMb: 256 } });
  await it.ok('POST', '/v1/servers', { name: 'Mine', ramMb: 256 });
  const mint = async (body: object) => {
    const answer = await browser.call('POST', '/v1/session/keys', {
      body: { name: 'x', scopes: ['backups'], ...body },
    });
    return answer.reason || answer.status;
  };
  t.is(await mint({ name: '' }), 'INVALID_FIELD');
  t.is(await mint({ scopes: [] }), 'INVALID_FIELD');
  t.is(await mint({ scopes: ['servers:list'] }), 'INVALID_FIELD');
  t.is(await mint({ scopes: ['operator'] }), 'SCOPE_NOT_ALLOWED');
  t.is(await mint({ expiresAt: '2020-01-01T00:00:00Z' }), 'INVALID_FIELD');
  t.is(await mint({ expiresAt: 'tomorrow' }), 'INVALID_FIELD');
  t.is(await mint({ serverIds: [] }), 'INVALID_FIELD');
  t.is(await mint({ serverIds: ['foreign'] }), 'SERVER_NOT_FOUND');
  t.is(await mint({ serverIds: ['nowhere'] }), 'SERVER_NOT_FOUND');
  t.is(await mint({ serverIds: ['mine'] }), 200);

  const expiresAt = new Date(it.clock.now() + 60_000).toISOString();
  const short = await browser.ok('POST', '/v1/session/keys', { name: 'x', scopes: ['servers:read'], expiresAt });
  t.is((await it.call('GET', '/v1/servers', { key: String(short['apiKey']) })).status, 200);
  await it.clock.advance(60_000);
  t.is((await it.call('GET', '/v1/servers', { key: String(short['apiKey']) })).status, 401);

  const { keys } = (await browser.ok('GET', '/v1/session/keys')) as { keys: unknown[] };
  for (let n = keys.length - 1; n < 50; n++) t.is(await mint({}), 200);
  t.is(await mint({}), 'MAX_KEYS', 'expired keys do not count');
});

test('new keys and full-access grants need a recent password and are reported by e-mail', async (t) => {
  const it = await api(t);
  const browser = await it.browser();
  await browser.ok('POST', '/v1/session/me:signUp', STEVE);
  await browser.ok('POST', '/v1/session/me:verifyEmail', { token: tokenOf(it) });
  const mint = () => browser.call('POST', '/v1/session/keys', { body: { name: 'x', scopes: ['servers:read'] } });
  const grants = new Grants({ ...it.services, secret: it.services.secret });
  const approve = async (clientId: string | null) => {
    const started = await grants.start({ clientId, scope: '', ip: '', userAgent: '' });
    const userCode = 'userCode' in started ? started.userCode : '';
    return browser.call('POST', '/v1/session/device:approve', { body: { userCode } });
  };
  const prove = (password: string) => browser.call('POST', '/v1/session/me:provePassword', { body: { password } });
  await it.connect('usr_test', 'app_1');
  const letters = () => it.letters.splice(0).map(({ to, subject }) => `${to}: ${subject}`);
  letters();
  t.is((await mint()).status, 200, 'right after the sign-up');
  t.deepEqual(letters(), ['steve@example.com: A new key for your Dormouse account']);
  await it.clock.advance(PASSWORD_FRESH_MS);
  const refused = await mint();
  t.deepEqual([refused.status, refused.reason], [403, 'PASSWORD_REQUIRED']);
  t.is((await approve(null)).reason, 'PASSWORD_REQUIRED');
  t.is((await approve('app_1')).status, 200, 'limited access needs no password');
  t.is((await prove('wrong password')).reason, 'WRONG_PASSWORD');
  t.is((await mint()).reason, 'PASSWORD_REQUIRED');
  t.deepEqual(letters(), []);
  t.is((await prove(STEVE.password)).status, 200);
  t.is((await mint()).status, 200);
  t.is((await approve(null)).status, 200);
  t.is(letters().length, 2);
  await it.clock.advance(PASSWORD_FRESH_MS);
  t.is((await mint()).reason, 'PASSWORD_REQUIRED');
  const guesses = new Set<string>();
  for (let n = 0; n <= LOGIN_RULES.own.burst; n++) guesses.add((await prove('wrong password')).reason);
  t.deepEqual([...guesses], ['WRONG_PASSWORD', 'TOO_MANY_ATTEMPTS']);
});

test('an operator can create a key with the operator scope', async (t) => {
  const it = await api(t);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const browser = await it.browser('usr_test');
  t.true((await browser.ok('GET', '/v1/session/me'))['operator']);
  await browser.ok('POST', '/v1/session/keys', { name: 'x', scopes: ['operator'] });
});

test('a password change needs the current password, ends other sessions, and keeps keys and apps', async (t) => {
  const it = await api(t);
  const browser = await it.browser();
  const { userId } = await browser.ok('POST', '/v1/session/me:signUp', STEVE);
  const { apiKey } = await browser.ok('POST', '/v1/session/keys', { name: 'x', scopes: ['servers:read'] });
  const token = await it.connect(String(userId), 'app_1');
  const other = await it.browser(String(userId));
  const change = (current: string, replacement: string) =>
    browser.call('POST', '/v1/session/me:changePassword', { body: { current, replacement } });
  t.is((await change('wrong one', 'new password')).reason, 'WRONG_PASSWORD');
  t.is((await change(STEVE.password, 'short')).reason, 'INVALID_FIELD');
  t.is((await change(STEVE.password, 'new password')).status, 200);
  t.is((await other.call('GET', '/v1/session/me')).status, 401);
  t.is((await browser.call('GET', '/v1/session/me')).status, 200);
  t.is((await it.call('GET', '/v1/servers', { key: String(apiKey) })).status, 200);
  const headers = { authorization: `Bearer ${token}` };
  t.is((await it.call('GET', '/v1/me/servers', { key: null, headers })).status, 200);
});

test('connected apps are listed, and revoking one ends its access at once', async (t) => {
  const it = await api(t);
  const browser = await it.browser('usr_test');
  const one = await it.connect('usr_test', 'app_1');
  await it.clock.advance(1);
  const two = await it.connect('usr_test', 'app_2');
  const apps = (await browser.ok('GET', '/v1/session/apps'))['apps'] as object[];
  t.is(apps.length, 2);
  t.like(apps[0], { clientId: 'app_1', name: 'App app_1', scopes: ['servers:list'], lastUsedAt: null });
  const ask = async (token: string) =>
    (await it.call('GET', '/v1/whoami', { key: null, headers: { authorization: `Bearer ${token}` } })).status;
  t.deepEqual([await ask(one), await ask(two)], [200, 200]);
  await browser.ok('POST', '/v1/session/apps:revoke', { clientId: 'app_1' });
  t.deepEqual([await ask(one), await ask(two)], [401, 200]);
  const again = await browser.call('POST', '/v1/session/apps:revoke', { body: { clientId: 'app_1' } });
  t.is(again.reason, 'APP_NOT_FOUND');
});

test('over HTTPS the session cookie has the __Host- prefix, and a cookie without it is rejected', async (t) => {
  const it = await api(t, { config: { baseUrl: 'https://panel.example' } });
  const browser = await it.browser();
  const { headers } = await browser.call('POST', '/v1/session/me:signUp', { body: STEVE });
  t.regex(headers.getSetCookie().join(), /^__Host-sid=[\w-]{43}; .*HttpOnly; SameSite=Lax; Secure$/);
  t.is((await browser.call('GET', '/v1/session/me')).status, 200);
  browser.cookie = browser.cookie.replace('__Host-', '');
  t.is((await browser.call('GET', '/v1/session/me')).status, 401);
});
