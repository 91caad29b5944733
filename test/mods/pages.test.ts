import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { mrpack } from '../support/modrinth.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';
import { modService, reachSlowly, status } from './bench.ts';

test.after.always(closeBrowser);

const PATH = '/servers/abc/mods';
/** The redirect after a pack is requested. `packing`: the installation continues in the background. */
const PACK_PRESSED = /^\/servers\/abc\/mods\?done=pack(ing)?$/;
const LITHIUM = { projectId: 'Lithium', source: 'modrinth' };

/** The pages of a sleeping server, with a local Modrinth as the registry. */
async function panel(t: Parameters<typeof openPanel>[0], fields: object = { type: 'fabric', version: '1.21.1' }) {
  const { registry, options } = await modService(t);
  const it = await openPanel(t, options);
  await it.create('abc', fields);
  return {
    ...it,
    registry,
    text: async () => (await it.get(PATH)).text,
    form: async (form: string, given: Record<string, string> = {}) => {
      const answer = await it.submit(`${PATH}/${form}`, given);
      return { status: answer.status, text: await answer.text(), to: answer.headers.get('location') ?? '' };
    },
    installed: async () =>
      ((await it.ok('GET', `/v1${PATH}`))['mods'] as { name: string; version: string }[])
        .map(({ name, version }) => `${name} ${version}`)
        .toSorted(),
  };
}

test('a mod can be found, added with its dependencies, updated and removed without scripts', async (t) => {
  const it = await panel(t);
  it.registry.project('FabricApi', [{ id: 'fa1' }]);
  it.registry.project('Lithium', [{ id: 'l1', requires: [{ project_id: 'FabricApi' }] }], { title: 'Lithium <b>' });
  t.regex(await it.text(), /No mods yet/);
  const found = await it.form('find', { query: 'lith', kind: 'mod', source: 'modrinth' });
  t.is(found.status, 200);
  t.regex(found.text, /<bdi>Lithium &lt;b&gt;<\/bdi>/);
  t.regex(found.text, /1\.2K downloads ·\s+Modrinth/);
  t.regex(found.text, /value="lith"/, 'the search text stays');
  const planned = await it.form('plan', LITHIUM);
  t.regex(planned.text, /<bdi>FabricApi<\/bdi> fa1 will be added/);
  t.deepEqual(await it.installed(), [], 'a preview installs no mod');
  t.is((await it.form('add', LITHIUM)).to, `${PATH}?done=added`);
  t.deepEqual(await it.installed(), ['FabricApi fa1', 'Lithium <b> l1']);
  t.regex(await it.text(), /<bdi>FabricApi<\/bdi> <span class="tag">required by another mod/);

  t.regex((await it.form('updates')).text, /Everything is up to date/);
  it.registry.project('Lithium', [{ id: 'l2', requires: [] }]);
  const updates = await it.form('updates');
  t.regex(updates.text, /<bdi>Lithium &lt;b&gt;<\/bdi> l1 → l2/);
  t.regex(updates.text, /<bdi>FabricApi<\/bdi> fa1 will be removed/);
  t.is((await it.form('update', { projectId: 'Lithium' })).to, `${PATH}?done=updated`);
  t.deepEqual(await it.installed(), ['Lithium <b> l2']);
  t.is((await it.form('remove', LITHIUM)).to, `${PATH}?done=removed`);
  t.deepEqual(await it.installed(), []);
  t.is((await it.form('remove', LITHIUM)).status, 404);
  t.is((await it.form('add', { ...LITHIUM, csrf: 'forged' })).status, 403);
});

test('the mods page plans and adds a named mod version, and shows an error for an unknown one', async (t) => {
  const it = await panel(t);
  it.registry.project('Lithium', [
    { id: 'l1', number: '1.0' },
    { id: 'l2', number: '2.0' },
  ]);
  t.regex((await it.form('plan', { ...LITHIUM, versionSpec: '1.0' })).text, /1\.0 will be added/);
  const wrong = await it.form('plan', { ...LITHIUM, versionSpec: '9.9' });
  t.is(wrong.status, 404);
  t.regex(wrong.text, /role="alert">.*no version &quot;9\.9&quot;/);
  await it.form('add', { ...LITHIUM, versionSpec: '1.0' });
  t.regex(await it.text(), /1\.0 · Modrinth · <code>mods\/lithium-1\.0\.jar<\/code> · stays at this version/);
});

test('while a registry is down, a search on the mods page shows an error and the installed mods', async (t) => {
  const it = await panel(t);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  await it.form('add', LITHIUM);
  const away = Array.from({ length: 10 }, () => status(503));
  it.registry.disturb('/v2/search', ...away);
  const asked = it.registry.asked.length;
  t.is((await it.get(PATH)).status, 200);
  t.is(it.registry.asked.length, asked, 'the page itself sends no request to a registry');
  // Several attempts, with pauses between them.
  const refused = await it.during(it.form('find', { query: 'sodium', kind: 'mod', source: 'modrinth' }));
  t.is(refused.status, 503);
  t.regex(refused.text, /role="alert">.*Modrinth/);
  t.regex(refused.text, /<bdi>Lithium<\/bdi>/);
  t.regex(refused.text, /value="sodium"/);
});

test('the mods page announces a pack’s backup and new core, installs it, and links to the backup afterwards', async (t) => {
  const it = await panel(t, { type: 'vanilla', version: '1.21.1' });
  t.regex(await it.text(), /Vanilla doesn’t support mods or plugins/);
  const content = await mrpack({ dependencies: { minecraft: '1.20.1', 'fabric-loader': '0.16.9' } });
  const version = { id: 'pk1', content, gameVersions: ['1.20.1'], filename: 'p.mrpack' };
  it.registry.project('Pack', [version], { project_type: 'modpack' });
  const found = await it.form('find', { query: '', kind: 'modpack', source: 'modrinth' });
  t.regex(found.text, /we back it up first.*instead of Vanilla 1\.21\.1/s);
  t.regex((await it.form('pack', { projectId: 'pack', source: 'modrinth' })).to ?? '', PACK_PRESSED);
  await reachSlowly(it, 'abc', 'hibernated');
  const page = await it.text();
  t.regex(page, /<bdi>pack<\/bdi> from Modrinth, version <code>pk1<\/code>/);
  t.regex(page, /Fabric 1\.20\.1/);
  t.regex(page, /restore the <a href="\/servers\/abc\/backups">backup<\/a>/);
});

test('the newest version of a pack comes from the pack’s own platform, even if that is not searchable', async (t) => {
  const { options } = await modService(t, undefined, true);
  const it = await openPanel(t, options);
  await it.create('abc', { type: 'fabric', version: '', modpackPlatform: 'ftb', modpackRef: '126' });
  await it.until(() => it.engine.installs.length === 1);
  it.engine.crash('abc', { code: 0 });
  await it.reach('abc', 'hibernated');
  const { text } = await it.get(PATH);
  t.regex(text, /<bdi>126<\/bdi> from FTB/);
  const form = /action="\/servers\/abc\/mods\/pack"[\s\S]*?<\/form>/.exec(text)?.[0] ?? '';
  const fields = [...form.matchAll(/name="(\w+)" value="(\w*)"/g)].map(([, name = '', value = '']) => [name, value]);
  const pressed = await it.submit(`${PATH}/pack`, Object.fromEntries(fields) as Record<string, string>);
  t.regex(pressed.headers.get('location') ?? '', PACK_PRESSED);
  await it.until(() => it.engine.installs.length === 2);
  t.like((await it.servers.get('abc'))?.row, { modpackPlatform: 'ftb', modpackRef: '126' });
});

test('a member with limited rights sees the mods, but cannot change them', async (t) => {
  const it = await panel(t);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  await it.form('add', LITHIUM);
  await it.stranger();
  await it.share('abc', 'limited');
  const other = await it.browser('usr_other');
  const { text } = await it.get(PATH, other);
  t.regex(text, /<bdi>Lithium<\/bdi>/);
  t.notRegex(text, /Remove…|Search<|Check for updates/);
  for (const form of ['plan', 'add', 'remove', 'update', 'pack'])
    t.is((await it.submit(`${PATH}/${form}`, LITHIUM, other)).status, 403, form);
});

test.runIf(isHere('chromium'))('a mod can be searched by keyboard, reviewed and added on a phone', async (t) => {
  const it = await panel(t);
  it.registry.project('FabricApi', [{ id: 'fa1' }]);
  it.registry.project('Lithium', [{ id: 'l1', requires: [{ project_id: 'FabricApi' }] }]);
  const { page, complaints } = await it.open(PATH, PHONE);
  await page.getByLabel('Search by name').fill('lith');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Add… Lithium' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('fa1 will be added').waitFor();
  await page.getByRole('button', { name: 'Add', exact: true }).tap();
  await page.getByText('Installed. Restart').waitFor();
  await page.getByText('required by another mod').waitFor();
  t.deepEqual(complaints, []);
});

test.runIf(isHere('chromium'))(`the mods page is accessible in dark mode`, async (t) => {
  const it = await panel(t);
  it.registry.project('FabricApi', [{ id: 'fa1' }]);
  it.registry.project('Lithium', [{ id: 'l1', requires: [{ project_id: 'FabricApi' }] }]);
  await it.form('add', LITHIUM);
  it.registry.project('Lithium', [{ id: 'l2', requires: [{ project_id: 'FabricApi' }] }]);
  const { page } = await it.open(PATH, { ...PHONE, colorScheme: 'dark' });
  await page.getByText('Remove…').click();
  await page.getByRole('button', { name: 'Check for updates' }).click();
  await page.getByRole('heading', { name: 'Updates' }).waitFor();
  await accessible(t, page);
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('button', { name: 'Change… Lithium' }).click();
  await page.getByText('Another version').click();
  await accessible(t, page);
});
