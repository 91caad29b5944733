import test, { type ExecutionContext } from 'ava';
import { PASSWORD_FRESH_MS } from '../../../src/accounts/passwords.ts';
import { FLOW_MS } from '../../../src/accounts/provider.ts';
import { getUserByEmail } from '../../../src/accounts/rows.ts';
import { isHere } from '../../support/needs.ts';
import { STEVE as AUTHENTICATED, withSecondFactor } from '../second-factor/authenticator.ts';
import { type ProviderSite, openProviderSite, reader } from './site.ts';

type Reader = ReturnType<typeof reader>;

const START = '/sign-in/provider';
const AGAIN = `${START}?again=1&next=%2Fprofile%2Fkeys`;
const KEY = { name: 'bot', scope: 'servers:read', expiry: '30', reach: 'all' };

const provider = test.runIf(isHere('tools'));

/** A site with Steve at the provider. The panel's clock shows the provider's time, so that sessions there are young. */
async function site(t: ExecutionContext): Promise<ProviderSite> {
  const it = await openProviderSite(t);
  await it.clock.jump(Date.now());
  it.people['st1'] = { email: 'steve@example.org', email_verified: true };
  it.present.id = 'st1';
  return it;
}

async function later(it: ProviderSite): Promise<void> {
  await it.clock.jump(it.clock.now() + PASSWORD_FRESH_MS);
}

/** Goes to the provider without parameters of the request, as for a provider that ignores them. */
async function without(browser: Reader, from: string, ...names: string[]): Promise<number> {
  const there = new URL(await browser.step(from));
  for (const name of names) there.searchParams.delete(name);
  return browser.open(there.href);
}

async function createsKey(browser: Reader): Promise<boolean> {
  await browser.open('/profile/keys');
  await browser.submit('/profile/keys', KEY);
  return browser.path() === '/profile/keys/new';
}

async function sessions(it: ProviderSite): Promise<number> {
  return (await it.store.query(`SELECT 1 FROM "sessions" WHERE "userId" <> 'usr_test'`)).length;
}

const forms = (it: ProviderSite) => it.asked.filter((each) => each.includes('/interaction/')).length;

provider('a silent sign-in does not count as a password just given, and confirming does', async (t) => {
  const it = await site(t);
  const browser = reader(it);
  await browser.open(START);
  t.true(await createsKey(browser));
  await later(it);
  browser.cookies().delete('sid');
  await browser.open(START);
  t.is(browser.path(), '/servers');
  t.is(forms(it), 1, 'the second sign-in was silent');
  t.false(await createsKey(browser));
  t.regex(browser.text(), /Confirm with Club\. It is required every 15 minutes/);
  t.notRegex(browser.text(), /name="password"/);

  const [, link = ''] = /<a href="([^"]+)">Confirm with Club</.exec(browser.text()) ?? [];
  t.is(link.replaceAll('&amp;', '&'), AGAIN);
  const [sid, before] = [browser.cookies().get('sid'), await sessions(it)];
  t.is(new URL(await reader(it).step(AGAIN)).searchParams.get('prompt'), null, 'strangers sign in as ever');
  t.is(await browser.open(AGAIN), 200);
  t.is(browser.path(), '/profile/keys');
  t.is(forms(it), 2);
  t.deepEqual([browser.cookies().get('sid'), await sessions(it)], [sid, before]);
  t.true(await createsKey(browser));
  await browser.open('/profile/keys');
  t.notRegex(browser.text(), /Confirm with Club/);
});

provider('people with a password and a linked account can use either', async (t) => {
  const it = await site(t);
  const browser = reader(it);
  await browser.open(START);
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "passwordHash" = 'x'`, []));
  await later(it);
  for (const page of ['keys', 'ssh', 'second-factor']) {
    await browser.open(`/profile/${page}`);
    t.regex(browser.text(), new RegExp(`name="password"[^]*next=%2Fprofile%2F${page}">Confirm with Club<`));
  }
  await it.store.write((tx) => tx.run('DELETE FROM "provider_links"', []));
  await browser.open('/profile/keys');
  t.notRegex(browser.text(), /Confirm with Club/);
});

provider('people who confirm for a device or an account return to it', async (t) => {
  const it = await site(t);
  const browser = reader(it);
  await browser.open(START);
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "operator" = TRUE`, []));
  await later(it);
  const { json } = await it.call('POST', '/v1/public/device/start', { key: null, body: {} });
  for (const page of [`/device?code=${String(json['user_code'])}`, '/operator/accounts/acc_test']) {
    await browser.open(page);
    const form = page.startsWith('/device') ? '/device' : `${page}/access`;
    const code = String(json['user_code']);
    await browser.submit(form, { code, decision: 'approve', do: 'reset-link', reason: 'asked for it' });
    t.regex(browser.text(), /Confirm with Club\. It is required/);
    const [, link = ''] = /<a href="([^"]+)">Confirm with Club</.exec(browser.text()) ?? [];
    await browser.open(link.replaceAll('&amp;', '&'));
    t.is(browser.path(), page);
    await later(it);
  }
});

provider('another user of the provider does not confirm, and the session stays', async (t) => {
  const it = await site(t);
  const browser = reader(it);
  await browser.open(START);
  await later(it);
  const there = await browser.step(AGAIN);
  it.people['st2'] = { email: 'alex@example.org', email_verified: true };
  it.present.id = 'st2';
  const callback = await reader(it).toCallback(there);
  t.is(await browser.open(callback), 403);
  t.regex(browser.text(), /not the one that is linked to steve@example\.org[^]*still signed in[^]*Confirm with Club/);
  t.false(await createsKey(browser));
  t.is((await it.store.query(`SELECT 1 FROM "users" WHERE "email" = 'alex@example.org'`)).length, 0);
  it.present.id = '';
  t.is(await browser.open(AGAIN), 403);
  t.regex(browser.text(), /You have not signed in with Club[^]*still signed in/);
});

provider('a provider that does not ask again has confirmed nothing', async (t) => {
  const it = await site(t);
  const browser = reader(it);
  await browser.open(START);
  await later(it);
  // Without `max_age`, this provider does not state when it asked.
  for (const removed of [['prompt'], ['prompt', 'max_age']]) {
    t.is(await without(browser, AGAIN, ...removed), 403, removed.join());
    t.regex(browser.text(), /Club did not ask you to sign in again/);
    t.false(await createsKey(browser));
  }
  t.is(forms(it), 1);
  const other = reader(it);
  await without(other, START, 'max_age');
  t.false(await createsKey(other), 'nor does a sign-in without the claim count');
});

provider('with a provider that never states when it asked, the time of arrival counts', async (t) => {
  const it = await site(t);
  const browser = reader(it);
  await without(browser, START, 'max_age');
  await later(it);
  t.false(await createsKey(browser));
  t.is(await without(browser, AGAIN, 'prompt', 'max_age'), 200);
  t.true(await createsKey(browser));
});

provider('a time in the future is not stored', async (t) => {
  const it = await site(t);
  for (const ahead of [30, 3_600]) {
    it.present.askedAt = Math.floor(it.clock.now() / 1_000) + ahead;
    await reader(it).open(START);
    const sql = `SELECT "provedAt" FROM "sessions" WHERE "userId" <> 'usr_test' ORDER BY "provedAt" DESC`;
    const [row] = await it.store.query<{ provedAt: number | string }>(sql, []);
    t.is(Number(row?.provedAt), it.clock.now());
    await it.clock.advance(1_000);
  }
});

provider('a token decides whether a flow confirms, works once and expires', async (t) => {
  const it = await site(t);
  const browser = reader(it);
  await browser.open(START);
  await later(it);
  const refused = async (who: Reader, callback: string) => {
    t.is(await who.open(callback), 403);
    t.regex(who.text(), /has expired, was used before, or began in another browser/);
  };
  const callback = await browser.toCallback(AGAIN);
  const token = browser.cookies().get('signin') ?? '';
  browser.cookies().set('signin', token.replace('.again', ''));
  await refused(browser, callback);
  const signIn = reader(it);
  const ordinary = await signIn.toCallback(START);
  signIn.cookies().set('signin', `${signIn.cookies().get('signin')}.again`);
  await refused(signIn, ordinary);
  t.false(signIn.cookies().has('sid'));
  browser.cookies().set('signin', token);
  const sid = browser.cookies().get('sid') ?? '';
  browser.cookies().delete('sid');
  await refused(browser, callback);
  browser.cookies().set('sid', sid);
  t.false(await createsKey(browser));

  t.is(await browser.open(callback), 200);
  browser.cookies().set('signin', token);
  await refused(browser, callback);
  const late = await browser.toCallback(AGAIN);
  await it.clock.jump(it.clock.now() + FLOW_MS);
  await refused(browser, late);
});

provider('a code given after the provider is a proof of its own', async (t) => {
  const it = await site(t);
  const { app } = await withSecondFactor(t, it);
  it.people['st1']!.email = AUTHENTICATED.email;
  it.present.askedAt = Math.floor((it.clock.now() - PASSWORD_FRESH_MS) / 1_000);
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "emailVerified" = TRUE`, []));
  const browser = reader(it);
  await browser.open(START);
  await browser.submit('/sign-in/code', { code: app.code() });
  t.true(await createsKey(browser));

  // Without a password, turning it off takes the provider's word and a code.
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "passwordHash" = ''`, []));
  await later(it);
  const off = '/profile/second-factor/off';
  await browser.open(off);
  t.notRegex(browser.text(), /name="password"/);
  t.is(await browser.submit(off, { code: app.code() }), 403);
  t.regex(browser.text(), /Confirm with Club\. It is required/);
  delete it.present.askedAt;
  await browser.open(`${START}?again=1&next=${encodeURIComponent(off)}`);
  t.is(browser.path(), '/profile/second-factor');
  await browser.open(off);
  t.is(await browser.submit(off, { code: app.code() }), 200);
  t.is(browser.path(), '/profile/second-factor?done=off');
});

provider('members who have left the operators’ group lose the rights when they confirm', async (t) => {
  const it = await openProviderSite(t, { oidcOperatorGroup: 'admins' });
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "operator" = TRUE WHERE "id" = 'usr_test'`, []));
  it.people['st1'] = { email: 'steve@example.org', email_verified: true, groups: ['admins'] };
  it.present.id = 'st1';
  const browser = reader(it);
  await browser.open(START);
  const isOperator = async () => (await getUserByEmail(it.store, 'steve@example.org'))?.operator;
  t.true(await isOperator());
  it.people['st1'].groups = [];
  await browser.open(AGAIN);
  t.is(browser.path(), '/profile/keys');
  t.false(await isOperator());
});
