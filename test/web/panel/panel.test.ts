import { join } from 'node:path';
import test from 'ava';
import { OPERATIONS } from '../../../src/reference.ts';
import { backUp } from '../../backups/parts.ts';
import { closeBrowser } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { accessible, openPanel } from '../../support/panel.ts';
import { plant } from '../../support/tree.ts';

test.after.always(closeBrowser);

test('a user sees their own and shared servers; a visitor is redirected to sign-in', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { name: 'The <b>Castle</b>' });
  const list = await it.get('/servers');
  t.is(list.status, 200);
  t.regex(list.text, /href="\/servers\/castle"/);
  const front = await it.get('/servers/castle');
  t.regex(front.text, /<bdi>The &lt;b&gt;Castle&lt;\/b&gt;<\/bdi>/);
  t.regex(front.text, /asleep/);

  await it.stranger();
  const stranger = await it.browser('usr_other');
  t.notRegex((await it.get('/servers', stranger)).text, /castle/);
  t.is((await it.get('/servers/castle', stranger)).status, 404);
  await it.share('castle', 'limited');
  t.regex((await it.get('/servers', stranger)).text, /castle/);
  t.is((await it.get('/servers/castle', stranger)).status, 200);

  const nobody = await fetch(`${it.origin}/servers/castle`, { redirect: 'manual' });
  t.is(nobody.status, 303);
  t.regex(nobody.headers.get('location') ?? '', /^\/sign-in/);
});

test('a button works without scripts and returns to its page, and a refusal is shown as an alert', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const press = (verb: string, fields = {}) =>
    it.submit(`/servers/castle/${verb}`, { back: 'https://elsewhere.example/', ...fields });
  const pressed = await press('start');
  t.is(pressed.status, 303);
  t.is(pressed.headers.get('location'), '/servers/castle');
  await it.reach('castle', 'running');
  t.is((await press('stop', { csrf: 'forged' })).status, 403);
  const refused = await press('retry-install');
  t.is(refused.status, 400);
  t.regex(await refused.text(), /role="alert"/);
  await it.reach('castle', 'running');
});

test('the streams and files of a page have their own addresses, only for sessions with access', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.stranger();
  const other = await it.browser('usr_other');
  const refused = { 'x-csrf-token': '' };
  for (const { method, path } of OPERATIONS.filter(
    (operation) => operation.auth === 'key' && (operation.answers !== 'message' || operation.takes === 'bytes'),
  )) {
    if (!path.startsWith('/v1/servers/')) continue;
    const at = `/panel${path.replace('{id}', 'castle').replace(/\{\w+\}/, 'bak_none')}?path=a.txt`;
    t.is((await it.call(method, at)).status, 401, `${at} with a key`);
    t.is((await it.call(method, at, { key: null })).status, 401, `${at} with nothing`);
    t.is((await other.call(method, at, method === 'post' ? { raw: 'a' } : {})).status, 404, `${at} for a stranger`);
    if (method === 'post') t.is((await it.owner.call(method, at, { raw: 'a', headers: refused })).status, 403, at);
  }
  const path = '/panel/v1/servers/castle/events/stream';
  t.is((await it.owner.call('GET', path)).status, 200);
  t.is(
    (await it.owner.call('GET', '/v1/servers/castle/events/stream')).status,
    401,
    'a session does not open the API’s stream',
  );
  const upload = `/panel/v1/servers/castle/file:upload?path=a.txt`;
  t.is((await it.owner.call('POST', upload, { raw: 'a' })).status, 200);
});

test.runIf(isHere('chromium'))('a page follows changes by others live, and a button updates it in place', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const { page, complaints } = await it.open('/servers/castle');
  await page.evaluate('window.stays = true');
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('heading', { level: 1 }).getByText('awake').waitFor();
  await page.locator('summary', { hasText: 'Kill…' }).click();
  await page.evaluate(`new Promise((renewed) => {
    document.addEventListener('dormouse:renewed', renewed, { once: true });
    document.dispatchEvent(new Event('dormouse:refresh'));
  })`);
  t.is(await page.locator('details[open]', { hasText: 'Kill…' }).count(), 1, 'an opened section stays open');
  await it.command('castle', 'STOP', { kind: 'user', id: 'usr_test', note: 'asked over the API' });
  await page.getByRole('heading', { level: 1 }).getByText('asleep').waitFor();
  t.true(await page.evaluate('window.stays'), 'the page was not reloaded');
  t.deepEqual(complaints, []);
});

test.runIf(isHere('chromium'))(
  'a page shows that its event stream is disconnected until the stream is back',
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    for (const path of ['/servers', '/servers/castle']) {
      const { page } = await it.open('/profile');
      await page.route('**/events/stream', (route) => route.abort());
      await page.goto(it.origin + path);
      const note = page.locator('[data-status]');
      await page.getByText('Reconnecting…').waitFor();
      await accessible(t, page);
      await page.unroute('**/events/stream');
      await note.waitFor({ state: 'hidden' });
      t.is(await note.textContent(), 'Live');
    }
  },
);

test.runIf(isHere('chromium'))(
  'scripts show times in the reader’s own time zone: in texts, tooltips and labels',
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    await plant(join(it.dataDir, 'servers', 'castle'), { 'world/level.dat': 'a world' });
    await backUp(it, 'castle');
    const made = '14 Nov 2023, 22:13 UTC';
    t.true((await it.get('/servers/castle')).text.includes(`>${made}</time>`), 'without a script, times are in UTC');
    const here = '15 Nov 2023, 03:58';
    const { page } = await it.open('/servers/castle', { timezoneId: 'Asia/Kathmandu', locale: 'en-GB' });
    await page.locator('dd', { hasText: here }).waitFor();
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator(`time[data-since][title="${here}"]`).first().waitFor();
    await page.goto(`${it.origin}/servers/castle/backups`);
    await page.getByRole('heading', { name: here }).waitFor();
    await page.locator(`time[title="${here}"]`, { hasText: 'just now' }).waitFor();
    await page.getByRole('link', { name: `Download the backup of ${here}` }).waitFor();
    t.false((await page.locator('main').innerText()).includes('22:13'));
  },
);

test.runIf(isHere('chromium'))('a page returned by a form stays live and does not send the form again', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  // The browser itself sends the form, as before the page's scripts have loaded.
  const { page, asked } = await it.open('/servers/castle');
  // In one step, because the page may refresh in between.
  await page.evaluate(`{
    const form = document.querySelector('form[action$="/start"]');
    form.setAttribute('action', '/servers/castle/retry-install');
    form.submit();
  }`);
  await page.getByRole('alert').waitFor();
  await it.command('castle', 'START', { kind: 'user', id: 'usr_test', note: 'asked over the API' });
  await page.getByText('awake', { exact: true }).first().waitFor();
  t.is(asked.filter((url) => url.endsWith('/retry-install')).length, 1);
});

test.runIf(isHere('chromium'))(
  'a form in flight still updates its page, even if the page meanwhile returns 404',
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    const { page } = await it.open('/servers/castle');
    await page.evaluate('window.stays = true');
    const answer = Promise.withResolvers<void>();
    await page.route('**/castle/start', async (route) => {
      await answer.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('form[aria-busy=true]').waitFor();
    await page.evaluate(`new Promise((resolve) => {
    document.addEventListener('dormouse:renewed', () => resolve(), { once: true });
    document.dispatchEvent(new Event('dormouse:refresh'));
  })`);
    t.is(await page.locator('form[aria-busy=true]').count(), 1, 'a refreshed page keeps the form');
    // The refresh gets a 404, but not the form. A second request shows that the page has handled the first 404.
    let asked = 0;
    await page.route('**/servers/castle', (route) => {
      asked += 1;
      return route.fulfill({ status: 404, body: '' });
    });
    await it.until(async () => {
      await page.evaluate("document.dispatchEvent(new Event('dormouse:refresh'))");
      return asked > 1;
    });
    t.true(await page.evaluate('window.stays'), 'the page was not reloaded');
    await page.unroute('**/servers/castle');
    answer.resolve();
    await page.getByRole('heading', { level: 1 }).getByText('awake').waitFor();
    t.true(await page.evaluate('window.stays'), 'the page was not reloaded');
  },
);

test.runIf(isHere('chromium'))('a second click sends a form once, and a page from the history is usable', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const { page } = await it.open('/servers/castle');
  const answer = Promise.withResolvers<void>();
  let sent = 0;
  await page.route('**/castle/start', async (route) => {
    sent += 1;
    await answer.promise;
    await route.continue();
  });
  const start = page.getByRole('button', { name: 'Start' });
  await start.dblclick();
  await page.locator('form[aria-busy=true]').waitFor();
  await start.click({ force: true });
  // The browser reports a page that it restores as it was left, with a form that will get no answer.
  const shown = (persisted: boolean) =>
    `dispatchEvent(new PageTransitionEvent('pageshow', { persisted: ${persisted} }))`;
  await page.evaluate(shown(false));
  t.is(await page.locator('form[aria-busy=true]').count(), 1, 'a page that loads anew keeps its forms');
  await page.evaluate(shown(true));
  t.is(await page.locator('form[aria-busy=true]').count(), 0);
  answer.resolve();
  await page.getByRole('heading', { level: 1 }).getByText('awake').waitFor();
  t.is(sent, 1);
});

test('a 404 page shows a signed-in user as signed in, and offers sign-in to a visitor', async (t) => {
  const it = await openPanel(t);
  for (const path of ['/nothing', '/servers/none', '/servers/none/settings']) {
    const { status, text } = await it.get(path);
    t.is(status, 404, path);
    t.regex(text, /Sign out/, path);
    t.notRegex(text, /Sign in/, path);
    const nobody = await fetch(it.origin + path, { headers: { accept: 'text/html', cookie: 'sid=x' } });
    t.regex(await nobody.text(), /Sign in/, path);
  }
});

test('a session that requests too many pages is rate-limited, and another session is not', async (t) => {
  const it = await openPanel(t);
  const other = await it.browser('usr_test');
  const statuses: number[] = [];
  for (let batch = 0; batch < 11; batch++)
    statuses.push(...(await Promise.all(Array.from({ length: 50 }, async () => (await it.get('/nowhere')).status))));
  t.is(statuses.filter((status) => status === 404).length, 500);
  t.is(statuses.filter((status) => status === 429).length, 50);
  t.is((await it.get('/nowhere', other)).status, 404);
});
