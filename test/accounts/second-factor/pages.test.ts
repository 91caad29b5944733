import test, { type ExecutionContext } from 'ava';
import { REVEAL_MS } from '../../../src/accounts/page-parts.ts';
import { PASSWORD_FRESH_MS } from '../../../src/accounts/passwords.ts';
import { closeBrowser, openTab } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { PHONE, accessible, openPanel } from '../../support/panel.ts';
import { type Site, openSite } from '../../web/site.ts';
import { STEVE, authenticator, withSecondFactor } from './authenticator.ts';

test.after.always(closeBrowser);

const PATH = '/profile/second-factor';

/** A browser without scripts. Keeps cookies and sends each form with its hidden fields. */
function reader(site: Pick<Site, 'origin'>) {
  const cookies = new Map<string, string>();
  let path = '/';
  let text = '';
  async function ask(to: string, init: RequestInit = {}): Promise<number> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', origin: site.origin, cookie };
    const reply = await fetch(site.origin + to, { ...init, headers, redirect: 'manual' });
    for (const set of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const on = reply.headers.get('location');
    if (on !== null) return ask(on);
    path = to;
    text = await reply.text();
    return reply.status;
  }
  return {
    cookies,
    path: () => path,
    text: () => text,
    open: (to: string) => ask(to),
    submit(action: string, fields: Record<string, string> = {}) {
      const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(text) ?? [];
      const [, next = ''] = /name="next" value="([^"]+)"/.exec(text) ?? [];
      return ask(action, { method: 'POST', body: new URLSearchParams({ csrf, next, ...fields }) });
    },
  };
}

/** Signs Steve up in a new browser. */
async function steve(t: ExecutionContext, site: Site) {
  const browser = reader(site);
  await browser.open('/sign-up');
  t.is(await browser.submit('/sign-up', STEVE), 200);
  return browser;
}

test('without a script, the second factor can be set up, used to sign in, given new codes and switched off', async (t) => {
  const site = await openSite(t);
  const browser = await steve(t, site);
  await browser.open(PATH);
  t.regex(browser.text(), />off<\/span>/);
  await browser.open(`${PATH}/set-up`);
  t.is(browser.path(), PATH, 'no key is offered yet');
  await browser.submit(`${PATH}/begin`);
  t.is(browser.path(), `${PATH}/set-up`);
  t.regex(browser.text(), /<svg\s+class="qr"\s+role="img"\s+aria-label="QR code/);
  const [, key = ''] = /<code class="key">([A-Z2-7 ]{39})<\/code>/.exec(browser.text()) ?? [];
  t.true(browser.text().includes(`secret=${key.replaceAll(' ', '')}&amp;issuer=Dormouse%20127.0.0.1`));
  t.is(await browser.submit(`${PATH}/set-up`, { code: 'no code' }), 422);
  t.regex(browser.text(), /id="code-problem">Wrong or used code/);
  t.true(browser.text().includes(key), 'the key is the same');
  const app = authenticator(key, site.clock);
  await browser.submit(`${PATH}/set-up`, { code: app.code() });
  t.is(browser.path(), `${PATH}/codes`);
  const codes = [...browser.text().matchAll(/<li><code>([\w-]{11})<\/code><\/li>/g)].map(([, code = '']) => code);
  t.is(codes.length, 10);
  await site.clock.advance(REVEAL_MS);
  await browser.open(`${PATH}/codes`);
  t.is(browser.path(), PATH, 'the codes are shown once');
  t.regex(browser.text(), /10 recovery codes are left/);

  const phone = reader(site);
  await phone.open('/sign-in?next=%2Fprofile%2Fsessions');
  await phone.submit('/sign-in', STEVE);
  t.is(phone.path(), '/sign-in/code?next=%2Fprofile%2Fsessions');
  t.regex(phone.text(), /autocomplete="one-time-code"[^>]*inputmode="numeric"/s);
  t.deepEqual([...phone.cookies.keys()].toSorted(), ['signin', 'visitor'], 'no session, and no known device');
  t.is(await phone.submit('/sign-in/code', { code: ' ' }), 422);
  t.is(await phone.submit('/sign-in/code', { code: 'no code' }), 403);
  t.regex(phone.text(), /role="alert">Wrong or used code/);
  await phone.submit('/sign-in/code', { code: app.code() });
  t.is(phone.path(), '/profile/sessions');
  t.deepEqual([...phone.cookies.keys()].toSorted(), ['device', 'sid', 'visitor']);

  await phone.open(`${PATH}/new-codes`);
  const fields = { password: STEVE.password, code: '', recovery: codes[0] ?? '' };
  t.is(await phone.submit(`${PATH}/new-codes`, { ...fields, password: 'wrong' }), 403);
  t.is(await phone.submit(`${PATH}/new-codes`, { ...fields, recovery: '' }), 422);
  await phone.submit(`${PATH}/new-codes`, fields);
  t.is(phone.path(), `${PATH}/codes`);
  t.false(codes.some((code) => phone.text().includes(code)));
  await site.clock.advance(30_000);
  await phone.open(`${PATH}/off`);
  await phone.submit(`${PATH}/off`, { password: STEVE.password, code: app.code(), recovery: '' });
  t.is(phone.path(), `${PATH}?done=off`);
  t.regex(phone.text(), /Two-factor sign-in is off/);
  for (const gone of ['off', 'new-codes', 'codes']) {
    if (gone === 'codes') await site.clock.advance(REVEAL_MS);
    await phone.open(`${PATH}/${gone}`);
    t.is(phone.path(), PATH);
  }
});

test('the code page requires a password first, and an expired sign-in starts over', async (t) => {
  const site = await openSite(t);
  await withSecondFactor(t, site);
  const browser = reader(site);
  await browser.open('/sign-in/code?next=%2Fprofile%2Fkeys');
  t.is(browser.path(), '/sign-in?next=%2Fprofile%2Fkeys');
  await browser.submit('/sign-in', STEVE);
  t.is(browser.path(), '/sign-in/code?next=%2Fprofile%2Fkeys');
  await site.clock.advance(600_000);
  await browser.submit('/sign-in/code', { code: '123456' });
  t.is(browser.path(), '/sign-in?next=%2Fprofile%2Fkeys');
  t.false(browser.cookies.has('signin'));
});

test('second-factor setup asks for the password again and shows the key only shortly after it is entered', async (t) => {
  const site = await openSite(t);
  const browser = await steve(t, site);
  await site.clock.advance(PASSWORD_FRESH_MS);
  await browser.open(PATH);
  t.is(await browser.submit(`${PATH}/begin`, { password: 'wrong' }), 403);
  t.regex(browser.text(), /This is not your password/);
  await browser.submit(`${PATH}/begin`, { password: STEVE.password });
  t.is(browser.path(), `${PATH}/set-up`);
  await site.clock.advance(PASSWORD_FRESH_MS);
  await browser.open(`${PATH}/set-up`);
  t.is(browser.path(), PATH);
});

test('operator pages and forms redirect operators without a required second factor to the second-factor page', async (t) => {
  const panel = await openPanel(t, { config: { operatorsNeedSecondFactor: true } });
  const { accountId } = await withSecondFactor(t, panel);
  await panel.create('castle', { name: 'Castle' });
  const account = `/operator/accounts/${accountId}`;
  const pages = ['', '/nodes', '/accounts', '/orphans', '/proxies', '/apps', '/machines/castle'].map(
    (page) => `/operator${page}`,
  );
  const lead = async (path: string, init: RequestInit = {}) => {
    const headers = { cookie: panel.owner.cookie, origin: panel.origin };
    const reply = await fetch(panel.origin + path, { ...init, headers, redirect: 'manual' });
    return reply.headers.get('location') ?? reply.status;
  };
  for (const page of [...pages, account]) t.is(await lead(page), 404, `${page} does not exist for other users`);
  await panel.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1', [1]));
  for (const page of [...pages, account]) t.is(await lead(page), PATH, page);
  const sent: Record<string, Record<string, string>> = {
    '/operator/machines/castle/send': { event: 'KILL', reason: 'x' },
    [`${account}/access`]: { do: 'second-factor', reason: 'x' },
  };
  for (const [path, fields] of Object.entries(sent)) {
    const body = new URLSearchParams({ csrf: panel.owner.csrf, ...fields });
    t.is(await lead(path, { method: 'POST', body }), PATH, path);
  }
  t.is(await lead('/panel/v1/servers/castle/events/stream'), 200, 'the operator’s own servers stay accessible');
  t.is(await lead('/v1/operator/machines:stream'), 403);
  t.regex((await panel.get(PATH)).text, /Operators need two-factor sign-in here/);
});

test('an operator can switch off another user’s second factor on the account page, but must state a reason', async (t) => {
  const panel = await openPanel(t);
  const { accountId } = await withSecondFactor(t, panel);
  await panel.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const page = `/operator/accounts/${accountId}`;
  t.regex((await panel.get(page)).text, /Sign-in requires a code/);
  const off = (reason: string) => panel.submit(`${page}/access`, { do: 'second-factor', reason });
  const refused = await off(' ');
  t.is(refused.status, 400);
  t.regex(await refused.text(), /id="access-reason-wrong">is required/);
  t.is((await off('Lost phone')).headers.get('location'), `${page}?done=second-factor`);
  t.notRegex((await panel.get(page)).text, /Sign-in requires a code/);
  await (await panel.browser()).ok('POST', '/v1/session/me:signIn', STEVE);
});

test.runIf(isHere('chromium'))(
  'second-factor setup and sign-in work on a phone and are accessible in light and dark mode',
  async (t) => {
    const site = await openSite(t);
    const { page, complaints } = await openTab(t, { ...PHONE, javaScriptEnabled: true });
    const press = async (name: string) => {
      await page.getByRole('button', { name, exact: true }).click();
      await page.waitForLoadState();
    };
    const inBoth = async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await accessible(t, page);
      }
    };
    await page.goto(`${site.origin}/sign-up`);
    await page.fill('#email', STEVE.email);
    await page.fill('#password', STEVE.password);
    await press('Create an account');
    await page.goto(`${site.origin}${PATH}`);
    await inBoth();
    await press('Set it up');
    await inBoth();
    const drawn = await page.locator('svg.qr').boundingBox();
    t.true((drawn?.width ?? 0) >= 200 && drawn?.width === drawn?.height, JSON.stringify(drawn));
    const app = authenticator(await page.innerText('code.key'), site.clock);
    await page.fill('#code', app.code());
    await page.press('#code', 'Enter');
    await page.getByText('Your recovery codes').waitFor();
    await inBoth();
    const [recovery = ''] = await page.locator('.codes code').allInnerTexts();
    await page.getByText('I saved them').click();
    await page.getByText('10 recovery codes are left').waitFor();
    await inBoth();
    await page.getByRole('button', { name: 'Menu' }).click();
    await press('Sign out');

    await site.clock.advance(30_000);
    await page.goto(`${site.origin}/sign-in`);
    await page.fill('#email', STEVE.email);
    await page.fill('#password', STEVE.password);
    await press('Sign in');
    await page.getByText('Enter your code').waitFor();
    await page.getByText('Use a recovery code instead').click();
    await inBoth();
    await page.fill('#recovery', recovery.toUpperCase());
    await press('Sign in');
    t.is(page.url(), `${site.origin}/servers`);
    await page.goto(`${site.origin}${PATH}/off`);
    await inBoth();
    await page.fill('#password', STEVE.password);
    await page.fill('#code', app.code());
    await press('Turn it off');
    t.is(page.url(), `${site.origin}${PATH}?done=off`);
    t.deepEqual(complaints, []);
  },
);
