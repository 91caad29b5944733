import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createListing } from '../../src/files/listing.ts';
import { openJail } from '../../src/jail/jail.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { filesApi } from './files-api.ts';
import { isThorough } from '../support/needs.ts';

test('a large directory is listed like a small one, without the service’s own files', async (t) => {
  const { ok, put, root } = await filesApi(t);
  const names = [
    'a',
    'ä',
    'Z',
    '"quoted"',
    'new\nline',
    '\u2028',
    '😀',
    'back\\slash',
    '.dormouse-list',
    '.rcon-cli.env',
  ];
  for (const name of names) put(name, name);
  put('folder/inside');
  symlinkSync('a', join(root, 'link'));
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x62, 0xff])]), 'no text');
  const few = (await ok('GET', '/v1/servers/abc/files'))['entries'] as { name: string }[];
  t.is(few.length, names.length - 2 + 3);
  const more = Array.from({ length: 1_500 }, (_, index) => `many-${index}`);
  for (const name of more) put(name, '');
  const all = (await ok('GET', '/v1/servers/abc/files'))['entries'] as { name: string }[];
  t.deepEqual(
    all.filter(({ name }) => !name.startsWith('many-')),
    few,
  );
  t.is(all.length, few.length + more.length);
  for (const offset of [0, 1_000]) {
    const part = await ok('GET', `/v1/servers/abc/files?limit=1000&offset=${offset}`);
    t.deepEqual(part['entries'], all.slice(offset, offset + 1_000));
    t.is(part['total'], all.length);
  }
  t.deepEqual(
    all.map(({ name }) => name),
    all.map(({ name }) => name).sort(),
  );
});

test('files with extreme sizes or dates are listed with the others, and such dates do not prevent packing', async (t) => {
  const { ok, put, root, post, fetch } = await filesApi(t);
  const years = { '+052005': 1_579_000_000_000, '-001199': -99_999_999_999, '+275760': 8_640_000_000_000 };
  for (const [name, seconds] of Object.entries(years)) {
    put(name);
    // utimesSync treats a negative number as the present time, so pass a Date.
    utimesSync(join(root, name), new Date(0), new Date(seconds * 1_000));
  }
  put('sparse', '');
  // If the file system does not support this size, the file stays empty.
  spawnSync('truncate', ['-s', String(2n ** 62n), join(root, 'sparse')]);
  for (const large of [false, true]) {
    if (large) for (let index = 0; index < 1_100; index++) put(`~${index}`, '');
    const { entries } = await ok('GET', '/v1/servers/abc/files');
    const shown = (entries as { name: string; size: string; modifiedAt: string }[]).slice(0, 4);
    for (const { name, size, modifiedAt } of shown) {
      t.regex(modifiedAt, /^\d{4}-/, name);
      t.true(Number.isSafeInteger(Number(size)) && /^\d+$/.test(size), name);
    }
    t.deepEqual(
      shown.map(({ modifiedAt }) => modifiedAt.slice(0, 4)),
      ['9999', '9999', '0001', new Date().toISOString().slice(0, 4)],
    );
  }
  const names = Object.keys(years);
  t.is((await fetch(`/${names[0]}`)).answer.status, 200);
  for (const to of ['all.zip', 'all.tar.gz']) t.is((await post(':archive', { paths: names, to })).status, 200, to);
});

test('a directory listing of any size can be limited, offset, filtered by name and sorted directories first', async (t) => {
  const { ok, put } = await filesApi(t);
  for (const name of ['b.txt', 'a.TXT', 'c.jar', 'zoo/x', 'maps.txt/x']) put(name);
  const part = async (query: string) => {
    const { entries, total } = await ok('GET', `/v1/servers/abc/files?${query}`);
    return [total, ...(entries as { name: string }[]).map(({ name }) => name)];
  };
  for (const large of [false, true]) {
    if (large) for (let index = 0; index < 1_100; index++) put(`many-${index}`, '');
    const more = large ? 1_100 : 0;
    t.deepEqual(await part('limit=2&directoriesFirst=true'), [5 + more, 'maps.txt', 'zoo']);
    t.deepEqual(await part('limit=2&offset=2&directoriesFirst=true'), [5 + more, 'a.TXT', 'b.txt']);
    t.deepEqual(await part('contains=.Txt'), [3, 'a.TXT', 'b.txt', 'maps.txt']);
    t.deepEqual(await part('contains=txt&directoriesFirst=true&offset=1'), [3, 'a.TXT', 'b.txt']);
    t.deepEqual(await part('offset=9999'), [5 + more]);
  }
});

test('a directory listing of any size is sorted by name, numbers in names, size or time, in either direction', async (t) => {
  const { ok, put, root } = await filesApi(t);
  for (const [name, size, at] of [
    ['world10', 3, 300],
    ['world2', 20, 100],
    ['World1', 100, 200],
    ['twin1', 20, 300],
  ] as const) {
    put(name, 'x'.repeat(size));
    utimesSync(join(root, name), at, at);
  }
  put('zoo/x');
  const sorted = async (query: string) => {
    const { entries } = await ok('GET', `/v1/servers/abc/files?${query}`);
    return (entries as { name: string }[]).map(({ name }) => name).filter((name) => !name.startsWith('zz'));
  };
  for (const count of [0, 1_100, 4_200]) {
    for (let index = 0; index < count; index++) put(`zz${index}`, '');
    const first = ['zoo', 'twin1', 'World1', 'world2', 'world10'];
    t.deepEqual(await sorted('sort=natural&limit=1000&directoriesFirst=true'), first);
    t.deepEqual(await sorted('sort=name'), ['World1', 'twin1', 'world10', 'world2', 'zoo']);
    t.deepEqual(await sorted('sort=name&descending=true'), ['zoo', 'world2', 'world10', 'twin1', 'World1']);
    const bySize = await sorted('sort=size&descending=true&directoriesFirst=true');
    t.deepEqual(bySize, ['zoo', 'World1', 'twin1', 'world2', 'world10'], 'the directory first, equal ones by name');
    t.deepEqual(await sorted('sort=modifiedAt&contains=w'), ['world2', 'World1', 'twin1', 'world10']);
    t.deepEqual(await sorted('sort=natural&descending=true&contains=w'), ['world10', 'world2', 'World1', 'twin1']);
  }
});

test('a download of some entries of a directory names at most 1000 existing paths inside it', async (t) => {
  const { put, origin, key } = await filesApi(t);
  for (const name of ['maps/a', 'maps/b', 'maps/deep/c']) put(name);
  const download = async (...names: string[]) => {
    const query = new URLSearchParams([['path', 'maps'], ...names.map((name): [string, string] => ['names', name])]);
    const answer = await fetch(`${origin}/v1/servers/abc/file:download?${query.toString()}`, {
      headers: { 'x-api-key': key },
    });
    return { status: answer.status, text: Buffer.from(await answer.arrayBuffer()).toString('latin1') };
  };
  for (const names of [['a'], ['a', 'deep']]) {
    const { status, text } = await download(...names);
    t.is(status, 200);
    t.true(text.startsWith('PK'));
    t.is(text.includes('deep/c'), names.includes('deep'));
  }
  t.is((await download('a', 'gone')).status, 404);
  t.is((await download('../other')).status, 400);
  t.is((await download(...Array.from({ length: 1_001 }, () => 'a'))).status, 400);
});

test('large listings of one account wait for each other, and stop waiting when their caller disconnects', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'dormouse-test-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  for (let index = 0; index < 1_200; index++) writeFileSync(join(root, `${index}`), '');
  await using jail = await openJail(root);
  const workers = createWorkerPool();
  t.teardown(() => workers.close());
  const list = createListing(workers);
  const gone = new AbortController();
  const listed = () => list(jail, '', { tenant: 'ann', signal: gone.signal });
  const [one, two] = await Promise.all([listed(), listed()]);
  // Both wait for a slot, in random order.
  const waiting = [listed(), listed()];
  const next = Promise.any(waiting);
  const ended = Promise.allSettled(waiting);
  const other = await list(jail, '', { tenant: 'bob', signal: gone.signal });
  for (const listing of [one, other]) if ('json' in listing) listing.release();
  const after = await next;
  t.true('json' in two && 'json' in after && two.json.equals(after.json));
  gone.abort();
  const errors = (await ended).flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
  t.is(errors.length, 1);
  t.regex(errors[0] ?? '', /The caller disconnected\./);
});

test.runIf(isThorough)('other requests are served while 200 000 entries are listed', async (t) => {
  const { ok, call, root } = await filesApi(t);
  t.timeout(300_000);
  mkdirSync(join(root, 'many'), { recursive: true });
  // Only the names matter, and hard links are faster to create than files.
  for (let file = 0; file < 8; file++) {
    writeFileSync(join(root, `file-${file}`), 'x');
    for (let link = 0; link < 25_000; link++)
      linkSync(join(root, `file-${file}`), join(root, 'many', `${file}-${link}`));
  }
  const listing = call('GET', '/v1/servers/abc/files?path=many');
  const state = { isListed: false };
  void listing.finally(() => (state.isListed = true));
  let served = 0;
  for (; !state.isListed; served++) await ok('GET', '/v1/servers/abc/files');
  const listed = await listing;
  const entries = listed.json['entries'] as { name: string }[];
  t.is(entries?.length, 200_000, listed.text.slice(0, 200));
  t.deepEqual([entries[0]?.name, entries[1]?.name], ['0-0', '0-1']);
  t.true(served > 1, `${served} calls were answered during the listing`);
});
