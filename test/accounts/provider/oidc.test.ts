import test, { type ExecutionContext } from 'ava';
import { FLOW_MS } from '../../../src/accounts/provider.ts';
import { putAccountInvitation } from '../../../src/accounts/link-rows.ts';
import { getUserByEmail } from '../../../src/accounts/rows.ts';
import { closeBrowser, openTab } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { PHONE, accessible } from '../../support/panel.ts';
import { STEVE as AUTHENTICATED, withSecondFactor } from '../second-factor/authenticator.ts';
import { type ProviderSite, openProviderSite, reader } from './site.ts';

const STEVE = { email: 'steve@example.org', password: 'correct horse' };
const START = '/sign-in/provider';

test.after.always(closeBrowser);

const provider = test.runIf(isHere('tools'));

/** A site with Steve at the provider, who has just signed in there. */
async function site(t: ExecutionContext, config: Parameters<typeof openProviderSite>[1] = {}): Promise<ProviderSite> {
  const it = await openProviderSite(t, config);
  it.people['st1'] = { email: STEVE.email, email_verified: true };
  it.present.id = 'st1';
  return it;
}

async function actions({ store }: ProviderSite, like: string): Promise<string[]> {
  const sql = `SELECT "action", "detail" FROM "audit" WHERE "action" LIKE $1 ORDER BY "id"`;
  const rows = await store.query<{ action: string; detail: string }>(sql, [like]);
  return rows.map((row) => `${row.action} ${row.detail}`.trim());
}

async function signUpByPassword(it: ProviderSite, { isConfirmed }: { isConfirmed: boolean }) {
  const browser = await it.browser();
  await browser.ok('POST', '/v1/session/me:signUp', STEVE);
  if (isConfirmed) await it.store.write((tx) => tx.run(`UPDATE "users" SET "emailVerified" = TRUE`, []));
  return browser;
}

provider('a first sign-in with the provider creates an account, and later ones find it by its id', async (t) => {
  const it = await site(t);
  t.deepEqual(it.asked, [], 'the provider is not asked at the start');
  const browser = reader(it);
  await browser.open('/sign-in?next=%2Fprofile');
  t.regex(browser.text(), /href="\/sign-in\/provider\?next=%2Fprofile">Sign in with Club</);
  t.is(await browser.open(`${START}?next=%2Fprofile`), 200);
  t.is(browser.path(), '/profile');
  t.regex(browser.text(), /steve@example\.org[^]*confirmed[^]*Linked to steve@example\.org/);
  t.deepEqual(await actions(it, 'session.%'), [
    'session.signUp',
    'session.linkProvider Club',
    'session.signIn with Club',
  ]);
  it.people['st1'] = { email: 'renamed@example.org', email_verified: false };
  const again = reader(it);
  await again.open(START);
  t.is(again.path(), '/servers');
  await again.open('/profile');
  t.regex(again.text(), /steve@example\.org/, 'an address that changes there does not change it here');
  t.is(it.asked.filter((each) => each.includes('.well-known')).length, 1, 'the addresses of the provider are cached');
  t.notRegex(it.logged.join('\n'), /provider-secret|access_token|id_token|code=/);
});

provider('a sign-in leads to the device that waits for consent, and never to another site', async (t) => {
  const it = await site(t);
  const device = reader(it);
  await device.open(`${START}?next=${encodeURIComponent('/device?code=BCDF-GHJK')}`);
  t.is(device.path(), '/device?code=BCDF-GHJK');
  for (const evil of ['https://evil.example/', '//evil.example', '/\\evil.example', '/sign-in/provider']) {
    const browser = reader(it);
    await browser.open(`${START}?next=${encodeURIComponent(evil)}`);
    t.is(browser.path(), '/servers', evil);
  }
});

provider('an existing account is linked only if its own address and the provider’s are confirmed', async (t) => {
  const it = await site(t);
  await signUpByPassword(it, { isConfirmed: false });
  const browser = reader(it);
  t.is(await browser.open(START), 400);
  t.regex(browser.text(), /exists, but has not confirmed it/);
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "emailVerified" = TRUE`, []));
  it.people['st1']!.email_verified = false;
  t.is(await browser.open(START), 400);
  t.regex(browser.text(), /Club has not confirmed your e-mail address/);
  it.people['st1']!.email_verified = true;
  t.is(await browser.open(START), 200);
  t.is(browser.path(), '/servers');
  const sql = `SELECT COUNT(*) AS "count" FROM "users" WHERE "email" = $1`;
  t.is(Number((await it.store.query<{ count: number }>(sql, [STEVE.email]))[0]?.count), 1);

  // A new owner of the address at the provider is not the person whose account it is.
  it.people['st2'] = { email: STEVE.email, email_verified: true };
  it.present.id = 'st2';
  const other = reader(it);
  t.is(await other.open(START), 400);
  t.regex(other.text(), /is linked to another account at Club/);
});

provider(
  'a callback works once, in the browser that began, for ten minutes, with the state it began with',
  async (t) => {
    const it = await site(t);
    const browser = reader(it);
    const callback = await browser.toCallback(START);
    const refused = async (who: ReturnType<typeof reader>, to: string) => {
      t.is(await who.open(to), 403, to);
      t.regex(who.text(), /has expired, was used before, or began in another browser/);
      t.false(who.cookies().has('sid'));
    };
    await refused(reader(it), callback);
    const forged = new URL(callback);
    forged.searchParams.set('state', 'A'.repeat(43));
    await refused(browser, forged.href);
    const token = browser.cookies().get('signin') ?? '';
    browser.cookies().set(
      'signin',
      token.replace(/^\d+/, (until) => String(Number(until) + 1)),
    );
    await refused(browser, callback);
    browser.cookies().set('signin', token);
    t.is(await browser.open(callback), 200, 'attempts without the state do not use it up');
    t.true(browser.cookies().has('sid'));
    browser.cookies().delete('sid');
    browser.cookies().set('signin', token);
    await refused(browser, callback);

    const late = reader(it);
    const tooLate = await late.toCallback(START);
    await it.clock.jump(it.clock.now() + FLOW_MS);
    await refused(late, tooLate);
  },
);

provider('an answer with another nonce, another issuer or a made-up code is refused', async (t) => {
  const it = await site(t);
  const refused = async (who: ReturnType<typeof reader>, to: string) => {
    t.is(await who.open(to), 403);
    t.regex(who.text(), /Club has not confirmed who you are[^]*name="password"/);
    t.false(who.cookies().has('sid'));
  };
  const nonce = reader(it);
  const there = new URL(await nonce.step(START));
  t.is(there.searchParams.get('code_challenge_method'), 'S256');
  there.searchParams.set('nonce', 'another');
  await refused(nonce, there.href);
  for (const [name, value] of [
    ['iss', 'https://evil.example'],
    ['code', 'made-up'],
  ] as const) {
    const browser = reader(it);
    const callback = new URL(await browser.toCallback(START));
    callback.searchParams.set(name, value);
    await refused(browser, callback.href);
  }
  for (let n = 0; n < 40; n++) {
    const browser = reader(it);
    const callback = new URL(await browser.toCallback(START));
    callback.searchParams.set('code', 'made-up');
    if ((await browser.open(callback.href)) === 429) return t.regex(browser.text(), /Too many tries/);
  }
  return t.fail('made-up codes are not limited');
});

provider('if the provider is down or refuses, the page says so, and the password still works', async (t) => {
  const it = await site(t);
  await signUpByPassword(it, { isConfirmed: true });
  it.present.id = '';
  const browser = reader(it);
  t.is(await browser.open(START), 403);
  t.regex(browser.text(), /You have not signed in with Club/);
  const left = reader(it);
  it.present.id = 'st1';
  const callback = await left.toCallback(START);
  it.goDown();
  t.is(await left.open(callback), 503);
  t.regex(left.text(), /Club does not respond as expected[^]*name="password"/);
  const renamed = await openProviderSite(t, {}, 'localhost');
  t.is(await reader(renamed).open(START), 503, 'the issuer in the settings is not the provider’s own');
  t.true(renamed.logged.some((line) => line.includes('OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')));
  await it.clock.jump(it.clock.now() + 3_600_000);
  t.is(await left.open(START), 503);
  t.is(await left.submit('/sign-in', STEVE), 200);
  t.is(left.path(), '/servers');
});

provider('members of the operators’ group are operators until they sign in without it', async (t) => {
  const it = await site(t, { oidcOperatorGroup: 'admins' });
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "operator" = TRUE WHERE "id" = 'usr_test'`, []));
  const isOperator = async () => (await getUserByEmail(it.store, STEVE.email))?.operator;
  const sets = async (groups: string[]) => {
    it.people['st1']!.groups = groups;
    t.is(await reader(it).open(START), 200);
    return isOperator();
  };
  t.false(await sets(['players']));
  t.true(await sets(['players', 'admins']));
  t.true(await sets(['admins']));
  t.false(await sets([]));
  t.deepEqual(await actions(it, 'account.%Operator'), ['account.makeOperator admins', 'account.endOperator admins']);
  // Rights that an operator has granted do not depend on the group.
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "operator" = TRUE`, []));
  t.true(await sets(['admins']));
  t.true(await sets([]));
});

provider('the last operator stays one without the group', async (t) => {
  const it = await site(t, { oidcOperatorGroup: 'admins' });
  it.people['st1']!.groups = ['admins'];
  await reader(it).open(START);
  it.people['st1']!.groups = [];
  await reader(it).open(START);
  t.true((await getUserByEmail(it.store, STEVE.email))?.operator);
});

provider('closed sign-up admits invited addresses only, and links people who have an account', async (t) => {
  const it = await site(t, { signup: 'closed' });
  const browser = reader(it);
  t.is(await browser.open(START), 403);
  t.regex(browser.text(), /requires an operator’s invitation for this e-mail address/);
  const row = { id: 'inv_1', hash: 'h', email: STEVE.email, invitedBy: 'usr_test', createdAt: it.clock.now() };
  await it.store.write((tx) => putAccountInvitation(tx, { ...row, expiresAt: it.clock.now() + 1 }));
  t.is(await browser.open(START), 200);
  t.is((await it.store.query('SELECT 1 FROM "account_invitations"')).length, 0, 'the invitation is used');
});

provider('people without a password can’t remove the link until they have created one', async (t) => {
  const it = await site(t);
  const browser = reader(it);
  await browser.open(START);
  await browser.open('/profile');
  t.regex(browser.text(), /You can’t remove the link[^]*create a password/);
  t.is(await browser.submit('/profile/provider/remove'), 400);
  t.regex(browser.text(), /Create a password first/);
  t.is(await browser.submit('/profile/email', { email: 'new@example.org', password: 'any password' }), 400);
  t.regex(browser.text(), /This account has no password/);
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "passwordHash" = 'x' WHERE "email" = $1`, [STEVE.email]));
  await browser.open('/profile');
  t.is(await browser.submit('/profile/provider/remove'), 200);
  t.is(browser.path(), '/profile?done=unlinked');
  t.regex(browser.text(), /The link is removed[^]*Not linked/);
  t.deepEqual(await actions(it, 'session.unlink%'), ['session.unlinkProvider Club']);
});

provider('passwords can be for the first operator only', async (t) => {
  const it = await site(t);
  await signUpByPassword(it, { isConfirmed: true });
  const hash = (await getUserByEmail(it.store, STEVE.email))?.passwordHash ?? '';
  const off = await site(t, { passwordSignIn: 'operator' });
  for (const [id, email] of [
    ['one', 'first@example.org'],
    ['two', 'second@example.org'],
  ] as const) {
    await off.store.write(async (tx) => {
      await tx.run(
        `INSERT INTO "users" ("id", "email", "emailVerified", "passwordHash", "accountId", "operator", "createdAt")
        VALUES ($1, $2, TRUE, $3, 'acc_test', TRUE, $4)`,
        [`usr_${id}`, email, hash, id.length + id.charCodeAt(0)],
      );
    });
  }
  const signIn = async (email: string) => {
    const browser = reader(off);
    await browser.open('/sign-in');
    t.regex(browser.text(), /<details[^]*The operator’s password/);
    return browser.submit('/sign-in', { email, password: STEVE.password });
  };
  t.deepEqual([await signIn('first@example.org'), await signIn('second@example.org')], [200, 403]);
  const visitor = await off.browser();
  const refused = await visitor.call('POST', '/v1/session/me:signUp', { body: STEVE });
  t.deepEqual([refused.status, refused.reason], [403, 'PASSWORDS_OFF']);
  const browser = reader(off);
  await browser.open('/sign-up');
  t.regex(browser.text(), /Sign in with Club/);
  t.notRegex(browser.text(), /name="password"/);
  await browser.open(START);
  t.is(browser.path(), '/servers');
});

provider('a second factor is asked for after the provider, unless the provider has asked for one', async (t) => {
  const it = await site(t);
  const { app } = await withSecondFactor(t, it);
  it.people['st1']!.email = AUTHENTICATED.email;
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "emailVerified" = TRUE`, []));
  const browser = reader(it);
  await browser.open(`${START}?next=%2Fprofile`);
  t.is(browser.path(), '/sign-in/code?next=%2Fprofile');
  t.false(browser.cookies().has('sid'));
  t.is(await browser.submit('/sign-in/code', { code: app.code() }), 200);
  t.is(browser.path(), '/profile');
  it.present.amr = ['pwd', 'mfa'];
  const proven = reader(it);
  await proven.open(START);
  t.is(proven.path(), '/servers');
});

provider(
  'an account with a second factor is linked only once its code is given, even after one at the provider',
  async (t) => {
    const it = await site(t, { oidcOperatorGroup: 'admins' });
    const { app } = await withSecondFactor(t, it);
    Object.assign(it.people['st1']!, { email: AUTHENTICATED.email, groups: ['admins'] });
    it.present.amr = ['mfa'];
    await it.store.write((tx) => tx.run(`UPDATE "users" SET "emailVerified" = TRUE`, []));
    const browser = reader(it);
    await browser.open(START);
    t.true(browser.path().startsWith('/sign-in/code'));
    t.is(await browser.submit('/sign-in/code', { code: '000000' }), 403);
    t.deepEqual(await it.store.query('SELECT * FROM "provider_links"'), []);
    const isOperator = async () => {
      const sql = 'SELECT "operator" FROM "users" WHERE "email" = $1';
      return Boolean((await it.store.query<{ operator: unknown }>(sql, [AUTHENTICATED.email]))[0]?.operator);
    };
    t.false(await isOperator());
    await browser.submit('/sign-in/code', { code: app.code() });
    t.is((await it.store.query('SELECT * FROM "provider_links"')).length, 1);
    t.true(await isOperator());
  },
);

test.runIf(isHere('tools', 'chromium'))('the button signs a browser in, on wide and narrow screens', async (t) => {
  const it = await site(t);
  for (const options of [{ viewport: { width: 1_280, height: 800 } }, PHONE]) {
    const { page, complaints } = await openTab(t, options);
    await page.goto(`${it.origin}/sign-in?next=%2Fprofile`);
    await accessible(t, page);
    await page.getByRole('link', { name: 'Sign in with Club' }).click();
    await page.waitForURL(`${it.origin}/profile`);
    t.true(await page.getByText(/Linked to steve@example\.org/).isVisible());
    await accessible(t, page);
    t.deepEqual(complaints, []);
  }
  const off = await site(t, { passwordSignIn: 'operator' });
  const { page } = await openTab(t, PHONE);
  await page.goto(`${off.origin}/sign-in`);
  t.false(await page.getByLabel('Password').isVisible());
  await page.getByText('The operator’s password').click();
  t.true(await page.getByLabel('Password').isVisible());
  await accessible(t, page);
});
