import { randomBytes } from 'node:crypto';
import { readFileSync, symlinkSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { StatusError } from '../../src/kernel/status.ts';
import { filesApi, base64 } from './files-api.ts';

test('a file path with invalid UTF-8 bytes is refused rather than misread as another path', async (t) => {
  const it = await filesApi(t);
  it.put('\u{FFFD}', 'another file');
  it.put('Größe', 'it');
  for (const path of ['%ff', 'a%C3', '%F0%9F%98', '%ed%a0%80']) {
    const { status, reason, text } = await it.call('GET', `/v1/servers/abc/file?path=${path}`);
    t.deepEqual([status, reason], [400, 'INVALID_FIELD'], path);
    t.regex(text, /"field":"path","description":"must be UTF-8"/);
  }
  t.is((await it.call('GET', '/v1/servers/abc/file?path=Gr%c3%B6%C3%9fe')).status, 200);
  t.is((await it.call('GET', '/v1/servers/abc/file?path=100%')).reason, 'PATH_NOT_FOUND');
});

test('files of a sleeping server can be listed, read, written, copied, renamed and deleted', async (t) => {
  const { ok, post, see, disk, put, root } = await filesApi(t);
  t.deepEqual(await ok('GET', '/v1/servers/abc/files'), { entries: [], total: 0, truncated: false });
  t.deepEqual(
    await ok('POST', '/v1/servers/abc/file', { path: 'plugins/Maps/config.yml', content: base64('a: 1\n') }),
    {},
  );
  t.is(see('plugins/Maps/config.yml'), 'a: 1\n');
  put('B.txt', 'bee');
  symlinkSync('/etc', join(root, 'link'));
  utimesSync(join(root, 'B.txt'), 0, 1_700_000_000);
  const { entries: listed, total } = await ok('GET', '/v1/servers/abc/files?path=/');
  t.is(total, 3);
  t.deepEqual(
    (listed as { name: string; isDir: boolean; size: string }[]).map(({ name, isDir, size }) => [name, isDir, size]),
    [
      ['B.txt', false, '3'],
      ['link', false, '0'],
      ['plugins', true, '0'],
    ],
  );
  t.is((listed as { modifiedAt: string }[])[0]?.modifiedAt, '2023-11-14T22:13:20.000Z');
  const { version, ...read } = await ok('GET', '/v1/servers/abc/file?path=plugins/Maps/config.yml');
  t.regex(version as string, /^[\w.-]+$/);
  t.deepEqual(read, { content: base64('a: 1\n'), truncated: false });
  t.deepEqual((await post(':copy', { from: 'plugins', to: 'copied' })).json, { copied: '5' });
  t.is(see('copied/Maps/config.yml'), 'a: 1\n');
  t.deepEqual((await post(':rename', { from: 'copied', to: 'plugins/moved' })).json, {});
  t.is(see('plugins/moved/Maps/config.yml'), 'a: 1\n');
  t.deepEqual((await post(':mkdir', { path: 'x/y' })).json, {});
  t.is((await post(':mkdir', { path: 'x/y' })).status, 409);
  // A block for each created file and folder.
  t.deepEqual([disk.usedBytes, disk.openBytes], [8 * 4_096, 0]);
  t.deepEqual((await post(':delete', { path: 'plugins' })).json, {});
  t.is(disk.freedTimes, 1);
  const entries = (await ok('GET', '/v1/servers/abc/audit'))['entries'] as { action: string; detail: string }[];
  t.deepEqual(
    entries.filter(({ action }) => action.startsWith('file.')).map(({ action, detail }) => [action, detail]),
    [
      ['file.delete', 'plugins'],
      ['file.mkdir', 'x/y'],
      ['file.rename', 'copied to plugins/moved'],
      ['file.copy', 'plugins to copied'],
      ['file.write', 'plugins/Maps/config.yml'],
    ],
  );
});

test('a write with ifVersion returns 409 if the file has changed since it was read', async (t) => {
  const { ok, post, put, see } = await filesApi(t);
  const write = (text: string, ifVersion: unknown) => post('', { path: 'a.yml', content: base64(text), ifVersion });
  const versionNow = async () => (await ok('GET', '/v1/servers/abc/file?path=a.yml'))['version'];
  t.is((await write('first', 'none')).status, 200);
  t.like(await write('again', 'none'), { status: 409, reason: 'PATH_EXISTS' });
  const mine = await versionNow();
  t.is((await write('second', mine)).status, 200);
  t.not(await versionNow(), mine);
  t.like(await write('late', mine), { status: 409, reason: 'FILE_CHANGED' });
  t.is(see('a.yml'), 'second');
  const last = await versionNow();
  put('a.yml', 'the game wrote');
  t.like(await write('late', last), { status: 409, reason: 'FILE_CHANGED' });
  await post(':delete', { path: 'a.yml' });
  t.like(await write('late', last), { status: 409, reason: 'FILE_CHANGED' });
  t.is((await write('whatever is there', '')).status, 200);
});

test('every file operation refuses bad paths with INVALID_FIELD', async (t) => {
  const { call, post, upload, tree, put } = await filesApi(t);
  put('there');
  const bad = [
    '../../etc/passwd',
    '..',
    'a/../..',
    '../abc2/x',
    'a\0.txt',
    'n'.repeat(256),
    'ab/'.repeat(1_667),
    '\ud800',
  ];
  for (const path of bad) {
    const query = `path=${path.isWellFormed() ? encodeURIComponent(path) : '..'}`;
    const answers = await Promise.all([
      call('GET', `/v1/servers/abc/files?${query}`),
      call('GET', `/v1/servers/abc/file?${query}`),
      call('GET', `/v1/servers/abc/file:download?${query}`),
      call('POST', `/v1/servers/abc/file:upload?${query}`, { raw: 'x' }),
      post('', { path, content: '' }),
      post(':copy', { from: path, to: 'x' }),
      post(':copy', { from: 'there', to: path }),
      post(':rename', { from: path, to: 'x' }),
      post(':rename', { from: 'there', to: path }),
      post(':delete', { path }),
      post(':mkdir', { path }),
      post(':archive', { paths: [path], to: 'x.zip' }),
      post(':archive', { paths: ['there'], to: `${path}/x.zip` }),
      post(':extract', { path, to: 'x' }),
      post(':extract', { path: 'there', to: path }),
    ]);
    for (const { status, reason, text } of answers) t.deepEqual([status, reason], [400, 'INVALID_FIELD'], text);
  }
  for (const path of ['', '.', '/']) {
    for (const answer of [
      await post(':delete', { path }),
      await post(':rename', { from: path, to: 'x' }),
      await post(':mkdir', { path }),
      await post('', { path, content: '' }),
      await upload(path, 'x'),
    ])
      t.deepEqual([answer.status, answer.reason], [400, 'INVALID_FIELD'], answer.text);
  }
  put('there', 'no archive');
  for (const [answer, field] of [
    [await post(':archive', { paths: ['there'], to: 'there.rar' }), 'to'],
    [await post(':extract', { path: 'there' }), 'path'],
  ] as const) {
    t.is(answer.reason, 'UNKNOWN_ARCHIVE', answer.text);
    t.regex(answer.text, new RegExp(`BadRequest","fieldViolations":\\[{"field":"${field}"`));
  }
  const odd = [
    '%2e%2e%2fx',
    String.raw`..\..\x`,
    'CON',
    'trailing. ',
    'é'.normalize('NFC'),
    'é'.normalize('NFD'),
    'n'.repeat(255),
  ];
  for (const path of odd) t.is((await post('', { path, content: base64(path) })).status, 200, path);
  t.deepEqual(tree(), [...odd, 'there'].sort());
  t.is((await post(':copy', { from: 'there', to: 'there/x' })).json['code'], 9);
  t.is((await post('', { path: 'a', content: '***' })).reason, 'INVALID_FIELD');
  t.is((await post('', { path: 'url-safe', content: '_-8' })).status, 200, 'base64url without padding is accepted');
});

test('malformed base64 content is refused and leaves the file unchanged', async (t) => {
  const { post, put, see } = await filesApi(t);
  put('keep.txt', 'before');
  const refused = [
    'YWJjZ',
    'a',
    'YWJ',
    'YR==',
    'YWJjZA=',
    'YWI==',
    'YWJj=',
    '=',
    '==',
    'ab+-',
    '-/-/',
    'YW Jj',
    'YWJjZ===',
  ];
  for (const content of refused) {
    const { status, reason } = await post('', { path: 'keep.txt', content });
    t.deepEqual([status, reason], [400, 'INVALID_FIELD'], content);
  }
  t.is(see('keep.txt'), 'before');
  for (const content of ['YWJj', 'YWJjZA', 'YWJjZA==', 'YWI', 'YWI=', '_-8', '_-8=', '+/8=']) {
    t.is((await post('', { path: 'keep.txt', content })).status, 200, content);
    t.is(see('keep.txt'), Buffer.from(content, 'base64').toString(), content);
  }
});

test('a 2 GB log is returned truncated, and binary content survives a write and a read', async (t) => {
  const { ok, put, root, post } = await filesApi(t);
  put('latest.log', 'first line\n');
  truncateSync(join(root, 'latest.log'), 2 * 1024 ** 3);
  const { content, truncated } = (await ok('GET', '/v1/servers/abc/file?path=latest.log')) as {
    content: string;
    truncated: boolean;
  };
  t.true(truncated);
  t.is(Buffer.from(content, 'base64').length, 4 * 1024 * 1024);
  const binary = randomBytes(4 * 1024 * 1024);
  t.is((await post('', { path: 'binary', content: binary.toString('base64') })).status, 200);
  t.true(readFileSync(join(root, 'binary')).equals(binary));
  t.is((await ok('GET', '/v1/servers/abc/file?path=binary'))['content'], binary.toString('base64'));
  t.is((await post('', { path: 'more', content: randomBytes(4 * 1024 * 1024 + 1).toString('base64') })).status, 400);
});

test('copies and downloads are refused while all transfer slots of the account are in use', async (t) => {
  const { services, put, post, fetch, until } = await filesApi(t);
  put('a');
  const take = (keyId: string) =>
    services.transferSlots.take({ kind: 'key', keyId, accountId: 'acc_test' } as never, 'transfer');
  const taken = Array.from({ length: 8 }, () => take('x'));
  t.throws(() => take('x'), { message: /^At most 8 / });
  const more = Array.from({ length: 8 }, () => take('y'));
  t.is((await post(':copy', { from: 'a', to: 'b' })).reason, 'TOO_MANY_STREAMS');
  t.is((await fetch('a')).answer.status, 429);
  for (const release of [...taken, ...more]) release();
  t.is((await fetch('a')).answer.status, 200);
  t.is((await fetch('none')).answer.status, 404);
  await until(() => services.transferSlots.taken() === 0);
});

test('a change that could not be recorded returns 500 CHANGE_NOT_RECORDED without Retry-After', async (t) => {
  const { put, post, see, tree, store, ok } = await filesApi(t);
  put('here', 'x');
  const write = store.write.bind(store);
  store.write = async () => {
    throw new StatusError('UNAVAILABLE', 'STORE_UNAVAILABLE', 'The database is unavailable. Try again.');
  };
  for (const [verb, body] of [
    ['', { path: 'new', content: base64('y') }],
    [':rename', { from: 'here', to: 'there' }],
  ] as const) {
    const { status, reason, json, headers } = await post(verb, body);
    t.is(status, 500);
    t.is(reason, 'CHANGE_NOT_RECORDED');
    t.is(headers.get('retry-after'), null);
    t.regex(String(json['message']), /were changed/);
  }
  store.write = write;
  t.deepEqual([see('new'), tree()], ['y', ['new', 'there']]);
  t.like(await ok('GET', '/v1/servers/abc/files'), { entries: [{ name: 'new' }, { name: 'there' }] });
});

test('a file operation whose caller disconnects is not logged as a failed request', async (t) => {
  const { services, post, logged, put } = await filesApi(t);
  put('here', 'x');
  services.files.copy = async () => {
    const signal = AbortSignal.abort();
    signal.throwIfAborted();
    return 0;
  };
  t.like(await post(':copy', { from: 'here', to: 'there' }), { status: 499, reason: 'CALL_ENDED' });
  t.false(logged.some((line) => line.includes('request failed')));
});
