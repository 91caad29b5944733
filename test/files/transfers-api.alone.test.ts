import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  statfsSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { streamBody } from '../../src/http/body.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { api } from '../support/api-harness.ts';
import { tinyDisk } from '../support/tiny-disk.ts';
import { turns } from '../support/turns.ts';
import { filesApi } from './files-api.ts';

test('an aborted or refused upload keeps the old file, and concurrent uploads leave one whole file', async (t) => {
  const { upload, put, see, root, port, key, disk, until } = await filesApi(t, 1024 * 1024);
  put('world.zip', 'old');
  const temps = () => readdirSync(join(root, '.dormouse-tmp'));
  t.is((await upload('world.zip', 'new')).reason, 'PATH_EXISTS');
  t.is((await upload('world.zip', 'new', { overwrite: true })).json['size'], '3');
  t.is(see('world.zip'), 'new');
  // The caller disconnects at 99 %.
  const headers = { 'x-api-key': key, 'content-length': 500_000 };
  const begun = request({
    port,
    path: '/v1/servers/abc/file:upload?path=world.zip&overwrite=1',
    method: 'POST',
    headers,
  });
  begun.on('error', () => {});
  begun.write(randomBytes(495_000));
  await until(
    () =>
      existsSync(join(root, '.dormouse-tmp')) &&
      temps().some((name) => statSync(join(root, '.dormouse-tmp', name)).size > 400_000),
  );
  begun.destroy();
  await until(() => temps().length === 0 && disk.openBytes === 0);
  t.is(see('world.zip'), 'new');
  // Uploads that exceed the quota, with and without a stated length.
  t.is((await upload('world.zip', randomBytes(1_100_000), { overwrite: true })).reason, 'DISK_QUOTA_EXCEEDED');
  const long = await fetch(`http://127.0.0.1:${port}/v1/servers/abc/file:upload?path=long`, {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: new Blob([randomBytes(1_100_000)]).stream(),
    duplex: 'half',
  });
  t.is(long.status, 429, await long.text());
  const bomb = gzipSync(Buffer.alloc(5_000_000));
  t.is((await upload('bomb', bomb, { headers: { 'content-encoding': 'gzip' } })).reason, 'DISK_QUOTA_EXCEEDED');
  t.deepEqual([see('world.zip'), temps(), disk.openBytes], ['new', [], 0]);
  // Two concurrent uploads of a file store one of them, whole.
  const contents = ['a'.repeat(200_000), 'b'.repeat(200_000)];
  const both = await Promise.all(contents.map((content) => upload('twice', content, { overwrite: true })));
  t.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  );
  t.true(contents.includes(see('twice')));
  t.is((await upload('inflated', gzipSync('plain'), { headers: { 'content-encoding': 'gzip' } })).json['size'], '5');
  t.is((await upload('empty', '')).json['size'], '0');
  t.is((await upload('a/b/c', 'deep')).status, 200);
  t.is((await upload('a', 'x', { overwrite: true })).reason, 'NOT_A_FILE');
  t.is((await upload('x', 'x', { headers: { 'content-encoding': 'br' } })).status, 415);
});

for (const known of [true, false])
  test(`concurrent slow uploads${known ? '' : ' of unknown length'} leave games enough disk space to save`, async (t) => {
    const it = await api(t);
    const servers = join(it.dataDir, 'servers');
    if (!(await tinyDisk(t, servers, 300))) return;
    await it.create('abc');
    const [MIB, each] = [2 ** 20, 16];
    const free = () => statfsSync(servers).bavail * statfsSync(servers).bsize;
    const uploads = Array.from({ length: 5 }, (_, n) => {
      const headers = { 'x-api-key': it.key, ...(known && { 'content-length': each * MIB }) };
      const path = `/v1/servers/abc/file:upload?path=${n}`;
      const upload = request({ port: it.port, method: 'POST', path, headers });
      // A refused upload may be disconnected before it is complete.
      const over = Promise.withResolvers<number | undefined>();
      upload.on('response', (answer) => over.resolve((answer.resume(), answer.statusCode)));
      upload.on('error', () => over.resolve(undefined));
      return { upload, over: over.promise };
    });
    for (let piece = 0; piece < each; piece++) {
      for (const { upload } of uploads) {
        if (!upload.destroyed) upload.write(Buffer.alloc(MIB, piece));
        await it.clock.advance(1_500);
      }
    }
    for (const { upload } of uploads) upload.end();
    const answers = await Promise.all(uploads.map(({ over }) => over));
    t.true(free() >= 256 * MIB, `${free() / MIB} MB are left`);
    t.true(
      answers.every((status) => status === 200 || status === 429 || status === undefined),
      String(answers),
    );
    if (known) t.is(answers.filter((status) => status === 200).length, 2, 'as many uploads as fit succeed');
    else t.true(answers.includes(429), String(answers));
  });

test('a stalled upload fails with BODY_TIMEOUT', async (t) => {
  const given = Promise.withResolvers<unknown>();
  const server = createServer((incoming) => {
    const reading = (async () => {
      for await (const _ of streamBody(incoming, 50));
    })();
    reading.then(given.resolve, given.reject);
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stalled = request({ port, method: 'POST', headers: { 'content-length': 100 } });
  stalled.on('error', () => {});
  stalled.write('a little');
  t.teardown(() => stalled.destroy());
  const error = await t.throwsAsync<StatusError>(given.promise, { instanceOf: StatusError });
  t.deepEqual([error.reason, error.options.httpStatus], ['BODY_TIMEOUT', 408]);
});

const range = test.macro<[range: string, status: number, expected: string]>({
  title: (_, range) => `a download with Range: ${range}`,
  async exec(t, range, status, expected) {
    const { fetch, put } = await filesApi(t);
    put('alphabet', 'abcdefghij');
    const { answer, bytes } = await fetch('alphabet', { range });
    t.is(answer.status, status);
    if (status === 416) {
      t.is(answer.headers.get('content-range'), 'bytes */10');
      t.is((JSON.parse(bytes.toString()) as { code: number }).code, 11);
      return;
    }
    t.is(bytes.toString(), expected);
    t.is(answer.headers.get('content-length'), String(expected.length));
    const at = 'abcdefghij'.indexOf(expected);
    t.is(answer.headers.get('content-range'), status === 206 ? `bytes ${at}-${at + expected.length - 1}/10` : null);
  },
});
test(range, 'bytes=0-0', 206, 'a');
test(range, 'bytes=2-4', 206, 'cde');
test(range, 'bytes=7-', 206, 'hij');
test(range, 'bytes=-3', 206, 'hij');
test(range, 'bytes=-99', 206, 'abcdefghij');
test(range, 'bytes=5-99999999999999999999', 206, 'fghij');
test(range, 'bytes=10-', 416, '');
test(range, 'bytes=-0', 416, '');
test(range, 'bytes=4-2', 200, 'abcdefghij');
test(range, 'bytes=0-1,3-4', 200, 'abcdefghij');
test(range, 'bytes=-', 200, 'abcdefghij');
test(range, 'lines=1-2', 200, 'abcdefghij');

test('a download can be resumed until the file changes', async (t) => {
  const { fetch, put, call, key } = await filesApi(t);
  put('file', 'abcdefghij');
  const { answer } = await fetch('file');
  const etag = answer.headers.get('etag') ?? '';
  const modified = answer.headers.get('last-modified') ?? '';
  t.regex(etag, /^"[\w.-]+"$/);
  t.is(answer.headers.get('accept-ranges'), 'bytes');
  const resumed = { range: 'bytes=5-', 'if-range': etag };
  t.is((await fetch('file', resumed)).bytes.toString(), 'fghij');
  t.is((await fetch('file', { range: 'bytes=5-', 'if-range': modified })).answer.status, 206);
  t.is((await fetch('file', { range: 'bytes=5-', 'if-range': `W/${etag}` })).answer.status, 200, 'no weak comparison');
  t.is((await fetch('file', { 'if-none-match': etag })).answer.status, 304);
  const head = await fetch('file', {}, 'HEAD');
  t.deepEqual([head.answer.status, head.answer.headers.get('content-length'), head.bytes.length], [200, '10', 0]);
  put('file', 'ABCDEFGHIJ');
  t.is((await fetch('file', resumed)).bytes.toString(), 'ABCDEFGHIJ', 'a changed file is sent in full');
  put('empty', '');
  t.is((await fetch('empty')).answer.headers.get('content-length'), '0');
  t.is((await fetch('empty', { range: 'bytes=0-' })).answer.status, 416);
  t.is((await call('GET', '/v1/servers/abc/file:download?path=none', { key })).reason, 'PATH_NOT_FOUND');
});

test('a file name cannot inject a header into the download’s response', async (t) => {
  const { fetch, put } = await filesApi(t);
  for (const name of [
    'a"b.txt',
    'a\r\nSet-Cookie: x=1.txt',
    'a;filename=evil.exe',
    'naïve – ☃.txt',
    String.raw`..\..\x`,
    '%0d%0a',
  ]) {
    put(name, 'x');
    const { answer, bytes } = await fetch(name);
    t.is(bytes.toString(), 'x', name);
    t.is(answer.headers.get('set-cookie'), null);
    t.regex(answer.headers.get('content-disposition') ?? '', /^attachment; filename="?[^"]*/);
    t.is(answer.headers.get('content-type'), 'application/octet-stream');
    t.is(answer.headers.get('x-content-type-options'), 'nosniff');
  }
});

test.serial(
  'a large download is not buffered in memory, and its file is closed when the caller disconnects',
  async (t) => {
    const { put, root, port, key, until } = await filesApi(t);
    put('large', '');
    truncateSync(join(root, 'large'), 1024 ** 3);
    const open = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(root);
        } catch {
          return false;
        }
      }).length;
    const before = process.memoryUsage().arrayBuffers;
    const path = '/v1/servers/abc/file:download?path=large';
    const asked = request({ port, path, headers: { 'x-api-key': key } }).end();
    const answer = await new Promise<NodeJS.ReadableStream>((resolve) => asked.on('response', resolve));
    await new Promise((resolve) => answer.once('readable', resolve));
    t.true(open() > 0);
    // Read nothing of the response for a while.
    await turns(200);
    t.true(process.memoryUsage().arrayBuffers - before < 64 * 1024 ** 2);
    asked.destroy();
    await until(() => open() === 0);
  },
);

test('a directory is downloaded as a zip without links or secrets', async (t) => {
  const { fetch, put, root, post, see } = await filesApi(t);
  put('world/level.dat', 'level');
  put('world/region/r.0.0.mca', randomBytes(300_000));
  put('server.properties', 'rcon.password=hunter2\n');
  put('.rcon-cli.env', 'password=hunter2');
  mkdirSync(join(root, 'empty'));
  symlinkSync('/etc/passwd', join(root, 'world/link'));
  const { answer, bytes } = await fetch('');
  t.regex(answer.headers.get('content-disposition') ?? '', /filename="abc\.zip"/);
  t.is(answer.headers.get('accept-ranges'), 'none');
  t.false(bytes.includes('hunter2'));
  put('all.zip', bytes);
  const unpacked = await post(':extract', { path: 'all.zip', to: 'again' });
  t.is(unpacked.status, 200, unpacked.text);
  t.is(see('again/world/level.dat'), 'level');
  t.is(see('again/server.properties'), 'rcon.password=*******\n');
  t.true(
    readFileSync(join(root, 'again/world/region/r.0.0.mca')).equals(readFileSync(join(root, 'world/region/r.0.0.mca'))),
  );
  t.true(statSync(join(root, 'again/empty')).isDirectory());
  t.deepEqual(readdirSync(join(root, 'again')).sort(), ['empty', 'server.properties', 'world']);
  t.false(existsSync(join(root, 'again/world/link')));
  t.is((await fetch('world')).answer.headers.get('content-disposition'), 'attachment; filename="world.zip"');
});
