import test, { type ExecutionContext } from 'ava';
import { closeBrowser, openTab } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';
import { PHONE, type PanelUnderTest, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const STEVE = { email: 'steve@example.org', password: 'correct horse' };

const linkIn = (text = '') => /http:\S+/g.exec(text.slice(text.indexOf(':\n\n')))?.[0] ?? '';

/** The pages of a service with an account for Steve. */
async function panel(t: ExecutionContext, config: object = {}): Promise<PanelUnderTest> {
  const it = await openPanel(t, { config });
  await (await it.browser()).ok('POST', '/v1/session/me:signUp', STEVE);
  it.letters.splice(0);
  return it;
}

/** A visitor's browser without scripts. Keeps its cookie and sends the forms of a page. */
async function visitor({ origin }: PanelUnderTest) {
  let cookie = '';
  const get = async (path: string) => {
    const answer = await fetch(new URL(path, origin), { headers: { cookie, accept: 'text/html' } });
    cookie ||= answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    return { status: answer.status, text: await answer.text() };
  };
  const submit = async (page: string, path: string, fields: Record<string, string>) => {
    const csrf = /name="csrf" value="([^"]+)"/.exec((await get(page)).text)?.[1] ?? '';
    const answer = await fetch(new URL(path, origin), {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin, accept: 'text/html' },
      body: new URLSearchParams({ csrf, ...fields }),
    });
    return { status: answer.status, to: answer.headers.get('location'), text: await answer.text() };
  };
  return { get, submit };
}

test('a forgotten password can be replaced through the pages without scripts', async (t) => {
  const it = await panel(t);
  const { get, submit } = await visitor(it);
  t.regex((await get('/sign-in')).text, /href="\/sign-in\/forgotten"/);
  const ask = (email: string) => submit('/sign-in/forgotten', '/sign-in/forgotten', { email });
  const wrong = await ask('ste ve');
  t.is(wrong.status, 422);
  t.regex(wrong.text, /value="ste ve"[^]*aria-invalid="true"/);
  const [known, unknown] = [await ask(STEVE.email), await ask('nobody@example.org')];
  t.deepEqual(known, unknown);
  t.regex((await get(known.to ?? '')).text, /If this address has an account/);
  await until('the e-mail with the link', () => it.letters.length > 0);
  t.is(it.letters.length, 1);
  const link = linkIn(it.letters[0]?.text);
  t.is((await get('/sign-in/new-password?token=nonsense')).status, 404);
  t.regex((await get(link)).text, /signs you out of all browsers/);
  const token = new URL(link).searchParams.get('token') ?? '';
  const choose = (password: string) => submit(link, '/sign-in/new-password', { token, password });
  t.regex((await choose('short')).text, /id="password-problem"/);
  t.is((await choose('battery staple')).to, '/sign-in/new-password/done');
  t.regex((await get('/sign-in/new-password/done')).text, /Sign in with the new password/);
  t.regex((await get(link)).text, /This link does not work/);
  t.is((await submit('/sign-in', '/sign-in', { ...STEVE, password: 'battery staple' })).to, '/servers');
});

test('without a mail server, the forgotten-password page names the administrator and the reset command', async (t) => {
  const it = await panel(t, { mail: false });
  const { get, submit } = await visitor(it);
  const page = (await get('/sign-in/forgotten')).text;
  t.regex(page, /Ask your administrator for a reset link[^]*npm run reset-password/);
  t.notRegex(page, /name="email"/);
  t.is((await submit('/sign-in', '/sign-in/forgotten', { email: STEVE.email })).status, 400);
});

test('the e-mail address can be changed on the profile page without scripts', async (t) => {
  const it = await panel(t);
  const steve = await it.browser();
  await steve.ok('POST', '/v1/session/me:signIn', STEVE);
  const change = (fields: Record<string, string>) => it.submit('/profile/email', fields, steve);
  t.is((await change({ csrf: 'forged', email: 'new@example.org', password: STEVE.password })).status, 403);
  const wrong = await change({ email: 'new', password: STEVE.password });
  t.regex(await wrong.text(), /id="email-problem"[^]*value="new"/);
  const refused = await change({ email: 'new@example.org', password: 'wrong password' });
  t.regex(await refused.text(), /value="new@example\.org"[^]*id="password-problem">This is not your password/);
  const done = await change({ email: 'new@example.org', password: STEVE.password });
  t.regex((await it.get(done.headers.get('location') ?? '', steve)).text, /We sent an e-mail to the new address/);
  const { submit } = await visitor(it);
  const link = linkIn(it.letters.at(-1)?.text);
  const token = new URL(link).searchParams.get('token') ?? '';
  t.is((await submit(link, '/verify-email', { token })).to, '/verify-email/done');
  t.regex((await it.get('/profile', steve)).text, /new@example\.org[^]*tag good"\s*>confirmed/);
});

test.runIf(isHere('chromium'))(
  'an accepted invitation appears at once in the server list, even in a list already open',
  async (t) => {
    const it = await openPanel(t);
    await it.stranger();
    await it.create('castle', { name: 'The Castle' });
    await it.ok('POST', '/v1/servers/castle/members', { email: 'stranger@example.com', role: 'member' });
    const { page: list } = await it.open('/servers', { userId: 'usr_other' });
    t.is(await list.locator('#server-castle').count(), 0);
    const { page } = await it.open('/profile/invitations', { userId: 'usr_other' });
    await page.getByRole('button', { name: 'Accept The Castle' }).click();
    await page.getByText('You joined').waitFor();
    t.is(new URL(page.url()).pathname, '/servers/castle');
    await list.locator('#server-castle').waitFor();
    t.regex(await list.innerText('#server-castle'), /The Castle[^]*your role: member/);
    await page.getByRole('link', { name: 'Servers', exact: true }).first().click();
    await page.locator('#server-castle').waitFor();
  },
);

test.runIf(isHere('chromium'))(
  `the pages for invitations and forgotten passwords are accessible in dark mode`,
  async (t) => {
    const it = await openPanel(t, { config: { signup: 'closed' } });
    await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [true, 'usr_test']));
    const invited = await it.submit('/operator/accounts/invite', { email: 'alex@example.org' });
    const invitation = /<code>(http:[^<]+)<\/code>/.exec(await invited.text())?.[1] ?? '';
    const { page } = await openTab(t, { ...PHONE, colorScheme: 'dark' });
    await page.goto(`${it.origin}/sign-in`);
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await accessible(t, page);
    await page.getByLabel('E-mail address of your account').fill('owner@example.com');
    await page.keyboard.press('Enter');
    await page.getByText('If this address has an account').waitFor();
    await accessible(t, page);
    const reset = await until('the e-mail with the link', () =>
      it.letters.find(({ text }) => /new-password/.test(text)),
    );
    await page.goto(linkIn(reset.text));
    await accessible(t, page);
    await page.getByLabel('New password').fill('battery staple');
    await page.keyboard.press('Enter');
    await page.getByText('Sign in with the new password').waitFor();
    await accessible(t, page);
    await page.goto(invitation);
    t.is(await page.getByLabel('E-mail address').inputValue(), 'alex@example.org');
    await accessible(t, page);
    await page.getByLabel('Password').fill('correct horse');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${it.origin}/servers`);
    const { page: another } = await openTab(t, { ...PHONE, colorScheme: 'dark' });
    await another.goto(invitation);
    await another.getByText('This link has been used or cancelled').waitFor();
    await accessible(t, another);
  },
);
