import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import type { Locator } from 'playwright-core';
import { type Page, type Tab, closeBrowser, openTab } from '../support/browser.ts';
import { type RawBot, joinRaw } from '../support/bot.ts';
import { isHere } from '../support/needs.ts';
import { PHONE } from '../support/panel.ts';
import { type Service, startService } from '../support/service.ts';

test.after.always(closeBrowser);

const MAX_PAGE_BYTES = 100_000;
const PATIENCE_MS = 120_000;
/** More than the tab stops of any page. */
const MOST_TABS = 200;

test.serial.runIf(isHere('chromium'))(
  'a newcomer reaches a first join and a first backup in the browser by keyboard alone',
  async (t) => {
    const service = await startService(t);
    const tab = await openNewcomer(t, service, { permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = tab;
    const press = byKeyboard(t, page);

    await page.goto('/');
    await press(page.getByRole('main').getByRole('link', { name: 'Sign in' }));
    await page.getByText('first-run.json').waitFor();
    const { email, password } = await firstCredentials(service);
    await type(t, page, page.getByLabel('E-mail address'), email);
    await type(t, page, page.getByLabel('Password'), password);
    await page.keyboard.press('Enter');
    await page.waitForURL('/servers');
    await weigh(t, tab, 'list');

    await page.getByText('Three steps to the first join').waitFor();
    await type(t, page, page.getByLabel('Name', { exact: true }), 'First castle');
    await page.keyboard.press('Tab');
    t.is(await page.evaluate('document.activeElement.name'), 'template', 'the focus is in the second field');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL('/servers/first-castle');
    await weigh(t, tab, 'overview');

    await press(page.getByRole('button', { name: 'Copy the address' }));
    await page.getByText('Copied').first().waitFor();
    const address = await page.evaluate<string>('navigator.clipboard.readText()');
    t.is(address, await page.locator('.where code').innerText());
    const entry = page.locator('#entry');
    await entry.getByText('Asleep').waitFor();
    await entry.getByText('0/20').waitFor();
    await press(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Servers' }));
    await page.getByText('Join it now').waitFor();
    t.true(await page.locator('.steps').getByText(address).isVisible());
    await press(page.getByRole('heading').getByRole('link', { name: 'First castle' }));
    await page.waitForURL('/servers/first-castle');

    const steve = await joins(t, service, page, address);
    await page.getByRole('heading', { level: 1 }).getByText('awake').waitFor();
    await page.getByText('Steve', { exact: true }).first().waitFor();
    await entry.getByText('1/20').waitFor();
    await entry.getByText('Asleep').waitFor({ state: 'detached' });

    await open(page, 'Console', press);
    await weigh(t, tab, 'console');
    await type(t, page, page.getByLabel('Command'), 'say hello from the panel');
    await page.keyboard.press('Enter');
    await steve.waitChat(/hello from the panel/);
    await page.getByLabel('Log', { exact: true }).getByText('hello from the panel').first().waitFor();

    await open(page, 'Backups', press);
    await weigh(t, tab, 'backups');
    await press(page.getByRole('button', { name: 'Back up now' }));
    await downloads(t, page, press);

    for (const name of ['Players', 'Worlds', 'Schedules', 'Settings']) {
      if ((await page.locator('nav.rail').getByRole('link', { name, exact: true }).count()) === 0) continue;
      await open(page, name, press);
      await weigh(t, tab, name);
    }
    await stops(page, steve, press);
    t.deepEqual(tab.complaints, []);
    t.deepEqual([...new Set(tab.asked.map((url) => new URL(url).origin))], [originOf(service)], 'no other hosts');
  },
);

test.serial.runIf(isHere('chromium'))(
  'a newcomer reaches a first join and a first backup on a phone without JavaScript',
  async (t) => {
    const service = await startService(t);
    const tab = await openNewcomer(t, service, { ...PHONE, javaScriptEnabled: false });
    const { page } = tab;

    await page.goto('/');
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).tap();
    const { email, password } = await firstCredentials(service);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).tap();
    await page.waitForURL('/servers');
    await page.getByLabel('Name', { exact: true }).fill('Pocket castle');
    await page.getByRole('button', { name: 'Create server' }).tap();
    await page.waitForURL('/servers/pocket-castle');

    const steve = await joins(t, service, page, await page.locator('.where code').innerText());
    await page.reload();
    await page.getByRole('heading', { level: 1 }).getByText('awake').waitFor();
    await page.getByText('Steve', { exact: true }).first().waitFor();

    await open(page, 'Console', byTouch);
    await page.getByLabel('Command').fill('list');
    await page.getByRole('button', { name: 'Run' }).tap();
    await page.getByText('Steve').first().waitFor();

    await open(page, 'Backups', byTouch);
    await page.getByRole('button', { name: 'Back up now' }).tap();
    await page.getByText('Backup started.').waitFor();
    await downloads(t, page, byTouch);
    await stops(page, steve, byTouch);
    t.deepEqual(
      tab.asked.filter((url) => new URL(url).origin !== originOf(service)),
      [],
    );
  },
);

/** Opens a browser without cookies at the service's address. */
async function openNewcomer(
  t: ExecutionContext,
  service: Service,
  options: NonNullable<Parameters<typeof openTab>[1]>,
): Promise<Tab> {
  return await openTab(t, { baseURL: originOf(service), acceptDownloads: true, ...options });
}

function originOf({ baseUrl }: Service): string {
  return `http://localhost:${new URL(baseUrl).port}`;
}

/** Reads the credentials that the first start wrote to the data folder. */
async function firstCredentials({ dataDir }: Service): Promise<{ email: string; password: string }> {
  return JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')) as { email: string; password: string };
}

/** Presses a button or follows a link. */
type Press = (target: Locator) => Promise<void>;

const byTouch: Press = (target) => target.tap();

/** Presses by keyboard alone. */
function byKeyboard(t: ExecutionContext, page: Page): Press {
  return async (target) => {
    await tabTo(t, page, target);
    await page.keyboard.press('Enter');
  };
}

/** Presses Tab until the target has the focus. */
async function tabTo(t: ExecutionContext, page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
    await page.keyboard.press('Tab');
    if (await target.evaluate((each) => each === each.ownerDocument.activeElement)) return;
  }
  t.fail(`Tab does not lead to ${target.toString()}`);
}

/** Replaces the content of a field by keyboard. */
async function type(t: ExecutionContext, page: Page, field: Locator, text: string): Promise<void> {
  await tabTo(t, page, field);
  await page.keyboard.press('Control+A');
  await page.keyboard.type(text);
}

/** Opens one of the server's pages. On a phone, their links are in a sheet. */
async function open(page: Page, name: string, press: Press): Promise<void> {
  const sheet = page.locator('[popovertarget=pages]');
  if (await sheet.isVisible()) await press(sheet);
  await press(page.locator('nav.rail').getByRole('link', { name, exact: true }));
  await page.locator('nav.rail [aria-current=page]').getByText(name, { exact: true }).waitFor({ state: 'attached' });
}

/** Joins with a real client at the address and version that the page shows. */
async function joins(t: ExecutionContext, service: Service, page: Page, address: string): Promise<RawBot> {
  const software = await page
    .locator('.facts')
    .getByText(/^Sandbox /)
    .innerText();
  const { hostname, port } = new URL(`tcp://${address}`);
  t.is(Number(port), service.playersPort);
  const version = software.replace('Sandbox ', '');
  return await joinRaw({ port: service.playersPort, version, fakeHost: hostname, name: 'Steve', timeoutMs: 180_000 });
}

/** Downloads the first backup once it is ready, and checks that it contains the server's files. */
async function downloads(t: ExecutionContext, page: Page, press: Press): Promise<void> {
  const link = page.getByRole('link', { name: /^Download/ }).first();
  await shown(page, link);
  const [download] = await Promise.all([page.waitForEvent('download'), press(link)]);
  const files = zstdDecompressSync(await readFile(await download.path()));
  t.true(files.includes('server.properties'), 'the archive contains the server’s files');
}

/** Stops the server, which disconnects its player. */
async function stops(page: Page, player: RawBot, press: Press): Promise<void> {
  await open(page, 'Overview', press);
  await press(page.getByRole('button', { name: 'Stop…', exact: true }));
  await press(page.getByRole('button', { name: 'Stop now' }));
  await player.ended;
  await shown(page, page.getByRole('heading', { level: 1 }).getByText('asleep'));
}

/** Waits until the page shows the element. Without JavaScript, reloads the page until then. */
async function shown(page: Page, what: Locator): Promise<void> {
  const hasScript = await page.locator('[data-copy]').first().isVisible();
  if (hasScript) return await what.waitFor();
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end && (await what.count()) === 0;) {
    await page.goto(page.url().replace(/\?.*/, ''));
  }
  await what.waitFor();
}

/** Asserts that a page with its scripts and styles is small, except for charts and editors. Logs its load time. */
async function weigh(t: ExecutionContext, { page }: Tab, name: string): Promise<void> {
  await page.waitForLoadState('load');
  const { bytes, ms } = await page.evaluate<{ bytes: number; ms: number }>(`(() => {
    const [page] = performance.getEntriesByType('navigation');
    const loaded = performance.getEntriesByType('resource').filter(({ initiatorType, name }) =>
      ['script', 'link'].includes(initiatorType) && !/\\/(?:uplot|charts|editor)/i.test(name));
    return {
      bytes: page.decodedBodySize + loaded.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
      ms: page.loadEventStart,
    };
  })()`);
  t.log(`${name}: ${Math.round(bytes / 1_000)} KB, shown after ${Math.round(ms)} ms`);
  t.true(bytes <= MAX_PAGE_BYTES, `${name} has ${bytes} bytes`);
}
