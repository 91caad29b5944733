import test, { type ExecutionContext } from 'ava';
import { type ApiTestOptions, api } from '../support/api-harness.ts';

const STEVE = { email: 'steve@example.org', password: 'correct horse' };
const NEW = 'new@example.org';

const tokenIn = (text = '') => /verify-email\?token=([\w-]{43})/.exec(text)?.[1] ?? '';

/** Steve has a confirmed address and is signed in in the browser `steve`. */
async function scene(t: ExecutionContext, options: ApiTestOptions = {}) {
  const it = await api(t, options);
  const steve = await it.browser();
  const me = await steve.ok('POST', '/v1/session/me:signUp', STEVE);
  await steve.ok('POST', '/v1/session/me:verifyEmail', { token: tokenIn(it.letters.at(-1)?.text) });
  it.letters.splice(0);
  return {
    ...it,
    steve,
    me,
    change: (email: string, password = STEVE.password) =>
      steve.call('POST', '/v1/session/me:changeEmail', { body: { email, password } }),
    confirm: async (token: string) =>
      (await it.browser()).call('POST', '/v1/session/me:verifyEmail', { body: { token } }),
    who: async () => (await steve.ok('GET', '/v1/session/me'))['email'],
    signIn: async (email: string) =>
      (await it.browser()).call('POST', '/v1/session/me:signIn', { body: { ...STEVE, email } }),
  };
}

test('changing the e-mail address needs the password and a confirmation link, and keeps sessions and keys', async (t) => {
  const it = await scene(t);
  const { key } = await it.mint(['account:read'], { userId: String(it.me['userId']) });
  t.is((await it.change(NEW, 'wrong password')).reason, 'WRONG_PASSWORD');
  t.is((await it.change(STEVE.email)).reason, 'SAME_EMAIL');
  t.deepEqual((await it.change(' New@Example.org')).json, { sent: true });
  t.deepEqual(
    it.letters.map(({ to, subject }) => [to, subject]),
    [[NEW, 'Confirm your new e-mail address for Dormouse']],
  );
  t.is(await it.who(), STEVE.email, 'the address has not changed yet');
  const token = tokenIn(it.letters[0]?.text);
  t.is((await it.confirm(token)).status, 200);
  t.like(await it.steve.ok('GET', '/v1/session/me'), { email: NEW, emailVerified: true });
  t.like(it.letters.at(-1), { to: STEVE.email, subject: 'The e-mail address of your Dormouse account was changed' });
  t.like((await it.call('GET', '/v1/whoami', { key })).json, { email: NEW });
  t.is((await it.signIn(STEVE.email)).reason, 'SIGN_IN_FAILED');
  t.is((await it.signIn(NEW)).status, 200);
  t.is((await it.confirm(token)).reason, 'LINK_INVALID', 'a link works once');
  const [account] = await it.store.query<{ name: string }>('SELECT "name" FROM "accounts" WHERE "id" = $1', [
    String(it.me['accountId']),
  ]);
  t.is(account?.name, NEW);
  const [entry] = await it.store.query<{ through: string; detail: string }>(
    `SELECT "through", "detail" FROM "audit" WHERE "action" = 'session.changeEmail'`,
  );
  t.like(entry, { through: 'link', detail: `${STEVE.email} to ${NEW}` });
});

test('changing to an address that already has an account reveals that only by e-mail', async (t) => {
  const it = await scene(t);
  const [free, taken] = [await it.change(NEW), await it.change('owner@example.com')];
  t.deepEqual([free.status, free.text], [taken.status, taken.text]);
  t.like(it.letters.at(-1), { to: 'owner@example.com', subject: 'You have an account at Dormouse' });
  t.is(tokenIn(it.letters.at(-1)?.text), '');
});

test('only the latest address link works, for one day, and not once the address belongs to another account', async (t) => {
  const it = await scene(t);
  await it.change('first@example.org');
  const first = tokenIn(it.letters.at(-1)?.text);
  await it.change(NEW);
  t.is((await it.confirm(first)).reason, 'LINK_INVALID');
  const second = tokenIn(it.letters.at(-1)?.text);
  await (await it.browser()).ok('POST', '/v1/session/me:signUp', { ...STEVE, email: NEW });
  t.is((await it.confirm(second)).reason, 'USER_EXISTS');
  await it.change('third@example.org');
  const third = tokenIn(it.letters.at(-1)?.text);
  await it.clock.jump(it.clock.now() + 86_400_000);
  t.is((await it.confirm(third)).reason, 'LINK_INVALID');
  t.is(await it.who(), STEVE.email);
});

test('changing the password voids a pending link to another e-mail address', async (t) => {
  const it = await scene(t);
  await it.change(NEW);
  const token = tokenIn(it.letters.at(-1)?.text);
  await it.steve.ok('POST', '/v1/session/me:changePassword', {
    current: STEVE.password,
    replacement: 'battery staple',
  });
  t.is((await it.confirm(token)).reason, 'LINK_INVALID');
});

test('without a mail server, the e-mail address changes at once and is unconfirmed', async (t) => {
  const it = await scene(t, { config: { mail: false } });
  t.is((await it.change('owner@example.com')).reason, 'USER_EXISTS');
  t.deepEqual((await it.change(NEW)).json, { sent: false });
  t.like(await it.steve.ok('GET', '/v1/session/me'), { email: NEW, emailVerified: false });
  t.deepEqual(it.letters, []);
});

test('after an address change a member keeps one membership and sees invitations to the new address', async (t) => {
  const it = await scene(t);
  for (const id of ['abc', 'xyz']) await it.create(id);
  const invite = (id: string, email: string) => it.ok('POST', `/v1/servers/${id}/members`, { email, role: 'limited' });
  const { memberId } = await invite('abc', STEVE.email);
  await it.steve.ok('POST', '/v1/session/invitations:accept', { memberId });
  await invite('abc', NEW);
  await invite('xyz', NEW);
  await it.change(NEW);
  const letter = it.letters.find(({ subject }) => subject.startsWith('Confirm your new'));
  t.is((await it.confirm(tokenIn(letter?.text))).status, 200);
  const open = (await it.steve.ok('GET', '/v1/session/invitations'))['invitations'] as { serverId: string }[];
  t.deepEqual(
    open.map(({ serverId }) => serverId),
    ['xyz'],
  );
  const { members } = await it.ok('GET', '/v1/servers/abc/members');
  t.like(members, [{ memberId, email: NEW, pending: false }]);
  t.is((members as object[]).length, 1);
});
