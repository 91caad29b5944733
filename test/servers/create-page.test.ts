import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { needs } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

test('a server is made of software: its versions newest first, RAM with its price, what was wrong at its field', async (t) => {
  const it = await openPanel(t);
  const { text } = await it.get('/servers/new?software=leaf');
  const versions = [...text.matchAll(/<option value="(1\.[\d.]+)"/g)].map(([, version]) => version);
  t.deepEqual(versions, ['1.21.8', '1.21.7']);
  t.regex(text, /2 GB: 0\.02 USD an hour</);
  t.notRegex(text, /modpackRef/, 'plugins make no pack');
  const fields = { name: 'Leaves', version: '1.21.7', ramMb: '2048' };
  const refused = await it.submit('/servers/new/create?software=leaf', { ...fields, name: ' ' });
  t.is(refused.status, 400);
  const page = await refused.text();
  t.regex(page, /id="create-name-wrong">is required/);
  t.regex(page, /value="1\.21\.7"\s+selected/);
  const made = await it.submit('/servers/new/create?software=leaf', fields);
  t.is(made.headers.get('location'), '/servers/leaves');
  t.like(await it.ok('GET', '/v1/servers/leaves'), { type: 'leaf', version: '1.21.7', ramMb: 2_048 });
  t.is((await it.submit('/servers/new/create?software=leaf', { ...fields, csrf: 'forged' })).status, 403);
});

test('a server is made of a template, which brings its settings along', async (t) => {
  const it = await openPanel(t);
  const { text } = await it.get('/servers/new?template=creative');
  t.regex(text, /A peaceful flat world[\s\S]*value="3072"\s+selected/);
  const fields = { name: 'Building site', version: '1.21.7', ramMb: '4096' };
  const made = await it.submit('/servers/new/create?template=creative', fields);
  t.is(made.headers.get('location'), '/servers/building-site');
  const server = await it.ok('GET', '/v1/servers/building-site');
  t.like(server, { type: 'paper', version: '1.21.7', ramMb: 4_096 });
  t.is((server['properties'] as Record<string, string>)['gamemode'], 'creative');
});

test('only what may run here is offered', async (t) => {
  const it = await openPanel(t, { trusted: 'nobody' });
  const { text } = await it.get('/servers/new');
  t.regex(text, /software=sandbox#make"[^>]*>Sandbox<\/a\s*>\s*<small>[^<]*no download/);
  t.notRegex(text, /software=paper|template=survival/);
});

test('a server is made by keyboard on a phone; nothing keeps anybody out of its page', async (t) => {
  if (!(await needs(t, 'chromium'))) return;
  const it = await openPanel(t);
  const { page, complaints } = await it.open('/servers/new', { ...PHONE, colorScheme: 'light' });
  await accessible(t, page);
  await page.getByText('Or choose the software yourself').press('Enter');
  await page.getByRole('link', { name: 'Fabric', exact: true }).press('Enter');
  await page.getByRole('heading', { name: 'Fabric' }).waitFor();
  await page.getByText('With a mod pack').press('Enter');
  await accessible(t, page);
  await page.getByLabel('Name').fill('Cogs');
  await page.getByRole('button', { name: 'Make it' }).press('Enter');
  await page.getByRole('heading', { name: 'Cogs' }).waitFor();
  t.deepEqual(complaints, []);
});
