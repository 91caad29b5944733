import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type PanelUnderTest, openPanel } from '../support/panel.ts';

const AT = '/servers/castle/files';

interface FilePages extends PanelUnderTest {
  put: (path: string, content?: string | Buffer) => void;
  see: (path: string) => string;
  bytes: (path: string) => Buffer;
  names: (path?: string) => string[];
  send: (form: string, fields?: Record<string, string> | [string, string][], path?: string) => Promise<Response>;
}

async function castle(t: ExecutionContext): Promise<FilePages> {
  const it = await openPanel(t);
  await it.create('castle');
  const root = join(it.dataDir, 'servers/castle');
  mkdirSync(root, { recursive: true });
  return {
    ...it,
    put(path, content = 'x') {
      mkdirSync(join(root, posix.dirname(path)), { recursive: true });
      writeFileSync(join(root, path), content);
    },
    see: (path) => readFileSync(join(root, path), 'utf8'),
    bytes: (path) => readFileSync(join(root, path)),
    names: (path = '') => readdirSync(join(root, path)).filter((name) => !name.startsWith('.')),
    send: (form, fields = {}, path = '') =>
      fetch(`${it.origin}${AT}/${form}${path === '' ? '' : `?path=${encodeURIComponent(path)}`}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: it.owner.cookie, origin: it.origin, accept: 'text/html' },
        body: new URLSearchParams([
          ['csrf', it.owner.csrf],
          ...(Array.isArray(fields) ? fields : Object.entries(fields)),
        ]),
      }),
  };
}

/** Returns the entries that a page shows, in order. */
function shown(text: string): string[] {
  return [...text.matchAll(/name="name"\s+value="([^"]*)"/g)].map(([, name = '']) => name);
}

test('the file page lists folders first, links each entry and escapes names', async (t) => {
  const it = await castle(t);
  t.regex((await it.get(AT)).text, /Empty\. Files are created at the first start\./);
  for (const path of ['b.yml', 'a & "b" <i>.txt', 'maps.jar', 'zoo/x', 'world/level.dat']) it.put(path, 'x');
  const { text } = await it.get(AT);
  t.deepEqual(shown(text), ['world', 'zoo', 'a &amp; &quot;b&quot; &lt;i&gt;.txt', 'b.yml', 'maps.jar']);
  t.regex(text, /href="\/servers\/castle\/files\?path=zoo"/);
  t.regex(text, /href="\/servers\/castle\/files\/edit\?path=b\.yml"/);
  t.regex(text, /href="\/panel\/v1\/servers\/castle\/file:download\?path=maps\.jar" download/);
  t.regex((await it.get(`${AT}?path=world`)).text, /level\.dat/);
  t.is((await it.get(`${AT}?path=../../etc`)).status, 400);
  t.is((await it.get(`${AT}?path=none`)).status, 404);
  t.deepEqual(shown((await it.get(`${AT}?find=B%22`)).text).length, 1);
  await it.stranger();
  await it.share('castle', 'limited');
  t.is((await it.get(AT, await it.browser('usr_other'))).status, 403);
});

test('the search finds entries in subfolders, links each with its folder, and selections of both move once', async (t) => {
  const it = await castle(t);
  for (const path of ['plugins/maps/config.yml', 'plugins/config/deep/x', 'config.jar', 'other/y']) it.put(path);
  const { text } = await it.get(`${AT}?find=config&below=1`);
  t.deepEqual(shown(text), ['config.jar', 'plugins/config', 'plugins/maps/config.yml']);
  t.regex(text, /href="\/servers\/castle\/files\/edit\?path=plugins%2Fmaps%2Fconfig\.yml"/);
  t.regex(text, /in <a href="\/servers\/castle\/files\?path=plugins%2Fmaps">/);
  t.regex(text, /3 entries/);
  t.deepEqual(shown((await it.get(`${AT}?find=config`)).text), ['config.jar']);
  t.deepEqual(shown((await it.get(`${AT}?path=plugins&find=y&below=1`)).text), ['maps/config.yml']);
  t.regex((await it.get(`${AT}?find=none&below=1`)).text, /No matches\./);
  t.notRegex(text, /class="note warn"/);
  const moved = ['plugins/config', 'plugins/config/deep', 'plugins/maps/config.yml'].map((name) => ['name', name]);
  t.is((await it.send('move', [...(moved as [string, string][]), ['to', 'other']])).status, 303);
  t.deepEqual(it.names('other').sort(), ['config', 'config.yml', 'y']);
  t.deepEqual(it.names('plugins'), ['maps']);
  for (let nth = 0; nth < 1_001; nth++) it.put(`many/part/f${nth}`, '');
  const many = (await it.get(`${AT}?path=many&find=f&below=1&from=30`)).text;
  t.regex(many, /there may be more matches/);
  t.regex(many, /31–60 of 1000/);
});

test('folder sizes are shown on request, and can order the folders', async (t) => {
  const it = await castle(t);
  it.put('small/a', 'x'.repeat(10));
  it.put('large/b/c', 'x'.repeat(2_000));
  const { text } = await it.get(AT);
  t.notRegex(text, /<td>[\d.]+ /);
  const [, query = ''] = /href="\/servers\/castle\/files(\?[^"]*)">Show folder sizes/.exec(text) ?? [];
  const sized = (await it.get(`${AT}${query}&sort=size&down=1`)).text;
  t.deepEqual(shown(sized), ['large', 'small']);
  t.regex(sized, /<td>10 bytes<\/td>/);
  t.notRegex(sized, /Show folder sizes/);
});

test('the heads of the columns sort by name, size and time, folders first, and folders and pages keep the order', async (t) => {
  const it = await castle(t);
  for (const [path, size] of [
    ['world10/x', 1],
    ['world2/x', 1],
    ['a.txt', 10],
    ['b.txt', 30],
    ['c.txt', 20],
  ] as const)
    it.put(path, 'x'.repeat(size));
  const first = (await it.get(AT)).text;
  t.deepEqual(shown(first), ['world2', 'world10', 'a.txt', 'b.txt', 'c.txt']);
  t.regex(
    first,
    /aria-sort="ascending"[^<]*<input[^>]*data-all[^>]*>\s*<a href="\/servers\/castle\/files\?down=1">Name/,
  );
  t.regex(first, /<a href="\/servers\/castle\/files\?sort=size&amp;down=1">Size/);
  const sized = (await it.get(`${AT}?sort=size&down=1`)).text;
  t.deepEqual(shown(sized), ['world2', 'world10', 'b.txt', 'c.txt', 'a.txt']);
  t.regex(sized, /aria-sort="descending"[^<]*<a href="\/servers\/castle\/files\?sort=size">Size/);
  t.regex(sized, /href="\/servers\/castle\/files\?path=world2&amp;sort=size&amp;down=1"/);
  t.regex(sized, /name="sort" value="size"/, 'the search keeps the order');
  t.deepEqual(shown((await it.get(`${AT}?down=1`)).text), ['world10', 'world2', 'c.txt', 'b.txt', 'a.txt']);
  t.deepEqual(shown((await it.get(`${AT}?sort=constructor`)).text), shown(first));
  for (let nth = 0; nth < 70; nth += 1) it.put(`many/f${nth}`, 'x'.repeat(nth));
  const many = (await it.get(`${AT}?path=many&sort=size&down=1&find=f`)).text;
  const next = /href="([^"]*)">Next/.exec(many)?.[1]?.replaceAll('&amp;', '&') ?? '';
  t.deepEqual(
    shown((await it.get(next)).text),
    Array.from({ length: 10 }, (_, nth) => `f${9 - nth}`),
  );
});

test('the file page shows a folder of 10 000 entries in pages of 60', async (t) => {
  const it = await castle(t);
  mkdirSync(join(it.dataDir, 'servers/castle/many'));
  for (let nth = 0; nth < 10_000; nth += 1) writeFileSync(join(it.dataDir, `servers/castle/many/f${10_000 + nth}`), '');
  const first = await it.get(`${AT}?path=many`);
  t.is(shown(first.text).length, 60);
  t.true(first.text.length < 50_000, `${first.text.length}`);
  t.regex(first.text, /1–60\s+of 10000/);
  const last = (await it.get(`${AT}?path=many&from=9960`)).text;
  t.deepEqual([shown(last)[0], shown(last).length], ['f19960', 40]);
  t.deepEqual(shown((await it.get(`${AT}?path=many&find=f1777`)).text).length, 10);
  t.deepEqual(shown((await it.get(`${AT}?path=many&from=-5`)).text)[0], 'f10000');
});

test('the file page creates folders and files, and packs, moves and deletes the selected entries', async (t) => {
  const it = await castle(t);
  t.is((await it.send('folder', { name: 'plugins/Maps' })).headers.get('location'), `${AT}?done=made`);
  const again = await it.send('folder', { name: 'plugins/Maps' });
  t.is(again.status, 409);
  t.regex(await again.text(), /value="plugins\/Maps"/);
  t.is((await it.submit(`${AT}/folder`, { name: 'x', csrf: 'forged' })).status, 403);
  const file = await it.send('file', { name: 'new.yml' }, 'plugins');
  t.is(file.headers.get('location'), `${AT}/edit?path=plugins%2Fnew.yml`);

  for (const name of ['a.txt', 'b.txt', 'c.txt']) it.put(name, name);
  const both: [string, string][] = [
    ['name', 'a.txt'],
    ['name', 'b.txt'],
  ];
  t.is((await it.send('pack', [...both, ['archive', 'both.zip']])).status, 303);
  t.is((await it.send('move', [...both, ['to', 'plugins']])).status, 303);
  t.deepEqual(it.names(), ['both.zip', 'c.txt', 'plugins']);
  t.deepEqual(it.names('plugins'), ['Maps', 'a.txt', 'b.txt']);
  t.is((await it.send('delete', [['name', 'a.txt']], 'plugins')).status, 303);
  t.deepEqual(it.names('plugins'), ['Maps', 'b.txt']);
  const nothing = await it.send('delete');
  t.is(nothing.status, 400);
  t.regex(await nothing.text(), /Select at least one file/);
  const wrong = await (
    await it.send('pack', [
      ['name', 'c.txt'],
      ['archive', 'c.rar'],
    ])
  ).text();
  t.regex(wrong, /role="alert"/);
  t.regex(wrong, /value="c\.rar"/);
  t.regex(wrong, /value="c\.txt"[^>]*\schecked/);
});

test('selected entries are downloaded as one zip, and all can be selected without JavaScript', async (t) => {
  const it = await castle(t);
  for (const path of ['a.txt', 'b.txt', 'world/level.dat']) it.put(path, path);
  const answer = await it.send('download', [
    ['name', 'a.txt'],
    ['name', 'world'],
  ]);
  t.is(answer.status, 200);
  t.regex(answer.headers.get('content-disposition') ?? '', /^attachment; filename="castle\.zip"$/);
  const sent = Buffer.from(await answer.arrayBuffer());
  it.put('sent.zip', sent);
  await it.send('item/extract', { to: 'out' }, 'sent.zip');
  await it.until(() => existsSync(join(it.dataDir, 'servers/castle/out/world/level.dat')));
  t.deepEqual(it.names('out'), ['a.txt', 'world']);
  const gone = await it.send('download', [['name', 'gone.txt']]);
  t.is(gone.status, 404);
  t.regex(await gone.text(), /role="alert"/);
  t.is((await it.send('download')).status, 400);
  t.is([...(await it.get(`${AT}?all=1`)).text.matchAll(/aria-label="Select [^"]*"\s+checked/g)].length, 5);
});

test('the item page renames, copies, extracts and deletes an entry', async (t) => {
  const it = await castle(t);
  it.put('maps/a.txt', 'a');
  await it.send('pack', [
    ['name', 'maps'],
    ['archive', 'maps.zip'],
  ]);
  const page = (await it.get(`${AT}/item?path=maps.zip`)).text;
  t.regex(page, /Extract/);
  // On a busy machine the extraction may outlast the wait of the form. It then leads to the archive's folder.
  const extracted = await it.send('item/extract', { to: 'out' }, 'maps.zip');
  t.regex(extracted.headers.get('location') ?? '', /\/files\?(?:path=out&done=extracted|done=extracting)$/);
  const extractedFile = join(it.dataDir, 'servers/castle/out/maps/a.txt');
  await it.until(() => existsSync(extractedFile) && it.see('out/maps/a.txt') === 'a');
  it.put('out/maps/a.txt', 'played since');
  const inTheWay = await it.send('item/extract', { to: 'out' }, 'maps.zip');
  t.is(inTheWay.status, 409);
  t.regex(await inTheWay.text(), /role="alert">Nothing was extracted: out\/maps\/a\.txt already exists/);
  t.is(it.see('out/maps/a.txt'), 'played since');
  t.is((await it.send('item/extract', { to: 'out', overwrite: 'true' }, 'maps.zip')).status, 303);
  await it.until(() => it.see('out/maps/a.txt') === 'a');
  t.is((await it.send('item/copy', { to: 'out/b.txt' }, 'maps/a.txt')).status, 303);
  const taken = await it.send('item/rename', { to: 'out/b.txt' }, 'maps/a.txt');
  t.is(taken.status, 409);
  t.regex(await taken.text(), /value="out\/b\.txt"/);
  t.is((await it.send('item/rename', { to: 'c.txt' }, 'maps/a.txt')).headers.get('location'), `${AT}?done=renamed`);
  t.is((await it.send('item/delete', {}, 'maps')).headers.get('location'), `${AT}?done=deleted`);
  t.deepEqual(it.names(), ['c.txt', 'maps.zip', 'out']);
  t.regex((await it.get(`${AT}/item?path=maps`)).text, /This no longer exists/);
});

/** Returns the value of a field in the editor's form. */
function field(text: string, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';
}

/** Returns the hidden fields of the editor's form. */
function formOf(text: string): Record<string, string> {
  return Object.fromEntries(['version', 'ends', 'encoding'].map((name) => [name, field(text, name)]));
}

test('the editor keeps line ends, and refuses to open binary and oversized files', async (t) => {
  const it = await castle(t);
  it.put('unix.yml', '\na: <b>\n');
  it.put('windows.txt', 'one\r\ntwo\r\n');
  const unix = (await it.get(`${AT}/edit?path=unix.yml`)).text;
  t.regex(unix, /autocomplete="off">\n\na: &lt;b&gt;\n<\/textarea/);
  const save = (path: string, text: string, content: string) =>
    it.send('edit/save', { ...formOf(text), content }, path);
  t.is(
    (await save('unix.yml', unix, 'b: 1\r\nc: 2\r\n')).headers.get('location'),
    `${AT}/edit?path=unix.yml&done=saved`,
  );
  t.is(it.see('unix.yml'), 'b: 1\nc: 2\n');
  await save('windows.txt', (await it.get(`${AT}/edit?path=windows.txt`)).text, 'three\r\nfour\r\n');
  t.is(it.see('windows.txt'), 'three\r\nfour\r\n');
  const fresh = (await it.get(`${AT}/edit?path=new/one.toml`)).text;
  t.regex(fresh, /doesn’t exist yet/);
  await save('new/one.toml', fresh, 'x = 1');
  t.is(it.see('new/one.toml'), 'x = 1');
  it.put('binary.txt', Buffer.from([1, 0, 2]));
  it.put('long.txt', 'x'.repeat(600_000));
  t.regex((await it.get(`${AT}/edit?path=binary.txt`)).text, /This is not a text file/);
  t.regex((await it.get(`${AT}/edit?path=long.txt`)).text, /too large to edit here/);
  const whole = 'ä'.repeat(250_000);
  t.is((await save('unix.yml', (await it.get(`${AT}/edit?path=unix.yml`)).text, whole)).status, 303);
  t.is(it.see('unix.yml'), whole);
});

test('the editor keeps a file’s encoding: ISO 8859-1, UTF-16, or UTF-8 with a byte order mark', async (t) => {
  const it = await castle(t);
  const files: Record<string, [before: Buffer, shown: string, after: Buffer]> = {
    'latin.txt': [Buffer.from('Caf\u00e9 \u0099', 'latin1'), 'Café \u0099', Buffer.from('é!', 'latin1')],
    'little.txt': [Buffer.from('\ufeffłódź\r\n', 'utf16le'), '\ufeffłódź\n', Buffer.from('é!', 'utf16le')],
    'big.txt': [Buffer.from('\ufeffłódź', 'utf16le').swap16(), '\ufeffłódź', Buffer.from('é!', 'utf16le').swap16()],
    'marked.txt': [Buffer.from('\ufeffłódź'), '\ufeffłódź', Buffer.from('é!')],
  };
  for (const [path, [before, shown, after]] of Object.entries(files)) {
    it.put(path, before);
    const { text } = await it.get(`${AT}/edit?path=${path}`);
    t.true(text.includes(`>\n${shown}</textarea>`), path);
    await it.send('edit/save', { ...formOf(text), content: shown }, path);
    t.deepEqual(it.bytes(path), before, path);
    const { text: again } = await it.get(`${AT}/edit?path=${path}`);
    await it.send('edit/save', { ...formOf(again), content: 'é!' }, path);
    t.deepEqual(it.bytes(path), after, path);
  }
  const { text } = await it.get(`${AT}/edit?path=latin.txt`);
  const refused = await it.send('edit/save', { ...formOf(text), content: 'łódź' }, 'latin.txt');
  t.is(refused.status, 400);
  const page = await refused.text();
  t.regex(page, /role="alert">This file is in ISO 8859-1, which has no “ł”\. Write it as \\u0142,/);
  const emoji = await (await it.send('edit/save', { ...formOf(text), content: '😀' }, 'latin.txt')).text();
  t.regex(emoji, /no “😀”\. Write it as \\ud83d\\ude00,/);
  t.regex(page, /łódź<\/textarea>/);
  it.put('odd.txt', Buffer.from([0xff, 0xfe, 0x00, 0xd8]));
  t.regex((await it.get(`${AT}/edit?path=odd.txt`)).text, /This is not a text file/);
});

test('saving over someone else’s change shows both texts, and a second save overwrites it', async (t) => {
  const it = await castle(t);
  it.put('a.yml', 'first');
  const seen = field((await it.get(`${AT}/edit?path=a.yml`)).text, 'version');
  it.put('a.yml', 'theirs, longer');
  const late = await it.send('edit/save', { content: 'mine', version: seen, ends: 'lf' }, 'a.yml');
  t.is(late.status, 409);
  const text = await late.text();
  t.regex(text, /It has changed since you read it/);
  t.regex(text, /\nmine<\/textarea/);
  t.regex(text, /\ntheirs, longer<\/textarea/);
  t.is(it.see('a.yml'), 'theirs, longer');
  await it.send('edit/save', { content: 'ours', version: field(text, 'version'), ends: 'lf' }, 'a.yml');
  t.is(it.see('a.yml'), 'ours');

  const last = field((await it.get(`${AT}/edit?path=a.yml`)).text, 'version');
  await it.send('item/delete', {}, 'a.yml');
  const gone = await (await it.send('edit/save', { content: 'mine', version: last, ends: 'lf' }, 'a.yml')).text();
  t.regex(gone, /deleted while you were editing/);
  t.regex(gone, /\nmine<\/textarea/);
});

test('the owner turns SFTP on and off and renews its password; a member cannot turn it on', async (t) => {
  const it = await castle(t);
  t.regex((await it.get(AT)).text, /Turn SFTP on/);
  const password = async (form: string) => /class="password">([^<]+)</.exec(await (await it.send(form)).text())?.[1];
  const first = await password('sftp-on');
  t.truthy(first);
  const page = (await it.get(AT)).text;
  t.regex(page, /sftp:\/\/castle\.[\w-]+@play\.example/);
  t.false(page.includes(first ?? ''));
  const second = await password('sftp-password');
  t.truthy(second);
  t.not(second, first);
  t.is((await it.send('sftp-off')).headers.get('location'), `${AT}?done=sftpOff`);
  t.regex((await it.get(AT)).text, /Turn SFTP on/);
  await it.stranger();
  await it.share('castle', 'member');
  const member = await it.browser('usr_other');
  t.regex((await it.get(AT, member)).text, /The server’s owner can turn SFTP on/);
  t.is((await it.submit(`${AT}/sftp-on`, {}, member)).status, 403);
});

test('errors on the file pages explain how to proceed', async (t) => {
  const it = await castle(t);
  await it.submit(`${AT}/folder`, { name: 'docs' });
  const said = async (path: string, fields: Record<string, string>, words: RegExp) => {
    const answer = await it.submit(`${AT}${path}`, fields);
    t.true(answer.status >= 400, path);
    t.regex(await answer.text(), words, path);
  };
  await said('/folder', { name: 'docs' }, /role="alert"[^<]*>docs: This path already exists\. Choose another name/);
  await said('/folder', { name: '.dormouse-x' }, /belongs to the service\. Choose another name/);
  await said('/move', { name: 'docs', to: 'nowhere/at' }, /There is no folder nowhere\/at\. Create it first/);
  await said('/item/rename?path=docs', { to: 'a/b/c' }, /There is no folder a\/b\. Create it first/);
  await said('/item/copy?path=docs', { to: 'a/b/c' }, /There is no folder a\/b\. Create it first/);
  await said('/item/rename?path=none', { to: 'other' }, /none: No such file or directory/);
  for (const path of ['?path=none', '?path=docs/none']) {
    const page = await it.get(AT + path);
    t.is(page.status, 404);
    t.regex(page.text, /This folder doesn’t exist[^]*href="\/servers\/castle\/files">All files/);
  }
  t.regex((await it.get(`${AT}?from=60`)).text, /No more files/);
  t.regex(
    (await it.get(`${AT}/edit?path=docs`)).text,
    /folder with this name already exists[^]*path=docs">Open the folder/,
  );
  const gone = (await it.get(`${AT}/item?path=none`)).text;
  t.regex(gone, /This no longer exists/);
  t.notRegex(gone, /<form[^>]*\/item\//, 'a missing entry has no action forms');
});
