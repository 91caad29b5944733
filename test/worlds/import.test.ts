import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { api } from '../support/api-harness.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';
import { tarOf } from '../support/server-archive.ts';

test.after.always(closeBrowser);

async function lobby(t: ExecutionContext) {
  const it = await api(t);
  await it.create('lobby');
  const add = async (files: Record<string, string>, name = '', top = '') => {
    const { json } = await it.call('POST', '/v1/imports?name=island.tar', { raw: tarOf(files, top) });
    const body = { importId: String(json['id']), name };
    return await it.call('POST', '/v1/servers/lobby/worlds:import', { body });
  };
  const root = join(it.dataDir, 'servers/lobby');
  return { ...it, add, root, has: (path: string) => existsSync(join(root, path)) };
}

test('a world is added with or without its folder, in both layouts, and its import is gone', async (t) => {
  const it = await lobby(t);
  const bare = await it.add({ 'level.dat': 'bare', 'DIM-1/region/r.0.0.mca': 'nether' });
  t.is(bare.status, 200, bare.text);
  t.is(readFileSync(join(it.root, 'island/level.dat'), 'utf8'), 'bare');
  t.true(it.has('island/DIM-1/region/r.0.0.mca'));
  const bukkit = { 'sky/level.dat': 'sky', 'sky_nether/level.dat': 'n', 'plugins/a.jar': 'jar' };
  t.is((await it.add(bukkit, 'heaven', 'old/')).status, 200);
  t.true(it.has('heaven/level.dat') && it.has('heaven_nether/level.dat'));
  t.false(it.has('plugins/a.jar') || it.has('sky'), 'only the world is added');
  t.deepEqual(readdirSync(join(it.dataDir, 'imports')), []);
  t.regex((await it.call('GET', '/v1/servers/lobby/audit')).text, /world\.import/);
});

test('an existing world, a bad name and an archive without a world change nothing and keep the import', async (t) => {
  const it = await lobby(t);
  await it.add({ 'level.dat': 'first' });
  t.like(await it.add({ 'level.dat': 'second' }), { reason: 'WORLD_EXISTS', status: 409 });
  t.is(readFileSync(join(it.root, 'island/level.dat'), 'utf8'), 'first');
  t.is((await it.add({ 'level.dat': 'second' }, '../evil')).reason, 'INVALID_WORLD_NAME');
  t.is((await it.add({ 'plugins/a.jar': 'jar' })).reason, 'NO_WORLD_FOUND');
  t.is(readdirSync(join(it.dataDir, 'imports')).length, 3);
});

test('without JavaScript, a world is uploaded on the page of worlds, and added under a name', async (t) => {
  const it = await openPanel(t);
  await it.create('lobby');
  const at = '/servers/lobby/worlds';
  const form = new FormData();
  form.append('csrf', it.owner.csrf);
  form.append('file', new Blob([Uint8Array.from(tarOf({ 'level.dat': 'x' }, ''))]), 'island.tar');
  const headers = { cookie: it.owner.cookie, origin: it.origin, accept: 'text/html' };
  const sent = await fetch(`${it.origin}${at}/upload`, { method: 'POST', redirect: 'manual', headers, body: form });
  const page = sent.headers.get('location') ?? '';
  t.regex(page, /worlds\?import=imp_/);
  const { text } = await it.get(page);
  t.regex(text, /value="island"/);
  t.regex(text, /\/v1\/servers\/lobby\/export/);
  const done = await it.submit(page.replace('?', '/add?'), { name: 'isle' });
  t.regex(done.headers.get('location') ?? '', /done=add(?:ed|ing)$/);
  await it.until(() => existsSync(join(it.dataDir, 'servers/lobby/isle/level.dat')));
  t.pass();
});

test.runIf(isHere('chromium'))(
  'an archive dropped on the page of worlds becomes a world under the name that is chosen, on a phone too',
  async (t) => {
    const it = await openPanel(t);
    await it.create('lobby');
    const archive = (name: string) => ({
      name: `${name}.tar`,
      mimeType: 'application/x-tar',
      buffer: tarOf({ 'level.dat': name }, ''),
    });
    for (const [name, options] of [
      ['island', { viewport: { width: 1280, height: 900 } }],
      ['reef', PHONE],
    ] as const) {
      const { page, complaints } = await it.open('/servers/lobby/worlds', options);
      await page.locator('[data-files]').setInputFiles([archive(name)]);
      const field = page.getByRole('textbox', { name: 'Name' });
      await field.waitFor();
      t.is(await field.inputValue(), name);
      await accessible(t, page);
      await field.fill(`my-${name}`);
      await field.press('Enter');
      // On a slow machine the move may take longer than the page waits.
      await it.during(page.getByText(/^(?:World added|Adding the world)/).waitFor());
      await it.until(() => existsSync(join(it.dataDir, `servers/lobby/my-${name}/level.dat`)));
      t.deepEqual(complaints, []);
    }
  },
);
