import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { plant, treeOf } from '../support/tree.ts';
import { commandsAt } from './in-process.ts';
import { newProgram, startStandIn } from './program.ts';

test('the files commands upload, list, print, move, pack, unpack, download and delete files', async (t) => {
  const { says, refuses, run, create, dataDir, home } = await commandsAt(t);
  await create('castle');
  const root = join(dataDir, 'servers/castle');
  const at = (path: string) => join(home, path);
  await plant(home, { 'icon.png': 'PNG', 'kit/a.yml': 'a: 1\n', 'kit/deep/b.txt': 'b' });
  await symlink('/etc/passwd', at('kit/link'));

  await says(['files', 'ls', 'castle'], /./);
  await says(['files', 'put', 'castle', at('icon.png')], /^Uploaded icon\.png: 3 bytes\.\n$/);
  await refuses(['files', 'put', 'castle', at('icon.png')], /icon\.png already exists on the server\. .*--force/);
  await writeFile(at('icon.png'), 'PNG2');
  await says(['files', 'put', 'castle', at('icon.png'), '-f'], /4 bytes/);
  await says(
    ['files', 'put', 'castle', at('kit'), at('icon.png'), '--to', 'plugins'],
    /^Uploaded 3 files: 10 bytes\.\n$/,
  );
  t.is(await readFile(join(root, 'plugins/kit/deep/b.txt'), 'utf8'), 'b');
  t.false(existsSync(join(root, 'plugins/kit/link')), 'links are not uploaded');
  // A missing local file is refused before any call to the service.
  await refuses(['files', 'put', 'castle', at('nothing')], /Cannot read or write .*nothing \(ENOENT\)\.\n$/);

  await says(['files', 'castle', 'plugins'], /^NAME +SIZE +CHANGED\nkit\/ .*\nicon\.png +4 bytes +/);
  await says(
    ['files', 'ls', 'castle', '--search', 'A.', '--recursive'],
    /^NAME +SIZE +CHANGED\nplugins\/kit\/a\.yml +5 bytes +[^\n]*\n$/,
  );
  await says(['files', 'ls', 'castle', '--search', 'zzz', '--recursive'], /^No matches\.\n$/);
  await says(['files', 'ls', 'castle', 'plugins', '--sizes'], /^NAME +SIZE +CHANGED\nkit\/ +6 bytes +/);
  await says(['files', 'cat', 'castle', 'plugins/kit/a.yml'], /^a: 1\n$/);
  await refuses(['files', 'cat', 'castle', 'plugins/none'], /./);
  await says(['files', 'mkdir', 'castle', 'old/er'], /Created old\/er/);
  await says(
    ['files', 'mv', 'castle', 'plugins/icon.png', 'old/icon.png'],
    /^Moved plugins\/icon\.png to old\/icon\.png/,
  );
  await says(['files', 'cp', 'castle', 'plugins/kit', 'old/kit'], /Copied/);
  await says(['files', 'archive', 'castle', 'pack.zip', 'old', 'plugins'], /^Created pack\.zip: [\d.]+ KB\.\n$/);
  await says(['files', 'rm', 'castle', 'old'], /^Deleted old\./, 'y\n');
  await refuses(['files', 'rm', 'castle', 'plugins'], /permanently[^]*Cancelled/);
  await says(['files', 'extract', 'castle', 'pack.zip', 'new'], /^Extracted pack\.zip to new: /);

  await says(['files', 'get', 'castle', 'new/old/icon.png', at('got.png')], /^Saved .*got\.png: 4 bytes\.\n$/);
  t.is(await readFile(at('got.png'), 'utf8'), 'PNG2');
  await refuses(['files', 'get', 'castle', 'new/old/icon.png', at('got.png')], /already exists.*--force/);
  await refuses(['files', 'get', 'castle', 'new/none', at('none')], /castle has no file new\/none/);
  await says(['files', 'get', 'castle', 'new/plugins', at('got')], /^Saved 2 files, 6 bytes, in .*got\.\n$/);
  t.deepEqual(Object.keys(await treeOf(at('got'))).toSorted(), ['kit', 'kit/a.yml', 'kit/deep', 'kit/deep/b.txt']);
  t.is(await readFile(at('got/kit/a.yml'), 'utf8'), 'a: 1\n');
  await says(['files', 'get', 'castle', 'new', at('all.zip'), '--zip'], /^Saved .*all\.zip/);
  t.is((await readFile(at('all.zip'))).subarray(0, 2).toString(), 'PK');
  await symlink('/etc/passwd', join(root, 'new/link'));
  const { code, err } = await run(['files', 'get', 'castle', 'new', at('more')]);
  t.is(code, 1);
  t.regex(err, /Not saved .*: new\/link/);
  t.false(existsSync(at('more/link')));
});

test('the logs command lists earlier runs and prints the log of one, compressed or not', async (t) => {
  const { says, refuses, create, dataDir } = await commandsAt(t);
  await create('castle');
  await says(['logs', 'castle', '--runs'], /^castle has no logs of earlier runs\.\n$/);
  const root = join(dataDir, 'servers/castle');
  await plant(root, { 'logs/latest.log': '[12:00:00] now\n', 'logs/debug/x': '' });
  await writeFile(join(root, 'logs/2026-11-22-1.log.gz'), gzipSync('[09:00:00] one\r\n[09:00:01] \u001b[31mtwo\n'));
  await utimes(join(root, 'logs/2026-11-22-1.log.gz'), 1_000, 1_000);
  await says(['logs', 'castle', '--runs'], /^RUN +SIZE +LAST LINE\nlatest .*\n2026-11-22-1 .*\n$/);
  await says(['logs', 'castle', '--run', '2026-11-22-1'], /^\[09:00:00\] one\n\[09:00:01\] two\n$/);
  await says(['logs', 'castle', '--run', 'latest', '--json'], /^\{"line":"\[12:00:00\] now"\}\n$/);
  await refuses(
    ['logs', 'castle', '--run', '2026-11-22-2'],
    /no log of the run 2026-11-22-2\. Did you mean 2026-11-22-1\? See: .*--runs/,
  );
  await refuses(['logs', 'castle', '--run', 'yesterday'], /no log of the run yesterday\. See: /);
  await writeFile(join(root, 'logs/broken.log.gz'), 'no gzip');
  await refuses(['logs', 'castle', '--run', 'broken'], /broken\.log\.gz/);
});

test('a download resumes after a lost connection, and a wrong checksum saves nothing', async (t) => {
  // The content is larger than all buffers, so part of it has been read when the connection ends.
  const content = Buffer.alloc(24 * 1024 * 1024, 'castle ');
  const ranges: (string | undefined)[] = [];
  const service = await startStandIn(t, ({ path }, response) => {
    if (path.endsWith('/backups')) return [200, { backups: [{ id: 'b1', state: 'ready' }] }];
    const { range } = response.req.headers;
    ranges.push(range);
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    const headers = {
      'content-type': 'application/octet-stream',
      etag: '"v1"',
      'content-length': content.length - from,
    };
    const part = { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` };
    const wrong = { 'repr-digest': `sha-256=:${Buffer.from('no sum').toString('base64')}:` };
    response.writeHead(range === undefined ? 200 : 206, {
      ...headers,
      ...(range !== undefined && part),
      ...(ranges.length > 2 && wrong),
    });
    if (ranges.length > 1) response.end(content.subarray(from));
    else response.write(content.subarray(0, content.length / 2), () => response.destroy());
    return undefined;
  });
  const program = await newProgram(t, service.url);
  const file = join(program.home, 'castle.tar.zst');
  const words = ['backups', 'download', 'castle', 'latest', file];
  const env = { DORMOUSE_KEY: 'dmk_x' };
  const { code, err, out } = await program.run(words, { env });
  t.is(code, 0, err);
  t.is(out, `Saved ${file}: 24 MB.\n`);
  t.true(content.equals(await readFile(file)));
  t.deepEqual([ranges.length, ranges[0]], [2, undefined]);
  t.regex(ranges[1] ?? '', /^bytes=[1-9]\d*-$/);
  const wrong = await program.run([...words, '--force'], { env });
  t.is(wrong.code, 1);
  t.regex(wrong.err, /checksum does not match.*file was not saved/);
  t.true(content.equals(await readFile(file)), 'the earlier file is unchanged');
});

test('a folder download refuses a file name that escapes the target folder', async (t) => {
  const service = await startStandIn(t, ({ path }) =>
    path.includes('/file:download')
      ? [200, 'x', { 'content-type': 'application/octet-stream' }]
      : [
          200,
          {
            entries: path.includes('path=world') ? [{ name: '../evil', size: '1' }] : [{ name: 'world', isDir: true }],
          },
        ],
  );
  const program = await newProgram(t, service.url);
  const folder = join(program.home, 'folder');
  await mkdir(folder);
  const words = ['files', 'get', 'castle', 'world', join(folder, 'world')];
  const { code, err } = await program.run(words, { env: { DORMOUSE_KEY: 'dmk_x' } });
  t.is(code, 1);
  t.regex(err, /cannot be saved here/);
  t.deepEqual(await readdir(folder), ['world']);
});
