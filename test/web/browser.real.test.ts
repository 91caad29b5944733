import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { FULL_SCOPES } from '../../src/http/scopes.ts';
import { inviteMember } from '../../src/access/members.ts';
import { type Page, type Tab, closeBrowser, openTab } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';
import { type Site, openSite } from './site.ts';

const PASSWORD = 'correct horse battery';
const INSPECT = readFileSync(join(import.meta.dirname, 'inspect.js'), 'utf8');
const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

test.after.always(closeBrowser);

test.runIf(isHere('chromium'))(
  'a device is approved on a phone after sign-up, and its token works until the app is disconnected',
  async (t) => {
    const site = await openSite(t);
    const device = await site.startDevice(await site.registerApp('Block Launcher'));
    t.is((await site.poll(device))['error'], 'authorization_pending');

    const tab = await openTab(t, { ...PHONE, javaScriptEnabled: false });
    const { page } = tab;
    await page.goto(device.verification_uri);
    t.regex(await page.innerText('main'), /Sign in to continue connecting your device/);
    await page.click('text=Create an account');
    await fillIn(page, 'alex@example.org');
    t.is(page.url(), device.verification_uri);
    await page.fill('#code', device.user_code.toLowerCase().replace('-', ' '));
    await press(page, 'Continue');

    const consent = await page.innerText('main');
    const named = [
      'Block Launcher',
      'alex@example.org',
      device.user_code,
      'launcher.example',
      'your e-mail address',
      /status, software, version, region, players online, your role, and the address to join/,
      /cannot\s+start, stop, change or delete servers\s+see billing/i,
      '127.0.0.1',
      'Only continue if you started this yourself.',
      'Launcher/1.4',
      /just now \(14 Nov 2023, 22:13 UTC\)/,
    ];
    for (const each of named)
      t.true(typeof each === 'string' ? consent.includes(each) : each.test(consent), String(each));
    t.is(await page.getAttribute('main a[rel]', 'href'), 'https://launcher.example/about');

    await press(page, 'Approve');
    t.is(page.url(), `${site.origin}/device/approved`);
    await site.clock.advance(5_000);
    const granted = await site.poll(device);
    t.is(granted['token_type'], 'Bearer');
    const bearer = { authorization: `Bearer ${granted['access_token']}` };
    t.is((await fetch(`${site.origin}/v1/me/servers`, { headers: bearer })).status, 200);

    await page.goto(`${site.origin}/profile/apps`);
    t.regex(await page.innerText('.list'), /Block Launcher\s+launcher\.example/);
    await page.click('summary');
    await press(page, 'Yes, disconnect this app');
    t.regex(await page.innerText('main'), /App disconnected/);
    t.is((await fetch(`${site.origin}/v1/me/servers`, { headers: bearer })).status, 401);
    clean(t, tab, site);
  },
);

test.runIf(isHere('chromium'))(
  'a device is declined, after its link has led through sign-in back to its code',
  async (t) => {
    const site = await openSite(t);
    const tab = await openTab(t, { javaScriptEnabled: false });
    const { page } = tab;
    await signUp(page, site, 'alex@example.org');
    await press(page, 'Sign out');
    const device = await site.startDevice(await site.registerApp('Block Launcher'));
    await page.goto(device.verification_uri_complete);
    await fillIn(page, 'alex@example.org');
    t.is(page.url(), device.verification_uri_complete);

    // Neither answer has the focus, and both buttons have the same size.
    t.is(await page.evaluate('document.activeElement.tagName'), 'BODY');
    const [decline, approve] = await Promise.all(
      ['Decline', 'Approve'].map((name) => page.getByRole('button', { name }).boundingBox()),
    );
    t.deepEqual(size(decline), size(approve));

    await press(page, 'Use another account');
    t.is(page.url(), `${site.origin}/sign-in?next=${encodeURIComponent(`/device?code=${device.user_code}`)}`);
    await fillIn(page, 'alex@example.org');
    await press(page, 'Decline');
    t.is(page.url(), `${site.origin}/device/declined`);
    await site.clock.advance(5_000);
    t.is((await site.poll(device))['error'], 'access_denied');
    await page.goto(device.verification_uri_complete);
    t.regex(await page.innerText('main'), /No device is waiting with this code/);
  },
);

test.runIf(isHere('chromium'))(
  'the command line asks for full access on the consent page, and gets an API key',
  async (t) => {
    const site = await openSite(t);
    const { page } = await openTab(t, { ...PHONE, javaScriptEnabled: false });
    await signUp(page, site, 'alex@example.org');
    const device = await site.startDevice();
    await page.goto(device.verification_uri_complete);
    t.regex(await page.innerText('main'), /This is full access to your account\./);
    t.notRegex(await page.innerText('main'), /It cannot\s+start/);
    await press(page, 'Approve');
    await site.clock.advance(5_000);
    const key = (await site.poll(device))['access_token'] ?? '';
    t.is((await site.call('GET', '/v1/servers', { key })).status, 200);
    await page.goto(`${site.origin}/profile/keys`);
    t.regex(await page.innerText('.list'), /Launcher\/1\.4/);
  },
);

test.runIf(isHere('chromium'))('five wrong device codes block even the right one for a while', async (t) => {
  const site = await openSite(t);
  const { page } = await openTab(t, { javaScriptEnabled: false });
  await signUp(page, site, 'alex@example.org');
  const device = await site.startDevice();
  for (let i = 0; i < 5; i++) {
    await page.goto(`${site.origin}/device`);
    await page.fill('#code', `BCDF-GHJ${'KLMNP'[i]}`);
    await press(page, 'Continue');
    t.regex(await page.innerText('main'), /No device is waiting with this code/);
  }
  const refused = await page.goto(device.verification_uri_complete);
  t.is(refused?.status(), 429);
  t.regex(await page.innerText('main'), /Too many tries\. Wait \d+ seconds/);
  t.is((await site.poll(device))['error'], 'authorization_pending');
  await site.clock.advance(601_000);
  await page.goto(`${site.origin}/device`);
  const another = await site.startDevice();
  await page.fill('#code', another.user_code);
  await press(page, 'Continue');
  t.regex(await page.innerText('main'), /full access/);
});

test.runIf(isHere('chromium'))('sign-up, code entry and decline work by keyboard alone', async (t) => {
  const site = await openSite(t);
  const { page } = await openTab(t, { javaScriptEnabled: false });
  await page.goto(`${site.origin}/sign-up?next=/device`);
  await page.keyboard.press('Tab');
  t.is(await focused(page), 'Skip to content');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.type('alex@example.org');
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  t.not(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none');
  await submit(page, 'Enter');
  t.is(page.url(), `${site.origin}/device`);

  const device = await site.startDevice();
  await tabTo(page, 'Code on your device');
  await page.keyboard.type(device.user_code);
  await submit(page, 'Enter');
  const order = [await tabTo(page, 'Decline'), await tabTo(page, 'Approve')];
  t.true(order.every((steps) => steps > 0));
  await page.keyboard.press('Shift+Tab');
  t.is(await focused(page), 'Decline');
  await submit(page, 'Space');
  t.is(page.url(), `${site.origin}/device/declined`);
});

test.runIf(isHere('chromium'))('an API key is created for one server, shown once, used and revoked', async (t) => {
  const site = await openSite(t);
  const tab = await openTab(t, { ...PHONE, javaScriptEnabled: false });
  const { page } = tab;
  await page.goto(`${site.origin}/sign-up?next=/profile/keys`);
  await fillIn(page, 'alex@example.org');
  const accountId = await accountOf(site, 'alex@example.org');
  await site.create('lobby', { accountId });
  await site.create('arena', { accountId });

  await page.goto(`${site.origin}/profile/keys`);
  await page.fill('#name', 'bot <b>');
  await press(page, 'Create key');
  t.regex(await page.innerText('main'), /Choose at least one permission/);
  t.is(await page.inputValue('#name'), 'bot <b>');
  await page.check('input[value="servers:read"]');
  await page.check('input[value="some"]');
  await page.check('input[value="lobby"]');
  await press(page, 'Create key');
  const key = await page.inputValue('#key');
  t.regex(key, /^dmk_\w{38}$/);
  t.is((await site.call('GET', '/v1/servers/lobby', { key })).status, 200);
  t.is((await site.call('GET', '/v1/servers/arena', { key })).status, 404);
  t.is((await site.call('DELETE', '/v1/servers/lobby', { key })).status, 403);

  await page.click('text=I have copied it');
  t.false((await page.content()).includes(key));
  t.true((await page.innerText('.list')).includes(key.slice(-4)));
  await page.click('summary:has-text("Revoke")');
  await press(page, 'Yes, revoke this key');
  t.is((await site.call('GET', '/v1/servers/lobby', { key })).status, 401);
  await site.clock.advance(300_000);
  await page.goto(`${site.origin}/profile/keys/new`);
  t.is(page.url(), `${site.origin}/profile/keys`);
  clean(t, tab, site);
});

test.runIf(isHere('chromium'))('a password change signs out other browsers, and sessions can be ended', async (t) => {
  const site = await openSite(t);
  const { page } = await openTab(t, { javaScriptEnabled: false });
  const { page: other } = await openTab(t, { javaScriptEnabled: false });
  await signUp(page, site, 'alex@example.org');
  await signInWith(other, site, PASSWORD);
  await page.goto(`${site.origin}/profile/sessions`);
  t.is(await page.locator('.list > li').count(), 2);
  await page.locator('.list').getByRole('button').click();
  t.is(await page.locator('.list > li').count(), 1);
  await other.reload();
  t.is(other.url(), `${site.origin}/sign-in`);

  await signInWith(other, site, PASSWORD);
  await page.goto(`${site.origin}/profile`);
  await page.fill('#current', 'not the password');
  await page.fill('#replacement', 'a new horse');
  await press(page, 'Change password');
  t.regex(await page.innerText('[role=alert]'), /wrong/);
  await page.fill('#current', PASSWORD);
  await page.fill('#replacement', 'a new horse');
  await press(page, 'Change password');
  t.regex(await page.innerText('[role=status]'), /Your password is changed/);
  await other.reload();
  t.is(other.url(), `${site.origin}/sign-in`);
  await signInWith(other, site, PASSWORD);
  t.regex(await other.innerText('[role=alert]'), /E-mail address or password is wrong/);
  await signInWith(other, site, 'a new horse');
  t.is(other.url(), `${site.origin}/servers`);

  await page.goto(`${site.origin}/profile/sessions`);
  await press(page, 'End all others');
  t.is(await page.locator('.list > li').count(), 1);
  await other.reload();
  t.is(other.url(), `${site.origin}/sign-in`);
});

test.runIf(isHere('chromium'))(
  'an e-mail link confirms an address, and its invitations can then be answered',
  async (t) => {
    const site = await openSite(t);
    const { page } = await openTab(t, { ...PHONE, javaScriptEnabled: false });
    for (const name of ['Lobby', 'Arena']) {
      const { row } = await site.create(name.toLowerCase(), { name });
      const owner = { kind: 'key', keyId: 'key_x', userId: 'usr_test', accountId: row.accountId } as const;
      const standing = { scopes: new Set(FULL_SCOPES), operator: false, serverIds: null };
      await inviteMember(site, { ...owner, ...standing }, row, { email: 'alex@example.org', role: 'limited' });
    }
    await signUp(page, site, 'alex@example.org');
    await page.goto(`${site.origin}/invitations`);
    t.regex(await page.innerText('main'), /once you confirm your address/);
    const link = /http:\S+verify-email\S+/.exec(site.letters.at(-1)?.text ?? '')?.[0] ?? '';
    await page.goto(link);
    await press(page, 'Confirm my address');
    t.regex(await page.innerText('main'), /Your address is confirmed/);
    await page.goto(link);
    await press(page, 'Confirm my address');
    t.regex(await page.innerText('[role=alert]'), /This link has been used/);

    await page.goto(`${site.origin}/profile/invitations`);
    await page.getByRole('button', { name: 'Accept Lobby' }).click();
    t.regex(await page.innerText('[role=status].note'), /You joined/);
    t.is(new URL(page.url()).pathname, '/servers/lobby');
    await page.goto(`${site.origin}/profile/invitations`);
    await page.getByRole('button', { name: 'Decline Arena' }).click();
    t.regex(await page.innerText('main'), /No invitations\./);
    await page.goto(`${site.origin}/profile/keys`);
    t.deepEqual(
      await page.locator('input[name=server]').evaluateAll((all) => all.map((each) => each.getAttribute('value'))),
      ['lobby'],
    );
  },
);

test.runIf(isHere('chromium'))('a hostile app name is shown as plain text', async (t) => {
  const site = await openSite(t);
  const tab = await openTab(t, PHONE);
  const { page } = tab;
  page.on('dialog', () => t.fail('a script ran'));
  await signUp(page, site, 'alex@example.org');
  const names = [
    ['<script>alert(1)</script><img src=x onerror=alert(1)>', '<script>alert(1)</script><img src=x onerror=alert(1)>'],
    ['evil\u202e\u2066gnp.exe', 'evilgnp.exe'],
    ['x'.repeat(10_000), `${'x'.repeat(59)}…`],
    ['"><h1>Approved', '"><h1>Approved'],
    [' \u200b ', 'an app without a name'],
  ];
  for (const [name = '', shown] of names) {
    const device = await site.startDevice(await site.registerApp(name, 'javascript:alert(1)'));
    await page.goto(device.verification_uri_complete);
    t.is(await page.textContent('h1 bdi'), shown ?? '');
    t.is(await page.locator('h1').count(), 1);
    t.is(await page.locator('main a').count(), 0);
    t.true(await fits(page));
    await press(page, 'Approve');
    await site.clock.advance(5_000);
    t.truthy((await site.poll(device))['access_token']);
  }
  await page.goto(`${site.origin}/profile/apps`);
  t.is(await page.locator('.list > li').count(), names.length);
  t.true(await fits(page));
  clean(t, tab, site);
});

test.runIf(isHere('chromium'))('another site cannot frame a page, send its form or read it', async (t) => {
  const site = await openSite(t);
  const { page } = await openTab(t);
  await signUp(page, site, 'alex@example.org');
  const { user_code: code } = await site.startDevice();
  // Another site to the browser too: localhost and 127.0.0.1 share no cookies.
  const evil = await serve(t, (path) =>
    path === '/frame'
      ? `<iframe src="${site.origin}/device?code=${code}" width="600" height="600"></iframe>`
      : `<form method="post" action="${site.origin}/device"><input name="code" value="${code}">
           <input name="decision" value="approve"><button>Win a prize</button></form>`,
  );
  await page.goto(`${evil}/frame`);
  await until(() => page.evaluate('document.querySelector("iframe").contentDocument === null'));
  const frame = page.frames()[1]!;
  t.is(await frame.evaluate('location.protocol'), 'chrome-error:');
  t.false((await frame.content()).includes(code));

  await page.goto(`${evil}/form`);
  const [refused] = await Promise.all([page.waitForResponse(`${site.origin}/device`), page.click('button')]);
  t.is(refused.status(), 403);
  await page.goto(`${site.origin}/device?code=${code}`);
  t.regex(await page.innerText('main'), /full access/);
});

test.runIf(isHere('chromium'))(
  'forms work over plain http on a custom host name, despite fewer browser headers',
  async (t) => {
    const site = await openSite(t, { host: 'panel.test' });
    const { page } = await openTab(t, { javaScriptEnabled: false });
    await signUp(page, site, 'alex@example.org');
    t.is(page.url(), `${site.origin}/servers`);
    await press(page, 'Sign out');
    t.is(page.url(), `${site.origin}/`);
  },
);

for (const colorScheme of ['light', 'dark'] as const) {
  test.runIf(isHere('chromium'))(
    `visitor and profile pages (${colorScheme}) fit a phone, have labels and large touch targets, and load only own files`,
    async (t) => {
      const site = await openSite(t);
      const tab = await openTab(t, { ...PHONE, colorScheme });
      const { page } = tab;
      const visitorPages = ['/', '/sign-in', '/sign-up?next=/device', '/verify-email?token=x', '/verify-email/done'];
      for (const path of visitorPages) await inspect(t, page, site.origin + path);
      await signUp(page, site, `${'a-long-address-'.repeat(4)}@example.org`);
      const accountId = await accountOf(site, `${'a-long-address-'.repeat(4)}@example.org`);
      await site.create('lobby', { accountId, name: 'L'.repeat(80) });
      await site.publicStatuses.set(
        { id: 'lobby', name: 'Lobby' },
        { enabled: true, showAddress: true },
        async () => {},
      );
      const app = await site.registerApp('An app with quite a long name, as long as may be, in fact');
      const devices = [await site.startDevice(app), await site.startDevice()];
      for (const { verification_uri_complete: link } of devices) await inspect(t, page, link);
      await press(page, 'Approve');
      await page.goto(devices[0]!.verification_uri_complete);
      await press(page, 'Approve');
      await site.clock.advance(5_000);
      await Promise.all(devices.map((device) => site.poll(device)));
      const pages = [
        '/',
        '/device',
        '/device/approved',
        '/device/declined',
        '/profile',
        '/profile/keys',
        '/profile/apps',
      ];
      const status = `/status/${site.publicStatuses.of('lobby').slug}`;
      for (const path of [...pages, '/profile/sessions', '/profile/invitations', status])
        await inspect(t, page, site.origin + path);
      clean(t, tab, site);
    },
  );
}

/** Runs accessibility checks on the page as rendered by the browser. */
async function inspect(t: ExecutionContext, page: Page, url: string): Promise<void> {
  await page.goto(url);
  for (const details of await page.locator('details').all())
    await details.evaluate((each) => each.setAttribute('open', ''));
  const found = await page.evaluate(INSPECT);
  t.deepEqual(
    found,
    {
      language: 'en',
      title: true,
      landmarks: [],
      headings: 1,
      skippedLevels: [],
      unlabelled: [],
      nameless: [],
      withoutAlt: 0,
      groupsWithoutLegend: 0,
      sameIds: [],
      danglingIds: [],
      // Live pages load the service's own scripts, and the list one that narrows it; static pages load none.
      scripts: /^\/servers(\/|$)/.test(new URL(page.url()).pathname) ? (page.url().endsWith('/servers') ? 4 : 3) : 0,
      formsWithoutToken: 0,
      small: [],
      tooWide: 0,
    },
    url,
  );
}

/** Checks that the browser reported no errors and requested only the site. */
function clean(t: ExecutionContext, { complaints, asked }: Tab, site: Site): void {
  t.deepEqual(
    complaints.filter((each) => !/the server responded with a status of 4\d\d/.test(each)),
    [],
  );
  t.deepEqual(
    asked.filter((url) => !url.startsWith(`${site.origin}/`)),
    [],
  );
  t.true(asked.some((url) => /\/assets\/style\.\w+\.css$/.test(url)));
}

async function signUp(page: Page, site: Site, email: string): Promise<void> {
  await page.goto(`${site.origin}/sign-up`);
  await fillIn(page, email);
}

async function signInWith(page: Page, site: Site, password: string): Promise<void> {
  await page.goto(`${site.origin}/sign-in`);
  await fillIn(page, 'alex@example.org', password);
}

async function fillIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.fill('#email', email);
  await page.fill('#password', password);
  await page.click('main button');
}

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
}

/** Returns the width and height in whole pixels. */
function size(box: { width: number; height: number } | null | undefined): number[] {
  return [box?.width ?? 0, box?.height ?? 0].map(Math.round);
}

/** Presses a key and waits for the page it leads to. */
async function submit(page: Page, key: string): Promise<void> {
  await Promise.all([page.waitForEvent('framenavigated'), page.keyboard.press(key)]);
  await page.waitForLoadState();
}

/** Returns the label or text of the focused element. */
async function focused(page: Page): Promise<string> {
  return page.evaluate<string>('(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()');
}

/** Presses Tab until the wanted element has the focus. Returns the number of presses; throws if it is unreachable. */
async function tabTo(page: Page, wanted: string): Promise<number> {
  for (let steps = 1; steps < 30; steps++) {
    await page.keyboard.press('Tab');
    if ((await focused(page)) === wanted) return steps;
  }
  throw new Error(`${wanted} cannot be reached by Tab`);
}

async function fits(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth <= document.documentElement.clientWidth');
}

async function accountOf(site: Site, email: string): Promise<string> {
  const [user] = await site.store.query<{ accountId: string }>('SELECT "accountId" FROM "users" WHERE "email" = $1', [
    email,
  ]);
  return user?.accountId ?? '';
}

/** Starts another site and returns its origin. */
async function serve(t: ExecutionContext, pageAt: (path: string) => string): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(pageAt(request.url ?? '/'));
  }).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}
