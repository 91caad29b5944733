import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { ServerRow } from '../../../src/servers/rows.ts';
import { backUp } from '../../backups/parts.ts';
import { modService } from '../../mods/bench.ts';
import { type Page, closeBrowser } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { type PanelUnderTest, openPanel } from '../../support/panel.ts';
import { plant } from '../../support/tree.ts';

// Each page's own tests send its forms without scripts. Here scripts send them without loading a new page.
test.after.always(closeBrowser);

interface Pressed extends PanelUnderTest {
  page: Page;
  root: string;
  /** Presses a button and waits for the text that follows. */
  press: (button: string | RegExp, said: string | RegExp) => Promise<void>;
  /** Opens a confirmation. */
  ask: (summary: string | RegExp) => Promise<void>;
  /** Checks that the page was not reloaded and the browser reported no errors. */
  stayed: () => Promise<void>;
}

/** A tab of Chromium on a page of the sleeping server `castle`. */
async function pressed(
  t: ExecutionContext,
  path: string,
  { fields = {}, options = {}, prepare }: Prepared = {},
): Promise<Pressed> {
  const it = await openPanel(t, options);
  await it.create('castle', fields);
  const root = join(it.dataDir, 'servers/castle');
  await mkdir(root, { recursive: true });
  await prepare?.(it, root);
  const { page, complaints } = await it.open(path);
  await page.evaluate('window.stays = true');
  return {
    ...it,
    page,
    root,
    async press(button, said) {
      await page
        .getByRole('button', { name: button, exact: typeof button === 'string' })
        .first()
        .click();
      await page.getByText(said).first().waitFor();
    },
    ask: (summary) => page.locator('summary', { hasText: summary }).first().click(),
    async stayed() {
      t.true(await page.evaluate('window.stays'), 'the page was not reloaded');
      t.deepEqual(complaints, []);
    },
  };
}

interface Prepared {
  fields?: Partial<ServerRow>;
  options?: Parameters<typeof openPanel>[1];
  prepare?: (it: PanelUnderTest, root: string) => Promise<unknown>;
}

async function operates(it: PanelUnderTest): Promise<void> {
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
}

test.runIf(isHere('chromium'))(
  'the buttons keep a server awake, cancel the keep-awake, and kill the server',
  async (t) => {
    const it = await pressed(t, '/servers/castle');
    await it.press('Start', 'Keep awake for');
    await it.press('Keep awake for 4 h', 'Kept awake until');
    await it.press('Cancel keep-awake', 'Keep-awake cancelled.');
    await it.ask('Kill…');
    await it.press('Yes, kill without saving', 'Asleep. No cost until someone joins.');
    t.is(await it.page.locator('details.confirm[open]').count(), 0);
    await it.stayed();
  },
);

test.runIf(isHere('chromium'))(
  'a success message is shown over the page, keeps scroll position and focus, and leaves unless the pointer is on it',
  async (t) => {
    const it = await pressed(t, '/servers/castle/players', { fields: { type: 'paper' } });
    const { page } = it;
    await page.clock.install();
    await page.setViewportSize({ width: 390, height: 500 });
    await page.locator('#operator-name').fill('Alex');
    const scroll = await page.evaluate('scrollY');
    await page.locator('#operator-name').press('Enter');
    const toast = page.locator('[role=status].toasts .note');
    await toast.waitFor();
    t.is(await page.locator('main .note.good').count(), 0);
    t.is(await page.evaluate('document.activeElement.id'), 'operator-name');
    t.is(await page.evaluate('scrollY'), scroll);
    await toast.hover();
    await page.clock.fastForward(10_000);
    t.true(await toast.isVisible());
    await page.mouse.move(5, 5);
    await page.clock.fastForward(10_000);
    await toast.waitFor({ state: 'detached' });
    await it.stayed();
  },
);

test.runIf(isHere('chromium'))(
  'the players page edits whitelist, operators and bans, and a refused field keeps the focus and its text',
  async (t) => {
    const it = await pressed(t, '/servers/castle/players', { fields: { type: 'paper' } });
    const { page } = it;
    await page.locator('#whitelist-name').fill('Steve');
    await it.press('Add', 'Whitelist updated.');
    t.is(await page.locator('#whitelist-name').inputValue(), '', 'the form is empty again');
    await it.press('Remove Steve', 'No players on the whitelist.');
    await page.locator('#operator-name').fill('Alex');
    await it.press('Add operator', 'Level 4: can do everything');
    await it.press('Remove Alex', 'No operators.');
    await page.locator('#ban-name').fill('Herobrine');
    await page.locator('#ban-reason').fill('Took the torches');
    await page.locator('#ban-length').selectOption('day');
    await it.press('Ban', /Took the torches\..*until/s);
    await it.press('Unban Herobrine', 'No banned players.');
    await page.locator('#ban-address-ip').fill('203.0.113');
    await it.press('Ban address', 'must be an IP address');
    t.is(await page.evaluate('document.activeElement.id'), 'ban-address-ip');
    t.is(await page.locator('#ban-address-ip').inputValue(), '203.0.113');
    t.true(await page.evaluate('window.stays'));
  },
);

test.runIf(isHere('chromium'))(
  'the settings pages change name, size, plan, idle time, a property and version, and delete the server',
  async (t) => {
    const it = await pressed(t, '/servers/castle/settings', {
      fields: { type: 'paper', version: '1.21.7', ramMb: 1_024 },
    });
    const { page } = it;
    const go = (path: string) => page.goto(`${it.origin}/servers/castle/settings${path}`);
    await page.locator('#name-name').fill('The Keep');
    await page.getByLabel('Tags').fill('survival, friends');
    await it.press('Save name and tags', 'Saved.');
    await page.getByRole('heading', { level: 1, name: 'The Keep' }).waitFor();
    await page.locator('#size-ramMb').selectOption('2048');
    await page.locator('input[name=plan][value=flat]').check();
    await it.press('Save size and plan', 'Saved.');
    t.true(await page.evaluate('window.stays'));
    await go('/game');
    await page.getByLabel('Minutes without players').fill('7');
    await it.press('Save', 'Saved.');
    await page.locator('[id="properties-properties.difficulty"]').selectOption('hard');
    await it.press('Save the game settings', 'Saved.');
    await go('/version?type=paper&version=1.21.8');
    await it.ask(/^\s*Change to/);
    await it.press('Yes, change it', /Paper 1\.21\.8/);
    await it.until(async () => (await it.servers.get('castle'))?.row.version === '1.21.8');
    const { row } = (await it.servers.get('castle'))!;
    t.like(row, {
      name: 'The Keep',
      tags: ['survival', 'friends'],
      ramMb: 2_048,
      plan: 'flat',
      idleTimeoutMinutes: 7,
      version: '1.21.8',
    });
    t.like(row.properties, { difficulty: 'hard' });
    await go('');
    await it.ask('Delete…');
    await page.getByLabel('Type castle to delete it').fill('castl');
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.locator('#delete-typed[aria-invalid=true]').waitFor();
    t.is(await page.evaluate('document.activeElement.id'), 'delete-typed', 'a refused form stays open');
    await page.getByLabel('Type castle to delete it').fill('castle');
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByRole('heading', { level: 1, name: 'Servers' }).waitFor();
    await it.reach('castle', 'gone');
  },
);

test.runIf(isHere('chromium'))(
  'the alerts page refuses an invalid webhook, saves a valid one, and removes it',
  async (t) => {
    const it = await pressed(t, '/servers/castle/settings/alerts');
    const { page } = it;
    const field = page.getByLabel('Webhook');
    await field.fill('http://localhost/hook');
    await it.press('Save', /Webhook|URL must/);
    await page.locator('[aria-invalid=true]').waitFor();
    t.is(await page.evaluate('document.activeElement.name'), 'url');
    await field.fill('https://discord.com/api/webhooks/1/secret');
    await it.press('Save', 'Send a test alert');
    await field.fill('');
    await it.press('Save', 'Saved.');
    await it.until(async () => (await it.servers.get('castle'))?.row.alertWebhookUrl === '');
  },
);

test.runIf(isHere('chromium'))(
  'the files page extracts an archive, renames a file, and downloads a folder as a zip',
  async (t) => {
    const it = await pressed(t, '/servers/castle/files', {
      async prepare(made, root) {
        await plant(root, { 'maps/a.txt': 'a map' });
        await made.ok('POST', '/v1/servers/castle/file:archive', { paths: ['maps'], to: 'maps.zip' });
      },
    });
    const { page } = it;
    const item = (name: string) => page.goto(`${it.origin}/servers/castle/files/item?path=${name}`);
    await item('maps.zip');
    await page.getByLabel('Target folder').fill('');
    await it.press('Extract', 'Nothing was extracted: maps/a.txt already exists');
    await page.getByLabel('Target folder').fill('out');
    await it.press('Extract', 'Archive extracted.');
    t.is(readFileSync(join(it.root, 'out/maps/a.txt'), 'utf8'), 'a map');
    await item('maps.zip');
    await page.getByLabel('Rename or move to').fill('old.zip');
    await it.press('Rename', 'Renamed.');
    t.true(existsSync(join(it.root, 'old.zip')));
    await item('maps');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download as zip' }).click();
    t.regex((await download).suggestedFilename(), /^maps.*\.zip$/);
  },
);

test.runIf(isHere('chromium'))(
  'the backups page locks, unlocks, restores and undoes, and asks before it keeps fewer backups',
  async (t) => {
    const it = await pressed(t, '/servers/castle/backups', {
      async prepare(made, root) {
        await plant(root, { 'world/level.dat': 'as it was' });
        for (let nth = 0; nth < 2; nth++) await backUp(made, 'castle');
        await plant(root, { 'world/level.dat': 'as it is' });
      },
    });
    const level = () => readFileSync(join(it.root, 'world/level.dat'), 'utf8');
    await it.press(/^Lock/, 'Backup locked.');
    await it.press(/^Unlock/, 'Backup unlocked.');
    await it.ask('Edit retention');
    for (const field of ['hourly', 'daily', 'weekly', 'monthly'])
      await it.page.locator(`#retention-${field}`).fill('0');
    await it.page.locator('#retention-keepLast').fill('1');
    await it.press('Save', 'The next backup deletes 1 backup permanently');
    await it.press('Yes, delete them', 'Retention saved. It applies from the next backup.');
    await it.ask('Restore…');
    await it.during(it.press('Restore', /^(?:Backup restored|Restore started)\./));
    await it.during(it.until(() => level() === 'as it was'));
    await it.page.locator('summary', { hasText: 'Undo the restore' }).waitFor();
    await it.ask('Undo the restore');
    await it.during(it.press('Undo the restore', /^(?:Restore undone|Restore started)\./));
    await it.during(it.until(() => level() === 'as it is'));
    await it.stayed();
  },
);

test.runIf(isHere('chromium'))(
  'the buttons reset a world, run a schedule, change a member’s role and remove the member',
  async (t) => {
    const it = await pressed(t, '/servers/castle/worlds', {
      async prepare(made, root) {
        await plant(root, { 'world/level.dat': '12345' });
        await made.ok('POST', '/v1/servers/castle/schedules', { kind: 'start', cronExpr: '0 4 * * *' });
        await made.stranger();
        await made.share('castle', 'member');
      },
    });
    const { page } = it;
    await it.ask('Reset…');
    await it.press('Back up and reset', /^(?:World reset|Resetting the world)/);
    await it.until(() => !existsSync(join(it.root, 'world')));
    await it.stayed();
    await page.goto(`${it.origin}/servers/castle/schedules`);
    await it.press(/^Run now/, /^(?:Done|Running)\./);
    await it.reach('castle', 'running');
    await page.goto(`${it.origin}/servers/castle/members`);
    await page.getByLabel('Role of stranger@example.com').selectOption('limited');
    await it.press('Change the role of stranger@example.com', 'Role changed.');
    t.is(await page.getByLabel('Role of stranger@example.com').inputValue(), 'limited');
    await it.ask('Remove…');
    await it.press('Remove', 'No members.');
  },
);

test.runIf(isHere('chromium'))(
  'the mods page updates and removes a mod, and the console page downloads the full log',
  async (t) => {
    const { registry, options } = await modService(t);
    const it = await pressed(t, '/servers/castle/mods', {
      fields: { type: 'fabric', version: '1.21.1' },
      options,
      async prepare(made) {
        registry.project('Lithium', [{ id: 'l1' }]);
        const mod = { name: 'Lithium', projectId: 'Lithium', source: 'modrinth' };
        await made.ok('POST', '/v1/servers/castle/mods', mod);
        registry.project('Lithium', [{ id: 'l2' }]);
      },
    });
    await it.press('Check for updates', 'l1 → l2');
    await it.press('Update all', 'Updates installed.');
    await it.ask('Remove…');
    await it.press('Remove', 'No mods yet');
    await it.stayed();
    await it.command('castle', 'START');
    await it.reach('castle', 'running');
    it.engine.print('castle', 'a line of it');
    await it.page.goto(`${it.origin}/servers/castle/console`);
    const download = it.page.waitForEvent('download');
    await it.page.getByRole('link', { name: 'Download full log' }).click();
    t.regex(readFileSync(await (await download).path(), 'utf8'), /a line of it/);
  },
);

test.runIf(isHere('chromium'))(
  'an operator drains a node, credits an account, suspends and unsuspends a server, and removes orphaned files',
  async (t) => {
    const it = await pressed(t, '/profile', {
      async prepare(made) {
        await operates(made);
        await mkdir(join(made.dataDir, 'servers/old-lobby'), { recursive: true });
      },
    });
    const { page } = it;
    const go = (path: string) => page.goto(`${it.origin}/operator${path}`);
    const reason = (text: string) => page.getByLabel('Reason').locator('visible=true').first().fill(text);
    await go('/nodes');
    await reason('New disk');
    await it.press(/^Drain /, 'Node drained. It starts no more servers.');
    await reason('It is in');
    await it.press(/^Resume /, 'Node resumed.');
    await go('/accounts/acc_test');
    await page.getByLabel('Amount in US dollars').fill('2.50');
    await page.getByLabel('Note').fill('For the outage');
    await it.press('Add entry', 'Added.');
    await page.locator('.facts', { hasText: '2.50 USD' }).waitFor();
    await it.ask('Suspend…');
    await reason('Too loud');
    await it.press('Yes, suspend castle', 'Suspended. The server saves and stops.');
    await it.ask('End the suspension…');
    await reason('Quiet again');
    await it.press('End the suspension', 'Suspension ended.');
    await go('/orphans');
    await it.ask('Remove…');
    await reason('Nobody wants it');
    await it.press(/^Yes, remove the files of old-lobby/, 'Removed.');
    t.false(existsSync(join(it.dataDir, 'servers/old-lobby')));
  },
);
