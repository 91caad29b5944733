import test, { type ExecutionContext } from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, legibleInTheDark, openPanel } from '../support/panel.ts';
import { SERVER_FILES, tarOf } from '../support/server-archive.ts';

test.after.always(closeBrowser);

const AT = '/servers/new/import';

function send({ origin, owner }: PanelUnderTest, name: string, content: Buffer, fields = {}): Promise<Response> {
  const form = new FormData();
  for (const [field, value] of Object.entries({ csrf: owner.csrf, ...fields })) form.append(field, value);
  form.append('file', new Blob([Uint8Array.from(content)]), name);
  const headers = { cookie: owner.cookie, origin, accept: 'text/html' };
  return fetch(`${origin}${AT}/upload`, { method: 'POST', redirect: 'manual', headers, body: form });
}

async function uploaded(t: ExecutionContext, it: PanelUnderTest, files = SERVER_FILES, name = 'Old one.tar') {
  const answer = await send(it, name, tarOf(files));
  t.is(answer.status, 303, await answer.text());
  return answer.headers.get('location') ?? '';
}

test('without JavaScript, an uploaded archive shows its findings, and one form creates the server', async (t) => {
  const it = await openPanel(t);
  t.regex((await it.get('/servers/new')).text, /href="\/servers\/new\/import"/);
  const page = await uploaded(t, it);
  const { text } = await it.get(page);
  for (const words of [/Paper/, /1\.21\.8/, /<bdi>lobby<\/bdi>/, /Vault/, /1 GB/, /pvp=false/, /start\.sh/])
    t.regex(text, words);
  t.regex(text, /Scripts do not run here/);
  t.deepEqual((await it.ok('GET', '/v1/servers'))['servers'], []);
  const fields = { name: 'New one', type: 'paper', version: '1.21.8', ramMb: '2048' };
  const refused = await it.submit(`${page}/confirm`, { ...fields, name: ' ' });
  t.regex(await refused.text(), /id="confirm-name-wrong">is required/);
  t.is((await it.submit(`${page}/confirm`, { ...fields, csrf: 'forged' })).status, 403);
  const made = await it.submit(`${page}/confirm`, fields);
  // On a busy machine the work may take longer than the form waits.
  t.regex(made.headers.get('location') ?? '', /^\/servers\/(?:new-one|new\/import\?done=creating)$/);
  await it.until(async () => (await it.get(page)).status === 404);
  t.like(await it.ok('GET', '/v1/servers/new-one'), { name: 'New one', ramMb: 2_048 });
});

test('the page lists own uploads with their expiry, and discards them', async (t) => {
  const it = await openPanel(t);
  const page = await uploaded(t, it);
  const { text } = await it.get(AT);
  t.regex(text, /Old one<\/a>/);
  t.regex(text, /Deleted in (?:1 day|23 hours)/);
  const done = await it.submit(`${AT}/discard`, { import: page.split('/').at(-1) ?? '' });
  t.is(done.headers.get('location'), `${AT}?done=discarded`);
  t.notRegex((await it.get(AT)).text, /Old one<\/a>/);
});

test('an archive without a server, an unknown file and an empty form say what to do instead', async (t) => {
  const it = await openPanel(t);
  for (const [name, content, words] of [
    ['cat.tar', tarOf({ 'cat.jpg': 'cat' }), /create a server and choose the pack under Mods/],
    ['cat.jpg', Buffer.alloc(2_000, 'x'), /zip/],
    ['', Buffer.alloc(0), /Choose an archive first/],
  ] as const) {
    const answer = await send(it, name, content);
    t.is(answer.status, 400);
    t.regex(await answer.text(), words);
  }
});

test('a world alone can become a server, and its page names the other way; unknown software must be chosen', async (t) => {
  const it = await openPanel(t);
  const world = await it.get(await uploaded(t, it, { 'level.dat': 'level' }, 'island.tar'));
  t.regex(world.text, /world without a server/);
  const page = await uploaded(t, it, { 'plugins/Vault-1.7.jar': 'jar' }, 'plugins.tar');
  t.regex((await it.get(page)).text, /Its software is unknown/);
});

test('a name from an archive cannot add markup to the page', async (t) => {
  const it = await openPanel(t);
  const page = await uploaded(t, it, { ...SERVER_FILES, '<img src=x>/level.dat': 'level' });
  const { text } = await it.get(page);
  t.notRegex(text, /<img src=x>/);
  t.regex(text, /&lt;img src=x&gt;/);
});

test.runIf(isHere('chromium'))(
  'choosing an archive uploads it and opens its findings, at both widths, in light and dark',
  async (t) => {
    const it = await openPanel(t);
    for (const options of [{ viewport: { width: 1280, height: 900 } }, PHONE]) {
      const { page, complaints } = await it.open(AT, options);
      await accessible(t, page);
      const archive = { name: 'castle.tar', mimeType: 'application/x-tar', buffer: tarOf(SERVER_FILES) };
      await page.locator('[data-files]').setInputFiles([archive]);
      await page.getByRole('heading', { name: 'Found in the archive' }).waitFor();
      for (const summary of await page.locator('main details > summary').all()) await summary.click();
      await accessible(t, page);
      await page.emulateMedia({ colorScheme: 'dark' });
      await legibleInTheDark(t, page);
      await page.goto(it.origin + AT);
      await page.getByRole('link', { name: 'castle' }).first().waitFor();
      await accessible(t, page);
      await legibleInTheDark(t, page);
      t.deepEqual(complaints, []);
    }
  },
);

test.runIf(isHere('chromium'))(
  'a refused upload says why, and a second archive is not sent beside the first',
  async (t) => {
    const it = await openPanel(t);
    const { page } = await it.open(AT);
    const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/x-tar', buffer });
    await page.locator('[data-files]').setInputFiles([file('cat.tar', tarOf({ 'cat.jpg': 'cat' }))]);
    await page.getByText('cat.tar: The archive has no server in it').waitFor();
    await page.evaluate(`{
    const dataTransfer = new DataTransfer();
    for (const name of ['a.zip', 'b.zip']) dataTransfer.items.add(new File(['x'], name));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }`);
    await page.getByText('Upload one archive.').waitFor();
    await page.locator('[data-choose=files]').focus();
    t.is(await page.evaluate(`document.activeElement.textContent`), 'Choose an archive');
  },
);
