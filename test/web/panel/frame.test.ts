import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Locator } from 'playwright-core';
import { closeBrowser } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, legibleInTheDark, openPanel } from '../../support/panel.ts';
import { plant } from '../../support/tree.ts';
import { STEVE } from '../../support/world.ts';

test.after.always(closeBrowser);

/** Returns the names of the links beside a page. */
function linksOf(text: string): string[] {
  const [rail = ''] = /<nav class="rail"[^]*?<\/nav>/.exec(text) ?? [];
  return [...rail.matchAll(/<a href="\/servers[^>]*>([^<]*)<\/a>/g)].map(([, name = '']) => name);
}

test('a server’s pages are in four groups, and the current one is marked', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const { text } = await it.get('/servers/castle/files');
  t.deepEqual(
    [...text.matchAll(/<p class="kicker" id="pages-\d">(\w+)<\/p>/g)].map(([, name]) => name),
    ['Play', 'Content', 'Run', 'Share'],
  );
  t.regex(text, /<a href="\/servers\/castle\/files" aria-current="page">Files<\/a>/);
  t.is([...text.matchAll(/aria-current="page"/g)].length, 1);
  t.true(linksOf(text).includes('Bill'));
  const machine = await it.get('/servers/castle/machine');
  t.regex(machine.text, /<a href="\/servers\/castle\/audit" aria-current="page">Audit<\/a>/);
  t.false(linksOf(machine.text).includes('Machine'), 'owners find the machine under Audit');
  t.regex(machine.text, /<a href="\/servers\/castle\/machine" aria-current="page">State machine<\/a>/);
});

test('readers see the pages of their role, and operators the machine', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.stranger();
  const other = await it.browser('usr_other');
  await it.share('castle', 'limited');
  const limited = await it.get('/servers/castle', other);
  t.deepEqual(linksOf(limited.text), ['Overview', 'Console', 'Players', 'Machine']);
  t.regex(limited.text, /You have limited access here\./);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  t.is(linksOf((await it.get('/servers/castle')).text).at(-1), 'Machine');
});

test('pages do not mention money where servers are free, nor databases where there are none', async (t) => {
  const free = { pricePerGbHourMicros: 0, pricePerGbMonthMicros: 0 };
  const it = await openPanel(t, { config: free, databases: null });
  await it.create('castle');
  for (const path of ['/servers', '/servers/castle']) {
    const { text } = await it.get(path);
    t.notRegex(text, /USD|No cost|>\s*Bill\s*</, path);
  }
  t.false(linksOf((await it.get('/servers/castle')).text).includes('Database'));
});

/** A server that Steve has woken and joined. */
async function played(t: ExecutionContext): Promise<PanelUnderTest> {
  const it = await openPanel(t);
  await it.create('castle');
  await it.command('castle', 'JOIN', STEVE);
  await it.reach('castle', 'running');
  t.notRegex((await it.get('/servers/castle')).text, /id="ask-/, 'no one is online yet');
  it.games.players.set('castle', 1);
  await it.passUntil(async () => (await it.get('/servers/castle')).text.includes('id="ask-stop"'), 5_000);
  return it;
}

test('Stop and Restart ask while players are online', async (t) => {
  const it = await played(t);
  const { text } = await it.get('/servers/castle/files');
  t.regex(text, /id="ask-stop"[^]*1 player is\s+online\.[^]*disconnects\s+that player\.[^]*Stop now/);
  t.regex(text, /id="ask-restart"[^]*Restart now/);
  it.games.players.set('castle', 3);
  await it.passUntil(async () => (await it.get('/servers/castle')).text.includes('3 players are online'), 5_000);
});

test.runIf(isHere('chromium'))(
  'the question before a stop can be cancelled and answered without scripts',
  async (t) => {
    const it = await played(t);
    const { page } = await it.open('/servers/castle/files', { javaScriptEnabled: false });
    const question = page.getByRole('dialog', { name: 'Stop' });
    await page.getByRole('button', { name: 'Stop…' }).click();
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Stop…' }).click();
    await question.getByRole('button', { name: 'Stop now' }).click();
    await page.waitForURL('**/servers/castle/files');
    await it.reach('castle', 'hibernated');
  },
);

for (const [device, options] of [
  ['a phone', PHONE],
  ['a desk', {}],
] as const) {
  test.runIf(isHere('chromium'))(
    `players are warned of a restart, which is cancelled by keyboard, on ${device}`,
    async (t) => {
      const it = await played(t);
      const { page } = await it.open('/servers/castle/files', options);
      await page.getByRole('button', { name: 'Restart…' }).press('Enter');
      const question = page.getByRole('dialog', { name: 'Restart' });
      await question.getByRole('button', { name: 'Warn and restart in 30 s' }).press('Enter');
      await page.getByText(/restarts in \d+ s/).waitFor();
      await accessible(t, page);
      await page.getByRole('button', { name: 'Cancel the restart' }).press('Enter');
      await page.getByRole('button', { name: 'Restart…' }).waitFor();
      t.is((await it.servers.get('castle'))?.context.announced, null);
    },
  );
}

test.runIf(isHere('chromium'))('a server stops after a warning, chosen without scripts', async (t) => {
  const it = await played(t);
  const { page } = await it.open('/servers/castle', { javaScriptEnabled: false });
  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.getByRole('button', { name: 'Warn and stop in 30 s' }).click();
  await page.getByText('stops in 30 s').waitFor();
  await page.getByRole('button', { name: 'Cancel the stop' }).waitFor();
  await it.reach('castle', 'hibernated');
});

test.runIf(isHere('chromium'))('a phone reaches every page without scripts, by a menu and a sheet', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const { page } = await it.open('/servers', { ...PHONE, javaScriptEnabled: false });
  await page.getByRole('link', { name: 'castle' }).tap();
  t.false(await page.getByRole('link', { name: 'Backups' }).isVisible());
  await page.getByRole('button', { name: 'Overview' }).tap();
  await page.getByRole('link', { name: 'Backups' }).tap();
  await page.waitForURL('**/servers/castle/backups');
  await page.getByRole('button', { name: 'Backups (all pages)' }).waitFor();
  await page.getByRole('button', { name: 'Menu' }).tap();
  await page.getByRole('link', { name: 'Servers' }).tap();
  await page.waitForURL('**/servers');
});

test.runIf(isHere('chromium'))('the open menu and sheet are accessible in light and dark mode', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const { page } = await it.open('/servers/castle', { ...PHONE, reducedMotion: 'reduce' });
  for (const name of ['Overview', 'Menu']) {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.getByRole('button', { name }).tap();
    await accessible(t, page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await legibleInTheDark(t, page);
    await page.keyboard.press('Escape');
    t.is(await page.locator(':popover-open').count(), 0);
  }
});

test.runIf(isHere('chromium'))('the command line and the editor’s Save are in view without scrolling', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await plant(join(it.dataDir, 'servers', 'castle'), { 'notes.txt': 'a line\n'.repeat(500) });
  for (const viewport of [{ width: 1_280, height: 800 }, PHONE.viewport]) {
    const { page } = await it.open('/servers/castle/console', { viewport });
    await expectInView(t, page.getByLabel('Command'));
    await page.goto(`${it.origin}/servers/castle/files/edit?path=notes.txt`);
    await expectInView(t, page.getByRole('button', { name: 'Save' }));
  }
});

async function expectInView(t: ExecutionContext, what: Locator): Promise<void> {
  const { bottom, height } = await what.evaluate((each) => ({
    bottom: each.getBoundingClientRect().bottom,
    height: each.ownerDocument.documentElement.clientHeight,
  }));
  t.true(bottom <= height, `${what.toString()}: ${bottom} of ${height} px`);
}

test.runIf(isHere('chromium'))('Copy works over plain http on another host', async (t) => {
  const it = await openPanel(t, { site: 'panel.test' });
  await it.create('castle');
  const { page } = await it.open('/servers/castle');
  t.is(await page.evaluate('typeof navigator.clipboard'), 'undefined');
  await page.getByRole('button', { name: 'Copy the address' }).click();
  await page.goto(`${it.origin}/servers/castle/settings`);
  const field = page.getByLabel('Name', { exact: true });
  await field.fill('');
  await field.press('Control+V');
  t.is(await field.inputValue(), await page.locator('.where code').innerText());
});
