import test from 'ava';
import { mintRecoveryCodes, readRecoveryCode } from '../../../src/accounts/second-factor.ts';
import { PASSWORD_FRESH_MS } from '../../../src/accounts/passwords.ts';
import { removeSecondFactor, resetPassword } from '../../../src/accounts/password-reset.ts';
import { api } from '../../support/api-harness.ts';
import { STEVE, bytesOf, giveCode, passwordGiven, withSecondFactor } from './authenticator.ts';

test('second-factor setup requires a recent password and an offered key', async (t) => {
  const it = await api(t);
  const browser = await it.browser();
  await browser.ok('POST', '/v1/session/me:signUp', STEVE);
  const ask = async (path: string, body?: object) =>
    (await browser.call('POST', `/v1/session/secondFactor:${path}`, { body })).reason;
  t.is(await ask('confirm', { code: '123456' }), 'NOTHING_OFFERED');
  await it.clock.advance(PASSWORD_FRESH_MS);
  t.is(await ask('begin'), 'PASSWORD_REQUIRED');
  t.is(await ask('confirm', { code: '123456' }), 'PASSWORD_REQUIRED');
  await browser.ok('POST', '/v1/session/me:provePassword', { password: STEVE.password });
  const first = await browser.ok('POST', '/v1/session/secondFactor:begin');
  t.not(
    (await browser.ok('POST', '/v1/session/secondFactor:begin'))['key'],
    first['key'],
    'each call offers a new key',
  );
  t.is((await browser.ok('GET', '/v1/session/secondFactor'))['enabledAt'], null, 'an offered key is not yet enabled');
  await (await it.browser()).ok('POST', '/v1/session/me:signIn', STEVE);
});

test('removing the second factor or renewing its codes needs password and code, and is mailed and audited', async (t) => {
  const it = await api(t);
  const { browser, app, recoveryCodes, userId } = await withSecondFactor(t, it);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "emailVerified" = $1 WHERE "id" = $2', [1, userId]));
  const { password } = STEVE;
  const ask = (path: string, body: object) => browser.call('POST', `/v1/session/secondFactor:${path}`, { body });
  for (const path of ['remove', 'renewRecoveryCodes']) {
    t.is((await ask(path, { password: 'wrong', code: app.code() })).reason, 'WRONG_PASSWORD');
    t.is((await ask(path, { password, code: 'no code' })).reason, 'WRONG_CODE');
  }
  const renewed = await ask('renewRecoveryCodes', { password, code: recoveryCodes[0] });
  const codes = renewed.json['recoveryCodes'] as string[];
  t.is(new Set([...codes, ...recoveryCodes]).size, 20);
  t.is(await giveCode(await passwordGiven(t, it), recoveryCodes[1] ?? ''), 'WRONG_CODE', 'the old codes are void');
  t.is((await ask('remove', { password, code: codes[0] })).status, 200);
  t.is((await ask('remove', { password, code: codes[1] })).reason, 'SECOND_FACTOR_OFF');
  await (await it.browser()).ok('POST', '/v1/session/me:signIn', STEVE);
  t.deepEqual(
    it.letters.filter(({ subject }) => /Two-factor sign-in/.test(subject)).map(({ text }) => text.split(' at ', 1)[0]),
    ['New recovery codes were created for your account', 'Two-factor sign-in was turned off for your account'],
  );
  const entries = await it.store.query<{ action: string }>(
    `SELECT "action" FROM "audit" WHERE "action" LIKE 'secondFactor.%' ORDER BY "id"`,
  );
  t.deepEqual(
    entries.map(({ action }) => action),
    ['secondFactor.on', 'secondFactor.newCodes', 'secondFactor.off'],
  );
  t.deepEqual(await it.store.query('SELECT * FROM "recovery_codes"'), []);
});

test('the second-factor key and the recovery codes are not in plain text in the database or the log', async (t) => {
  const it = await api(t);
  const { browser, app, key, recoveryCodes } = await withSecondFactor(t, it);
  await browser.ok('POST', '/v1/session/me:signOut');
  await giveCode(await passwordGiven(t, it), app.code());
  const [row] = await it.store.query<{ sealedKey: string }>('SELECT * FROM "second_factors"');
  t.regex(row?.sealedKey ?? '', /^[\w-]{60,}$/);
  const stored = JSON.stringify([
    row,
    await it.store.query('SELECT * FROM "recovery_codes"'),
    await it.store.query('SELECT * FROM "audit"'),
  ]);
  const bytes = bytesOf(key);
  for (const code of [
    ...recoveryCodes,
    key,
    ...(['hex', 'base64', 'base64url'] as const).map((form) => bytes.toString(form)),
  ]) {
    t.false(stored.includes(code));
    t.false(it.logged.some((line) => line.includes(code)));
  }
  t.false(it.logged.some((line) => line.includes(row?.sealedKey ?? '?')));
});

test('if operators need a second factor, a session without one cannot run operator calls or mint operator keys', async (t) => {
  const it = await api(t, { config: { operatorsNeedSecondFactor: true } });
  const { browser } = await withSecondFactor(t, it);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1', [1]));
  const without = await it.browser('usr_test');
  const refused = await without.call('GET', '/v1/operator/accounts');
  t.deepEqual([refused.status, refused.reason], [403, 'SECOND_FACTOR_NEEDED']);
  t.true((await without.ok('GET', '/v1/session/secondFactor'))['needed']);
  const key = { name: 'k', scopes: ['operator'] };
  t.is((await without.call('POST', '/v1/session/keys', { body: key })).reason, 'SCOPE_NOT_ALLOWED');
  await browser.ok('GET', '/v1/operator/accounts');
  const { key: minted } = await it.mint(['operator']);
  t.is((await it.call('GET', '/v1/operator/accounts', { key: minted })).status, 200, 'API keys need no second factor');
});

test('an operator can remove the second factor of others, but not their own, in a session with a recent password', async (t) => {
  const it = await api(t);
  const { browser, accountId, userId } = await withSecondFactor(t, it);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1, "emailVerified" = $1', [1]));
  const operator = await it.browser('usr_test');
  const detail = async () => (await operator.ok('GET', `/v1/operator/accounts/${accountId}`))['secondFactor'];
  t.true(await detail());
  const path = `/v1/operator/accounts/${accountId}:removeSecondFactor`;
  const remove = async (by = operator, reason = 'Lost phone') =>
    (await by.call('POST', path, { body: { reason } })).reason;
  t.is(await remove(operator, ' '), 'INVALID_FIELD');
  t.is(await remove(browser), 'OWN_SECOND_FACTOR');
  const { key } = await it.mint(['operator']);
  t.is((await it.call('POST', path, { key, body: { reason: 'x' } })).reason, 'SESSION_ONLY');
  await it.clock.advance(PASSWORD_FRESH_MS);
  t.is(await remove(), 'PASSWORD_REQUIRED');
  const fresh = await it.browser('usr_test');
  t.is(await remove(fresh), '');
  t.is(await remove(fresh), 'SECOND_FACTOR_OFF');
  t.false(await detail());
  t.regex(
    it.letters.at(-1)?.text ?? '',
    /^An operator turned off two-factor sign-in for your account \(“Lost phone”\) at /,
  );
  const [entry] = await it.store.query<{ accountId: string; detail: string }>(
    `SELECT * FROM "audit" WHERE "action" = 'secondFactor.remove'`,
  );
  t.like(entry, { accountId, through: 'session', detail: 'Lost phone' });
  const inside = await (await it.browser()).ok('POST', '/v1/session/me:signIn', STEVE);
  t.is(inside['userId'], userId);
});

test('a password reset on the machine keeps the second factor, and a separate command removes it', async (t) => {
  const it = await api(t);
  const { app } = await withSecondFactor(t, it);
  const text = await resetPassword(it.store, it.clock, STEVE.email);
  t.regex(text, /Two-factor sign-in stays on\. .*npm run remove-second-factor/);
  const [, password = ''] = / is (\w{20})\. /.exec(text) ?? [];
  t.is(await giveCode(await passwordGiven(t, it, password), app.code()), '');
  t.is(await removeSecondFactor(it.store, it.clock, STEVE.email), `Two-factor sign-in is off for ${STEVE.email}.\n`);
  await (await it.browser()).ok('POST', '/v1/session/me:signIn', { ...STEVE, password });
  await t.throwsAsync(removeSecondFactor(it.store, it.clock, STEVE.email), { message: /is off for this account/ });
  t.notRegex(await resetPassword(it.store, it.clock, STEVE.email), /two-factor/i);
});

test('a recovery code is read in upper case, without its dash and with extra spaces', (t) => {
  for (const code of mintRecoveryCodes()) {
    t.regex(code, /^[2-9a-hjkmnp-z]{5}-[2-9a-hjkmnp-z]{5}$/);
    for (const typed of [code, code.toUpperCase(), code.replace('-', ''), ` ${code.replace('-', ' – ')}\n`]) {
      t.is(readRecoveryCode(typed), code, typed);
    }
    t.is(readRecoveryCode(code.slice(1)), undefined);
    t.is(readRecoveryCode(`${code}2`), undefined);
  }
  t.is(readRecoveryCode('123456'), undefined);
});
