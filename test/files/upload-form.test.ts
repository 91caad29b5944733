import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const AT = '/servers/castle/files';
const MOST_FILES = 400;

interface Uploads extends PanelUnderTest {
  root: string;
  /** Lists the uploaded files, without the service's hidden ones. */
  names: () => string[];
  send: (form: FormData, path?: string) => Promise<Response>;
  form: (files: Record<string, string | Buffer>, fields?: Record<string, string>) => FormData;
}

async function castle(t: ExecutionContext): Promise<Uploads> {
  const it = await openPanel(t);
  await it.create('castle');
  const root = join(it.dataDir, 'servers/castle');
  mkdirSync(join(root, 'plugins'), { recursive: true });
  return {
    ...it,
    root,
    names: () => readdirSync(join(root, 'plugins')).filter((name) => !name.startsWith('.')),
    send: (body, path = 'plugins') =>
      fetch(`${it.origin}${AT}/upload?path=${path}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: it.owner.cookie, origin: it.origin, accept: 'text/html' },
        body,
      }),
    form(files, fields = {}) {
      const form = new FormData();
      for (const [name, value] of Object.entries({ csrf: it.owner.csrf, ...fields })) form.append(name, value);
      for (const [name, content] of Object.entries(files)) form.append('file', new Blob([content]), name);
      return form;
    },
  };
}

test('the upload form without JavaScript keeps large, empty and oddly named files unchanged', async (t) => {
  const it = await castle(t);
  const large = Buffer.alloc(3 * 1_048_576, '\r\n--x');
  const answer = await it.send(it.form({ 'map.zip': large, 'a & ü.txt': 'text', 'empty.txt': '' }));
  t.is(answer.headers.get('location'), `${AT}?path=plugins&done=uploaded`);
  t.deepEqual(it.names(), ['a & ü.txt', 'empty.txt', 'map.zip']);
  t.true(readFileSync(join(it.root, 'plugins/map.zip')).equals(large));
  t.is(readFileSync(join(it.root, 'plugins/a & ü.txt'), 'utf8'), 'text');
  t.regex((await it.get('/servers/castle/audit')).text, /plugins\/map\.zip/);
});

test('the upload form keeps an existing file unless overwrite is set, and still uploads the others', async (t) => {
  const it = await castle(t);
  writeFileSync(join(it.root, 'plugins/old.txt'), 'old');
  const refused = await it.send(it.form({ 'old.txt': 'new'.repeat(100_000), 'other.txt': 'other' }));
  t.is(refused.status, 400);
  t.regex(await refused.text(), /The other files were uploaded\. Not uploaded: old\.txt: /);
  t.is(readFileSync(join(it.root, 'plugins/old.txt'), 'utf8'), 'old');
  t.is(readFileSync(join(it.root, 'plugins/other.txt'), 'utf8'), 'other');
  await it.send(it.form({ 'old.txt': 'new' }, { overwrite: 'true' }));
  t.is(readFileSync(join(it.root, 'plugins/old.txt'), 'utf8'), 'new');
  t.regex(await (await it.send(it.form({}))).text(), /Choose a file first/);
  // Browsers send an empty name for a field without a file.
  t.regex(await (await it.send(it.form({ '': '' }))).text(), /Choose a file first/);
});

test('the upload form refuses forged tokens, missing rights, escaping paths and too many files', async (t) => {
  const it = await castle(t);
  t.is((await it.send(it.form({ 'a.txt': 'a' }, { csrf: 'x' }))).status, 403);
  const late = new FormData();
  late.append('file', new Blob(['a']), 'a.txt');
  late.append('csrf', it.owner.csrf);
  t.is((await it.send(late)).status, 403, 'the token must precede the files');
  t.is((await it.send(it.form({ 'a.txt': 'a' }), '../../etc')).status, 400);
  await it.send(it.form({ '../../up.txt': 'up' }));
  t.deepEqual(it.names(), ['up.txt']);
  t.is((await it.send(it.form({ 'a.txt': 'a' }, { long: 'x'.repeat(5_000) }))).status, 413);
  const most = Object.fromEntries(Array.from({ length: MOST_FILES }, (_, nth) => [`${nth}.txt`, `${nth}`]));
  t.is((await it.send(it.form(most, {}), 'most')).status, 303);
  t.is(readdirSync(join(it.root, 'most')).length, MOST_FILES);
  const many = Object.fromEntries(Array.from({ length: MOST_FILES + 1 }, (_, nth) => [`${nth}.txt`, '']));
  t.is((await it.send(it.form(many))).status, 413);
  await it.stranger();
  await it.share('castle', 'limited');
  const limited = await it.browser('usr_other');
  const body = it.form({ 'b.txt': 'b' }, { csrf: limited.csrf });
  const headers = { cookie: limited.cookie, origin: it.origin, accept: 'text/html' };
  t.is((await fetch(`${it.origin}${AT}/upload`, { method: 'POST', headers, body })).status, 403);
  t.false(it.names().includes('b.txt'));
});

test('an aborted form upload changes nothing, and a truncated form gets 400', async (t) => {
  const it = await castle(t);
  const body = [
    '--b',
    'Content-Disposition: form-data; name="csrf"',
    '',
    it.owner.csrf,
    '--b',
    'Content-Disposition: form-data; name="file"; filename="half.zip"',
    'Content-Type: application/zip',
    '',
    'half of it',
  ].join('\r\n');
  const request = (length: number) =>
    [
      `POST ${AT}/upload?path=plugins HTTP/1.1`,
      `Host: ${new URL(it.origin).host}`,
      `Origin: ${it.origin}`,
      `Cookie: ${it.owner.cookie}`,
      'Accept: text/html',
      'Content-Type: multipart/form-data; boundary=b',
      `Content-Length: ${length}`,
      '',
      body,
    ].join('\r\n');
  const { port } = new URL(it.origin);

  const gone = connect(Number(port), '127.0.0.1');
  gone.write(request(1_000_000));
  await once(gone, 'connect');
  gone.end();
  await once(gone.resume(), 'close');

  const short = connect(Number(port), '127.0.0.1');
  short.write(request(body.length));
  const [answer] = (await once(short, 'data')) as [Buffer];
  short.destroy();
  t.regex(answer.toString(), /^HTTP\/1\.1 400 /);
  t.deepEqual(it.names(), []);
});

test.runIf(isHere('chromium'))('files can be uploaded and replaced on a phone without JavaScript', async (t) => {
  const it = await castle(t);
  const { page } = await it.open(`${AT}?path=plugins`, { ...PHONE, javaScriptEnabled: false });
  await page.getByLabel('Files', { exact: true }).setInputFiles([
    { name: 'one.yml', mimeType: 'text/yaml', buffer: Buffer.from('one: 1') },
    { name: 'two.jar', mimeType: 'application/java-archive', buffer: Buffer.alloc(200_000, 7) },
  ]);
  await page.getByRole('button', { name: 'Upload' }).tap();
  await page.getByText('Uploaded.').waitFor();
  await page.getByRole('link', { name: 'one.yml' }).first().waitFor();
  t.deepEqual(it.names(), ['one.yml', 'two.jar']);
  await page
    .getByLabel('Files', { exact: true })
    .setInputFiles([{ name: 'one.yml', mimeType: 'text/yaml', buffer: Buffer.from('one: 2') }]);
  await page.getByLabel('Replace existing files').check();
  await page.getByRole('button', { name: 'Upload' }).tap();
  await page.getByText('Uploaded.').waitFor();
  t.is(readFileSync(join(it.root, 'plugins/one.yml'), 'utf8'), 'one: 2');
});

test.runIf(isHere('chromium'))('the plain upload form is accessible', async (t) => {
  const it = await castle(t);
  const { page } = await it.open(AT, PHONE);
  await page.evaluate("document.querySelectorAll('[data-plain]').forEach((each) => { each.hidden = false; })");
  await accessible(t, page);
});
