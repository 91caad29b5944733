import test, { type ExecutionContext } from 'ava';
import { type BrowserUnderTest } from '../support/api-harness.ts';
import { openPanel } from '../support/panel.ts';

const WEEK_MS = 7 * 86_400_000;
const SOMEONE = { email: 'steve@example.org', password: 'correct horse' };

/** A server of `usr_test`, the operator while `operator`. Sign-up is closed. */
async function scene(t: ExecutionContext, operator = true) {
  const it = await openPanel(t, { config: { signup: 'closed' } });
  await it.create('castle');
  const setOperator = (is: boolean) =>
    it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [is, 'usr_test']));
  await setOperator(operator);
  const tokenIn = (text: string) => /invitation=([\w-]{43})/.exec(text)?.[1] ?? '';
  /** Creates a link in the panel, with the rights of the session. */
  const operatorLink = async () => {
    const shown = await it.submit('/servers/castle/members/invite', { email: '', role: 'limited' });
    return tokenIn(await shown.text());
  };
  const link = async (body: object = { role: 'limited' }) => {
    const { link: address, memberId } = await it.ok('POST', '/v1/servers/castle/members', body);
    return { token: tokenIn(String(address)), memberId: String(memberId) };
  };
  const visitor = async () => {
    const browser = await it.browser();
    const { headers, text } = await it.get('/sign-in', browser);
    const [cookie = ''] = headers.get('set-cookie')?.split(';') ?? [];
    return { ...browser, cookie, csrf: /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '' };
  };
  const join = async (invitation: string, fields: object = SOMEONE, browser?: BrowserUnderTest) =>
    it.submit('/join', { invitation, ...fields }, browser ?? (await visitor()));
  const page = async (invitation: string, browser?: BrowserUnderTest) =>
    it.get(`/join?invitation=${invitation}`, browser ?? (await it.browser()));
  const members = async () =>
    (await it.ok('GET', '/v1/servers/castle/members'))['members'] as Record<string, unknown>[];
  return { ...it, setOperator, operatorLink, link, join, page, members };
}

test('a link creates one account and one membership, and then works for no one else', async (t) => {
  const it = await scene(t);
  const token = await it.operatorLink();
  t.like((await it.members())[0], { email: '', pending: true });
  t.regex((await it.page(token)).text, /Create an account and join/);
  const answers = await Promise.all([it.join(token), it.join(token, { ...SOMEONE, email: 'alex@example.org' })]);
  t.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [303, 404],
  );
  t.is(answers.find(({ status }) => status === 303)?.headers.get('location'), '/servers/castle?done=joined');
  const [member, ...others] = await it.members();
  t.like(member, { role: 'limited', pending: false });
  t.deepEqual(others, []);
  t.is(
    (await it.store.query('SELECT * FROM "users" WHERE "email" IN ($1, $2)', [SOMEONE.email, 'alex@example.org']))
      .length,
    1,
  );
  t.is((await it.page(token)).status, 404);
  t.is(
    (await it.store.query('SELECT * FROM "members" WHERE "linkHash" = $1', [token])).length,
    0,
    'only its hash is stored',
  );
});

test('a user joins by a link once, and the owner cannot join', async (t) => {
  const it = await scene(t);
  await it.stranger();
  const friend = await it.browser('usr_other');
  const { token } = await it.link({ role: 'member' });
  t.is((await it.join(token, {}, it.owner)).status, 409);
  t.regex((await it.page(token, friend)).text, /You are signed in as stranger@example\.com/);
  const invited = await it.link({ role: 'limited', email: 'stranger@example.com' });
  for (let nth = 0; nth < 2; nth++) {
    const joined = await it.join(token, {}, friend);
    t.is(joined.headers.get('location'), '/servers/castle?done=joined');
  }
  t.like(await it.members(), [{ email: 'stranger@example.com', role: 'member', pending: false }], 'replaces the other');
  t.is((await it.page(invited.token)).status, 404);
  const second = await it.link();
  t.is((await it.join(second.token, {}, friend)).status, 303);
  t.is((await it.page(second.token)).status, 200, 'a member uses up no link');
});

test('a link stops working after seven days and when it is revoked', async (t) => {
  const it = await scene(t);
  const { token } = await it.link();
  const revoked = await it.link();
  await it.ok('POST', '/v1/servers/castle/members:remove', { memberId: revoked.memberId });
  t.is((await it.join(revoked.token)).status, 404);
  await it.clock.advance(WEEK_MS);
  t.is((await it.join(token)).status, 404);
  t.is((await it.page('x'.repeat(43))).status, 404);
  await it.link();
  t.is((await it.members()).length, 1, 'a new link removes expired ones');
});

test('without a valid link, the answer does not depend on whether an address has an account', async (t) => {
  const it = await scene(t);
  await it.stranger();
  const bound = await it.link({ role: 'limited', email: 'alex@example.org' });
  for (const token of ['x'.repeat(43), 'junk', '', bound.token]) {
    const known = await it.join(token, { ...SOMEONE, email: 'stranger@example.com' });
    const unknown = await it.join(token);
    t.deepEqual([known.status, unknown.status], [404, 404], token);
  }
});

test('an unconfirmed address does not replace the invitation of its owner', async (t) => {
  const it = await scene(t);
  await it.link({ role: 'member', email: SOMEONE.email });
  t.is((await it.join(await it.operatorLink())).status, 409);
  const theirs = (await it.members()).filter(({ email }) => email === SOMEONE.email);
  t.like(theirs, [{ role: 'member', pending: true }]);
});

test('an expired invitation of an address is replaced by a new one', async (t) => {
  const it = await scene(t);
  await it.link({ role: 'member', email: SOMEONE.email });
  await it.clock.advance(WEEK_MS);
  await it.link({ role: 'limited', email: SOMEONE.email });
  t.like(await it.members(), [{ email: SOMEONE.email, role: 'limited', pending: true }]);
});

test('a link with an address works for this address alone', async (t) => {
  const it = await scene(t);
  await it.submit('/servers/castle/members/invite', { email: SOMEONE.email, role: 'limited' });
  const token = /invitation=([\w-]{43})/.exec(it.letters.at(-1)?.text ?? '')?.[1] ?? '';
  t.is((await it.join(token, { ...SOMEONE, email: 'alex@example.org' })).status, 404);
  t.is((await it.store.query('SELECT * FROM "users" WHERE "email" = $1', ['alex@example.org'])).length, 0);
  t.is((await it.join(token)).status, 303);
  t.like(await it.members(), [{ email: SOMEONE.email, pending: false }]);
});

test('while sign-up is closed, only a link made with the rights of a present operator creates an account', async (t) => {
  const it = await scene(t, false);
  const { token } = await it.link();
  const { text } = await it.page(token);
  t.regex(text, /ask your administrator/);
  t.true(text.includes(`/sign-in?next=${encodeURIComponent(`/join?invitation=${token}`)}`));
  t.is((await it.join(token)).status, 404);
  await it.setOperator(true);
  t.is((await it.join(token)).status, 404);
  t.is((await it.join((await it.link()).token)).status, 404, 'the key lacks the scope of operators');
  const byOperator = await it.operatorLink();
  t.regex((await it.page(byOperator)).text, /Create an account and join/);
  await it.setOperator(false);
  t.is((await it.join(byOperator)).status, 404);
});
