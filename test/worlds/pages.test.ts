import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';
import { plant } from '../support/tree.ts';

test.after.always(closeBrowser);

const PATH = '/servers/lobby/worlds';

/** The pages of a sleeping server with three worlds. */
async function panel(t: Parameters<typeof openPanel>[0]) {
  const it = await openPanel(t);
  await it.create('lobby');
  const root = join(it.dataDir, 'servers/lobby');
  await plant(root, {
    'world/level.dat': '12345',
    'world_nether/level.dat': '1',
    'skyblock/level.dat': 'sky',
    'A <b>bold one/level.dat': 'bold',
  });
  return {
    ...it,
    has: (name: string) => existsSync(join(root, name)),
    text: async () => (await it.get(PATH)).text,
    form: async (form: string, fields: Record<string, string> = {}) => {
      const answer = await it.during(it.submit(`${PATH}/${form}`, fields));
      return { status: answer.status, text: await answer.text(), to: answer.headers.get('location') ?? '' };
    },
  };
}

test('worlds are chosen, reset and deleted without scripts, and the page warns of the loss beforehand', async (t) => {
  const it = await panel(t);
  const text = await it.text();
  t.regex(text, /<bdi>A &lt;b&gt;bold one<\/bdi>/);
  t.regex(text, /We back up the whole server first\. Then world is deleted/);
  t.regex(text, /skyblock is deleted permanently.* No backup is made/);
  t.is((await it.form('choose', { name: 'skyblock' })).to, `${PATH}?done=chosen`);
  t.regex(await it.text(), /<bdi>skyblock<\/bdi>\s*<span class="tag">at the next start/);
  // On a busy machine the work may take longer than the form waits.
  t.regex((await it.form('delete', { name: 'world' })).to, /\?done=delet(?:ed|ing)$/);
  await it.during(it.until(() => !it.has('world_nether')));
  t.regex((await it.form('reset')).to, /\?done=reset(?:ting)?$/);
  await it.during(it.until(async () => !it.has('skyblock') && !(await it.text()).includes('Resetting')));
  t.regex(await it.text(), /Created at the next start/);
  t.regex((await it.get('/servers/lobby/backups')).text, /before a world reset/);
  const refused = await it.form('delete', { name: 'world' });
  t.is(refused.status, 404);
  t.regex(refused.text, /role="alert".*no world with this name/);
  t.is((await it.form('reset', { csrf: 'forged' })).status, 403);
});

test('a limited member sees the worlds but cannot change them', async (t) => {
  const it = await panel(t);
  await it.stranger();
  await it.share('lobby', 'limited');
  const other = await it.browser('usr_other');
  const page = await it.get(PATH, other);
  t.is(page.status, 200);
  t.notRegex(page.text, /Delete…|Reset…|Play it/);
  t.is((await it.submit(`${PATH}/delete`, { name: 'skyblock' }, other)).status, 403);
  t.true(it.has('skyblock'));
});

test.runIf(isHere('chromium'))(
  'on a phone, a world is chosen while another is played, and one is deleted by keyboard after the stop',
  async (t) => {
    const it = await panel(t);
    await it.command('lobby', 'START');
    await it.reach('lobby', 'running');
    const { page, complaints } = await it.open(PATH, PHONE);
    const world = page.getByRole('listitem').filter({ hasText: 'active' });
    t.is(await world.getByText('Delete…').count(), 0);
    await page.getByRole('button', { name: 'Use from the next start: skyblock' }).tap();
    await page.getByText('World changed. It loads at the next start.').waitFor();
    await page.getByText('at the next start', { exact: true }).waitFor();
    await it.command('lobby', 'STOP');
    await it.reach('lobby', 'hibernated');
    const bold = page.getByRole('listitem').filter({ hasText: 'bold' });
    await bold.getByText('Delete…').focus();
    await page.keyboard.press('Enter');
    await bold.getByText('is deleted permanently').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    // On a slow machine the deletion may take longer than the page waits.
    await it.during(page.getByText(/^(?:World deleted|Deleting the world)/).waitFor());
    await it.during(it.until(() => !it.has('A <b>bold one')));
    t.deepEqual(complaints, []);
  },
);

test.runIf(isHere('chromium'))(`the worlds page is accessible in dark mode on a phone`, async (t) => {
  const it = await panel(t);
  const { page } = await it.open(PATH, { ...PHONE, colorScheme: 'dark' });
  for (const name of ['Reset…', 'Delete…']) await page.getByText(name).first().click();
  await accessible(t, page);
});
