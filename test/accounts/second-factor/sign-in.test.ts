import test from 'ava';
import { LOGIN_RULES } from '../../../src/accounts/login-limits.ts';
import { PENDING_MS } from '../../../src/accounts/sign-in.ts';
import { api } from '../../support/api-harness.ts';
import { STEVE, authenticator, giveCode, passwordGiven, withSecondFactor } from './authenticator.ts';

test('a second factor ends other sessions, and then each sign-in needs the password and an unused code', async (t) => {
  const it = await api(t);
  const browser = await it.browser();
  await browser.ok('POST', '/v1/session/me:signUp', STEVE);
  t.like(await browser.ok('GET', '/v1/session/secondFactor'), { enabledAt: null, recoveryCodes: 0, needed: false });
  const elsewhere = await it.browser();
  await elsewhere.ok('POST', '/v1/session/me:signIn', STEVE);
  const { key, uri } = await browser.ok('POST', '/v1/session/secondFactor:begin');
  t.is(new URL(String(uri)).searchParams.get('secret'), key as string);
  const app = authenticator(String(key), it.clock);
  await elsewhere.ok('GET', '/v1/session/me');
  const confirm = (code: string) => browser.call('POST', '/v1/session/secondFactor:confirm', { body: { code } });
  t.is((await confirm('no code')).reason, 'WRONG_CODE');
  const used = app.code();
  t.is((await confirm(used)).status, 200);
  t.is((await confirm(used)).reason, 'SECOND_FACTOR_ON');
  t.is((await browser.call('POST', '/v1/session/secondFactor:begin')).reason, 'SECOND_FACTOR_ON');
  t.is(
    (await elsewhere.call('GET', '/v1/session/me')).reason,
    'SESSION_REQUIRED',
    'the session was opened without a code',
  );
  t.like(await browser.ok('GET', '/v1/session/secondFactor'), { recoveryCodes: 10 });

  const half = await passwordGiven(t, it);
  t.is((await half.call('GET', '/v1/session/me')).reason, 'SESSION_REQUIRED');
  t.is(await giveCode(half, used), 'WRONG_CODE', 'the code has enabled the factor');
  await it.clock.advance(30_000);
  const other = await passwordGiven(t, it);
  const code = app.code();
  t.is(await giveCode(half, `${code.slice(0, 3)} ${code.slice(3)}`), '');
  t.is((await half.ok('GET', '/v1/session/me'))['email'], STEVE.email);
  t.is(await giveCode(other, code), 'WRONG_CODE', 'the code has signed in another browser');
  const entries = await it.store.query<{ action: string; through: string; detail: string }>(
    `SELECT "action", "through", "detail" FROM "audit" WHERE "action" LIKE 'secondFactor%' OR "action" = 'session.signIn' ORDER BY "id"`,
  );
  t.deepEqual(
    entries.map(({ action, through, detail }) => [action, through, detail]),
    [
      ['session.signIn', 'session', ''],
      ['secondFactor.on', 'session', '1 other sessions ended'],
      ['session.signIn', 'session', 'with a code'],
    ],
  );
});

test('a wrong password gets the same response for an account with a second factor as for an unknown one', async (t) => {
  const it = await api(t);
  await withSecondFactor(t, it);
  const ask = async (email: string) => {
    const visitor = await it.browser();
    const answer = await visitor.call('POST', '/v1/session/me:signIn', { body: { email, password: 'wrong' } });
    return [answer.status, answer.reason, visitor.cookie, answer.json['message']];
  };
  t.deepEqual(await ask(STEVE.email), await ask('nobody@example.com'));
});

test('each recovery code signs in once, in any spelling, and its use is reported by e-mail', async (t) => {
  const it = await api(t);
  const { browser, recoveryCodes, userId } = await withSecondFactor(t, it);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "emailVerified" = $1 WHERE "id" = $2', [1, userId]));
  const [first = '', second = ''] = recoveryCodes;
  t.is(await giveCode(await passwordGiven(t, it), first.toUpperCase().replace('-', ' ')), '');
  t.regex(it.letters.at(-1)?.text ?? '', /A recovery code \(9 left\) was used to sign in to your account/);
  t.is(await giveCode(await passwordGiven(t, it), first), 'WRONG_CODE');
  t.is(await giveCode(await passwordGiven(t, it), second), '');
  t.like(await browser.ok('GET', '/v1/session/secondFactor'), { recoveryCodes: 8 });
});

test('a pending sign-in is bound to its browser and ends after ten minutes or a password change', async (t) => {
  const it = await api(t);
  const { browser, app } = await withSecondFactor(t, it);
  const stranger = await it.browser();
  t.is(await giveCode(stranger, app.code()), 'SIGN_IN_EXPIRED');
  const half = await passwordGiven(t, it);
  for (const forged of [
    'signin=x',
    half.cookie.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    half.cookie.replace(/\.\d/, '.9'),
  ]) {
    stranger.cookie = forged;
    t.is(await giveCode(stranger, app.code()), 'SIGN_IN_EXPIRED', forged);
  }
  await it.clock.advance(PENDING_MS);
  t.is(await giveCode(half, app.code()), 'SIGN_IN_EXPIRED');
  const voided = await passwordGiven(t, it);
  await browser.ok('POST', '/v1/session/me:changePassword', { current: STEVE.password, replacement: 'battery staple' });
  t.is(await giveCode(voided, app.code()), 'SIGN_IN_EXPIRED');
  t.is(await giveCode(await passwordGiven(t, it, 'battery staple'), app.code()), '');
});

test('after five wrong codes even a correct one is refused, except in a known browser', async (t) => {
  const it = await api(t);
  const { app } = await withSecondFactor(t, it);
  const known = await it.browser();
  const asked = await known.call('POST', '/v1/session/me:signIn', { body: STEVE });
  const entered = await known.call('POST', '/v1/session/me:signInWithCode', { body: { code: app.code() } });
  const device =
    entered.headers
      .getSetCookie()
      .find((each) => each.startsWith('device='))
      ?.split(';')[0] ?? '';
  t.regex(device, /^device=./);
  await it.clock.advance(30_000);

  const half = await passwordGiven(t, it);
  const pending = half.cookie;
  for (let n = 0; n < LOGIN_RULES.code.burst; n++) t.is(await giveCode(half, 'no code'), 'WRONG_CODE');
  const refused = await half.call('POST', '/v1/session/me:signInWithCode', { body: { code: app.code() } });
  t.deepEqual([refused.status, refused.reason], [429, 'TOO_MANY_ATTEMPTS']);
  t.is(
    await giveCode(await passwordGiven(t, it), app.code()),
    'TOO_MANY_ATTEMPTS',
    'a new browser gets no new attempts',
  );
  half.cookie = `${device}; ${pending}`;
  t.is(await giveCode(half, app.code()), '');
  t.is(asked.reason, 'CODE_REQUIRED');
});
