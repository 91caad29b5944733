import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { createClosers } from '../../src/kernel/closers.ts';
import { PASSWORD_FRESH_MS } from '../../src/accounts/passwords.ts';
import { LOGIN_RULES } from '../../src/accounts/login-limits.ts';
import { withTimeout } from '../../src/kernel/timeout.ts';
import { Post } from '../../src/mail/mail.ts';
import { type ApiTestOptions, api } from '../support/api-harness.ts';
import { until } from '../support/until.ts';

const STEVE = { email: 'steve@example.org', password: 'correct horse' };
const NEW = 'battery staple';
const HALF_HOUR_MS = 30 * 60_000;

const tokenIn = (text = '') => /new-password\?token=([\w-]{43})/.exec(text)?.[1] ?? '';

/** Steve has an account and is signed in in the browser `steve`. */
async function scene(t: ExecutionContext, options: ApiTestOptions = {}) {
  const it = await api(t, options);
  const steve = await it.browser();
  const me = await steve.ok('POST', '/v1/session/me:signUp', STEVE);
  it.letters.splice(0);
  const stranger = await it.browser();
  const ask = (email = STEVE.email) =>
    stranger.call('POST', '/v1/session/me:requestPasswordReset', { body: { email } });
  /** Requests a link and waits for the e-mail, which is sent after the answer. Returns the link's token. */
  const link = async () => {
    const before = it.letters.length;
    const { status } = await ask();
    t.is(status, 200);
    await until('the e-mail with the link', () => it.letters.length > before);
    return tokenIn(it.letters.at(-1)?.text);
  };
  const reset = (token: string, password = NEW) =>
    stranger.call('POST', '/v1/session/me:resetPassword', { body: { token, password } });
  const signIn = async (password: string) =>
    (await it.browser()).call('POST', '/v1/session/me:signIn', { body: { ...STEVE, password } });
  return { ...it, steve, me, ask, link, reset, signIn, token: () => tokenIn(it.letters.at(-1)?.text) };
}

/** Adds `usr_test` as a signed-in operator. `op` calls an operation on Steve's account. */
async function office(t: ExecutionContext, options: ApiTestOptions = {}) {
  const it = await scene(t, options);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [true, 'usr_test']));
  const operator = await it.browser('usr_test');
  const path = `/v1/operator/accounts/${String(it.me['accountId'])}`;
  const op = (verb: string, body: object) => operator.call('POST', `${path}:${verb}`, { body });
  return { ...it, operator, op, path };
}

test('a reset link replaces a forgotten password once, signs out every browser, and sends an e-mail', async (t) => {
  const it = await scene(t);
  const { key } = await it.mint(['account:read'], { userId: String(it.me['userId']) });
  t.is((await it.ask('  Steve@EXAMPLE.org')).status, 200);
  await until('the e-mail with the link', () => it.letters.length === 1);
  t.like(it.letters[0], { to: STEVE.email, subject: 'Choose a new password for Dormouse' });
  const token = it.token();
  t.is((await it.reset('x'.repeat(43))).reason, 'LINK_INVALID');
  t.is((await it.reset(token, 'short')).reason, 'INVALID_FIELD');
  t.is((await it.reset(token)).status, 200);
  t.is(it.letters.length, 2);
  t.like(it.letters[1], { to: STEVE.email, subject: 'Your Dormouse password was changed' });
  t.is((await it.steve.call('GET', '/v1/session/me')).reason, 'SESSION_REQUIRED');
  t.is((await it.call('GET', '/v1/whoami', { key })).status, 200, 'API keys still work');
  t.is((await it.signIn(STEVE.password)).reason, 'SIGN_IN_FAILED');
  t.is((await it.signIn(NEW)).status, 200);
  t.is((await it.reset(token)).reason, 'LINK_INVALID', 'a link works once');
});

test('a password reset request does not reveal if an address has an account', async (t) => {
  const it = await scene(t);
  const [known, unknown] = [await it.ask(), await it.ask('nobody@example.org')];
  t.deepEqual([known.status, known.text], [unknown.status, unknown.text]);
  await until('the e-mail to the known address', () => it.letters.length > 0);
  t.deepEqual(
    it.letters.map(({ to }) => to),
    [STEVE.email],
  );
  const accepted = async (email: string) => {
    let n = 0;
    while ((await it.ask(email)).status === 200) n++;
    return n;
  };
  t.is(await accepted('nobody@example.org'), LOGIN_RULES.mail.burst - 2, 'the limit counts by network address');
  t.is((await it.ask()).reason, 'TOO_MANY_ATTEMPTS');
});

test('a password reset request is answered before any database access, for known and unknown addresses alike', async (t) => {
  const it = await scene(t);
  const gate = Promise.withResolvers<void>();
  t.teardown(gate.resolve);
  const isHeld = Promise.withResolvers<void>();
  const holding = it.store.write(async () => {
    isHeld.resolve();
    await gate.promise;
  });
  await isHeld.promise;
  const answers = Promise.all([it.ask(), it.ask('nobody@example.org')]);
  // Fails if an answer waits for the database.
  const [known, unknown] = await withTimeout(answers, 20_000);
  t.deepEqual([known.status, known.text], [200, '{}']);
  t.deepEqual([unknown.status, unknown.text], [200, '{}']);
  t.deepEqual(it.letters, []);
  gate.resolve();
  await holding;
  await until('the e-mail to the known address', () => it.letters.length === 1);
  t.is(it.letters[0]?.to, STEVE.email);
});

test('closing waits for e-mails in preparation, and their errors are logged', async (t) => {
  const { onClose, close } = createClosers();
  const logged: unknown[] = [];
  const log = { error: (...given: unknown[]) => void logged.push(given) };
  const post = new Post({ send: async () => {} }, log as never, { baseUrl: '', isSetUp: true });
  onClose(() => post.settled());
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const error = new Error('the database is away');
  post.prepare('the first', () => first.promise);
  post.prepare('the second', () => second.promise);
  post.prepare('the third', () => {
    throw error;
  });
  let isClosed = false;
  const closing = close().then(() => (isClosed = true));
  first.reject(error);
  await delay(10);
  t.false(isClosed, 'the second task still runs');
  second.resolve();
  await closing;
  t.deepEqual(logged, [
    [{ err: error }, 'the third failed'],
    [{ err: error }, 'the first failed'],
  ]);
});

test('a reset link works for half an hour, and a newer password or address voids it', async (t) => {
  const it = await scene(t);
  const late = await it.link();
  await it.clock.jump(it.clock.now() + HALF_HOUR_MS);
  t.is((await it.reset(late)).reason, 'LINK_INVALID');
  const first = await it.link();
  const second = await it.link();
  t.is((await it.reset(first)).status, 200, 'each of several links works');
  t.is((await it.reset(second)).reason, 'LINK_INVALID', 'a used link voids the others');
  const third = await it.link();
  const changed = { current: NEW, replacement: 'a third password' };
  await it.steve.ok('POST', '/v1/session/me:signIn', { ...STEVE, password: NEW });
  await it.steve.ok('POST', '/v1/session/me:changePassword', changed);
  t.is((await it.reset(third)).reason, 'LINK_INVALID');
  const token = await it.link();
  await it.store.write((tx) => tx.run('UPDATE "users" SET "email" = $1 WHERE "email" = $2', ['x@y.z', STEVE.email]));
  t.is((await it.reset(token)).reason, 'LINK_INVALID');
});

test('a confirmation link cannot reset a password, and a reset link cannot confirm an address', async (t) => {
  const it = await scene(t);
  await it.steve.ok('POST', '/v1/session/me:sendVerification');
  const verification = /verify-email\?token=([\w-]+)/.exec(it.letters.at(-1)?.text ?? '')?.[1] ?? '';
  t.is((await it.reset(verification)).reason, 'LINK_INVALID');
  const token = await it.link();
  const body = { token };
  t.is((await it.steve.call('POST', '/v1/session/me:verifyEmail', { body })).reason, 'LINK_INVALID');
  t.is((await it.steve.call('POST', '/v1/session/me:verifyEmail', { body: { token: verification } })).status, 200);
  t.is((await it.reset(token)).status, 200);
});

test('without a mail server, a reset request is refused with the command to run, and an operator can create a link', async (t) => {
  const it = await office(t, { config: { mail: false } });
  const refused = await it.ask();
  t.deepEqual([refused.status, refused.reason], [400, 'MAIL_NOT_SET']);
  t.regex(refused.text, /npm run reset-password/);
  const { json } = await it.op('makeResetLink', { reason: 'Forgot it' });
  t.false(json['sent']);
  const token = tokenIn(String(json['link']));
  t.is((await it.reset(token)).status, 200);
  t.deepEqual(it.letters, []);
  t.false(it.logged.join('').includes(token));
});

test('creating a reset link for another account needs an operator’s session with a recent password', async (t) => {
  const it = await office(t);
  const { key } = await it.mint(['operator']);
  const body = { reason: 'Known by voice' };
  t.is((await it.call('POST', `${it.path}:makeResetLink`, { key, body })).reason, 'SESSION_ONLY');
  t.is((await it.op('makeResetLink', {})).reason, 'INVALID_FIELD');
  const { json } = await it.op('makeResetLink', body);
  t.true(json['sent']);
  t.is(it.letters.at(-1)?.to, STEVE.email);
  t.is(tokenIn(String(json['link'])), it.token());
  t.is((await it.signIn(STEVE.password)).status, 200, 'creating a link does not change the password');
  await it.clock.jump(it.clock.now() + PASSWORD_FRESH_MS);
  t.is((await it.op('makeResetLink', body)).reason, 'PASSWORD_REQUIRED');
  t.is((await it.reset(it.token())).status, 200);
  const unknown = await it.operator.call('POST', '/v1/operator/accounts/acc_none:setOperator', { body });
  t.is(unknown.reason, 'PASSWORD_REQUIRED');
  const stored = JSON.stringify(await it.store.query('SELECT * FROM "audit"'));
  t.regex(stored, /"through":"session","action":"account\.makeResetLink","detail":"Known by voice"/);
  t.regex(stored, /"through":"link","action":"session\.resetPassword"/);
});

test('the operator role is granted and removed at once, only by an operator’s session, and the last one stays', async (t) => {
  const it = await office(t);
  const { key } = await it.mint(['operator', 'account:read'], {
    userId: String(it.me['userId']),
    accountId: String(it.me['accountId']),
  });
  const may = async () => [
    (await it.call('GET', '/v1/operator/accounts', { key })).status,
    (await it.steve.call('GET', '/v1/operator/accounts')).status,
    (await it.operator.ok('GET', it.path))['account'],
  ];
  const steve = (operator: boolean) => ({ email: STEVE.email, operator });
  const shown = async (expected: unknown[], operator: boolean) => {
    const [byKey, bySession, account] = await may();
    t.deepEqual([byKey, bySession], expected);
    t.like(account, steve(operator));
  };
  await shown([403, 403], false);
  const body = { operator: true, reason: 'Helps me' };
  const operators = await it.mint(['operator']);
  t.is((await it.call('POST', `${it.path}:setOperator`, { key: operators.key, body })).reason, 'SESSION_ONLY');
  t.is(
    (await it.steve.call('POST', `${it.path}:setOperator`, { body })).status,
    403,
    'users cannot make themselves operators',
  );
  t.is((await it.op('setOperator', body)).status, 200);
  await shown([200, 200], true);
  t.is((await it.op('setOperator', body)).status, 200, 'granting the role again succeeds');
  t.is((await it.op('setOperator', { operator: false, reason: 'Has left' })).status, 200);
  await shown([403, 403], false);
  const own = await it.operator.call('POST', '/v1/operator/accounts/acc_test:setOperator', {
    body: { operator: false, reason: 'I have had enough' },
  });
  t.is(own.reason, 'LAST_OPERATOR');
  const entries = await it.store.query<{ action: string; through: string; detail: string }>(
    `SELECT * FROM "audit" WHERE "action" LIKE 'account.%Operator' ORDER BY "id"`,
  );
  t.deepEqual(
    entries.map(({ action, through, detail }) => [action, through, detail]),
    [
      ['account.makeOperator', 'session', 'Helps me'],
      ['account.endOperator', 'session', 'Has left'],
    ],
  );
});
