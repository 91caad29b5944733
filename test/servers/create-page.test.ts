import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

/** The Minecraft EULA is not accepted yet. */
const ASK = { config: { minecraftEula: 'ask' } } as const;

test('the create page lists versions newest first, RAM with its price, and errors beside their field', async (t) => {
  const it = await openPanel(t);
  const { text } = await it.get('/servers/new?software=leaf');
  const versions = [...text.matchAll(/<option value="(1\.[\d.]+)"/g)].map(([, version]) => version);
  t.deepEqual(versions, ['1.21.8', '1.21.7']);
  t.regex(text, /2 GB: 0\.02 USD an hour</);
  t.notRegex(text, /modpackRef/, 'a core for plugins has no packs');
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

test('a server created from a template gets the template’s settings', async (t) => {
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

test('a server is saved as a template in its settings, and the create page can delete that template', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { name: 'Castle', type: 'paper', version: '1.21.7', properties: { gamemode: 'creative' } });
  const settings = '/servers/castle/settings';
  const unnamed = await it.submit(`${settings}/template`, { name: ' ', description: '' });
  t.is(unnamed.status, 400);
  t.regex(await unnamed.text(), /id="template-name-wrong">is required/);
  const made = await it.submit(`${settings}/template`, { name: 'Our <usual>', description: 'Ten players' });
  t.is(made.headers.get('location'), `${settings}?done=template`);
  const id = /template=(tpl_\w+)#make"[^>]*>Our &lt;usual&gt;<\/a\s*>\s*<small>Ten players/.exec(
    (await it.get('/servers/new')).text,
  )?.[1];
  const { text } = await it.get(`/servers/new?template=${id}`);
  t.regex(text, /<option value="1\.21\.7" selected/);
  t.regex(text, /Delete this template…/);
  t.notRegex(
    (await it.get('/servers/new?template=creative')).text,
    /Delete this template…/,
    'a built-in template cannot be deleted',
  );
  t.is((await it.submit('/servers/new/forget', { template: 'creative' })).status, 403);
  const gone = await it.submit(`/servers/new/forget?template=${id}`, { template: id ?? '' });
  t.is(gone.headers.get('location'), '/servers/new?done=forgotten');
  t.notRegex((await it.get('/servers/new')).text, /tpl_/);
});

test('the create page offers only software that can run here, and points an operator to the fix', async (t) => {
  const it = await openPanel(t, { trusted: { refusal: 'Games run as root.' } });
  t.notRegex((await it.get('/servers/new')).text, /shows how to fix it/);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const { text } = await it.get('/servers/new');
  t.regex(text, /Other software can't run on this machine yet\. The service log shows how to fix it\./);
  t.regex(text, /software=sandbox#make"[^>]*>Sandbox<\/a\s*>\s*<small>[^<]*No download/);
  t.notRegex(text, /software=paper|template=survival/);
  const first = (await it.get('/servers')).text;
  t.regex(first, /value="sandbox" checked/);
  t.notRegex(first, /value="(?:survival|vanilla|creative)"/);
});

test('the create page says which software cannot be downloaded here, and that its jar is uploaded', async (t) => {
  const it = await openPanel(t, { canGet: (core) => core !== 'spigot' });
  const reason = /Spigot can’t be downloaded here\. Create the server, then upload server\.jar under Files\./;
  t.regex((await it.get('/servers/new?software=spigot')).text, reason);
  const { text } = await it.get('/servers/new?software=paper');
  t.notRegex(text, reason);
  t.regex(text, /Spigot<\/a\s*>\s*<small>[^<]*You upload its server\.jar\.</);
  const { cores } = await it.ok('GET', '/v1/minecraft/versions');
  const reasons = (cores as { type: string; unavailable: string }[]).filter(({ unavailable }) => unavailable !== '');
  t.deepEqual(
    reasons.map(({ type }) => type),
    ['spigot'],
  );
});

test('the page of a starting server shows what is being downloaded', async (t) => {
  const it = await openPanel(t);
  it.engine.hold('castle');
  await it.ok('POST', '/v1/servers', { name: 'Castle', ramMb: 256 });
  await it.ok('POST', '/v1/servers/castle:start');
  await it.servers.notify('castle', { type: 'PROGRESS', phase: 'downloading', percent: 40, item: 'Java 25' });
  const text = async () =>
    (await it.get('/servers/castle')).text.replaceAll(/<[^>]*>|\s+/g, ' ').replaceAll(/ +/g, ' ');
  t.regex(await text(), /Downloading Java 25, 40 %/);
  await it.servers.notify('castle', { type: 'PROGRESS', phase: 'installing', percent: 0, item: 'Forge 1.20.1' });
  t.regex(await text(), /Installing Forge 1\.20\.1\./);
});

test('a first server gets less RAM than its template if the limit requires it', async (t) => {
  const it = await openPanel(t, { config: { maxRamMb: 2_500 } });
  t.regex((await it.get('/servers')).text, /Survival with friends[\s\S]*?2 GB of RAM/);
  const made = await it.submit('/servers/first', { name: 'Castle', template: 'survival' });
  t.is(made.headers.get('location'), '/servers/castle');
  t.like(await it.ok('GET', '/v1/servers/castle'), { type: 'paper', ramMb: 2_048 });
});

test('the create page asks for the Minecraft EULA until it is accepted, but never for the sandbox', async (t) => {
  const it = await openPanel(t, ASK);
  const asksIn = async (path: string) => (await it.get(path)).text.includes('name="eula"');
  t.false(await asksIn('/servers/new?software=sandbox'));
  t.true(await asksIn('/servers/new?template=creative'));
  const { text } = await it.get('/servers/new?software=fabric');
  t.regex(text, /name="eula"\s+value="true"\s+required[\s\S]*href="https:\/\/aka\.ms\/MinecraftEULA"/);
  const fields = { name: 'Cogs', version: '1.21.8', ramMb: '4096' };
  const pack = { modpackPlatform: 'modrinth', modpackRef: 'pack' };
  const refused = await it.submit('/servers/new/create?software=fabric', { ...fields, ...pack });
  t.is(refused.status, 400);
  t.regex(await refused.text(), /Minecraft&#39;s licence \(\S+ \S+\) is not accepted[\s\S]*value="pack"/);
  t.false((await it.ok('GET', '/v1/accounts/acc_test/eula'))['accepted']);
  const made = await it.submit('/servers/new/create?software=fabric', { ...fields, eula: 'true' });
  t.is(made.headers.get('location'), '/servers/cogs');
  t.true((await it.ok('GET', '/v1/accounts/acc_test/eula'))['accepted']);
  t.false(await asksIn('/servers/new?software=paper'));
  t.is((await it.submit('/servers/cogs/start')).headers.get('location'), '/servers/cogs');
});

test('the front page asks only the owner to accept the EULA, and a member cannot accept it', async (t) => {
  const it = await openPanel(t, ASK);
  await it.create('castle', { type: 'paper' });
  await it.create('flat', { type: 'sandbox' });
  await it.stranger();
  await it.share('castle', 'member');
  const member = await it.browser('usr_other');
  const card = /<h2>Before it can wake<\/h2>/;
  t.regex((await it.get('/servers/castle')).text, card);
  t.notRegex((await it.get('/servers/flat')).text, card);
  t.notRegex((await it.get('/servers/castle', member)).text, card);
  const started = await it.submit('/servers/castle/start', {}, member);
  t.regex(await started.text(), /Minecraft&#39;s licence \(\S+ \S+\) is not accepted/);
  t.is((await it.submit('/servers/castle/agree', {}, member)).status, 403);
  const agreed = await it.submit('/servers/castle/agree');
  t.is(agreed.headers.get('location'), '/servers/castle?done=agreed');
  const { text } = await it.get('/servers/castle?done=agreed');
  t.regex(text, /Thank you\. The server can start now\./);
  t.notRegex(text, card);
});

test.runIf(isHere('chromium'))(
  'a server is created by keyboard on a phone, and the pages on the way are accessible',
  async (t) => {
    const it = await openPanel(t, ASK);
    await it.create('castle', { type: 'paper' });
    const { page, complaints } = await it.open('/servers/new', { ...PHONE, colorScheme: 'light' });
    await accessible(t, page);
    await page.goto(`${it.origin}/servers/castle`);
    await page.getByRole('button', { name: 'I agree' }).waitFor();
    await accessible(t, page);
    await page.goto(`${it.origin}/servers/new`);
    await page.getByText('Or choose the software').press('Enter');
    await page.getByRole('link', { name: 'Fabric', exact: true }).press('Enter');
    await page.getByRole('heading', { name: 'Fabric' }).waitFor();
    await page.getByText('With a mod pack').press('Enter');
    await accessible(t, page);
    await page.getByLabel('Name').fill('Cogs');
    await page.getByRole('button', { name: 'Create server' }).press('Enter');
    await page.locator('input:invalid').press('Space');
    await page.getByRole('button', { name: 'Create server' }).press('Enter');
    await page.getByRole('heading', { name: 'Cogs' }).waitFor();
    t.true((await it.ok('GET', '/v1/accounts/acc_test/eula'))['accepted']);
    t.deepEqual(complaints, []);
  },
);
