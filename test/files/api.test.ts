import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  statfsSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createGzip, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { type Header, pack as tarPack } from 'tar-stream';
import { ZipFile } from 'yazl';
import { unpack } from '../../src/files/archives/read.ts';
import { createFiles } from '../../src/files/files.ts';
import { createListing } from '../../src/files/listing.ts';
import { streamBody } from '../../src/http/body.ts';
import { openJail } from '../../src/jail/jail.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { type FakeDisk, fakeDisk } from '../fakes/disk.ts';
import { type Answer, type ApiUnderTest, type CallOptions, api } from '../support/api-harness.ts';
import { NO_JOBS } from '../support/no-jobs.ts';
import { tinyDisk } from '../support/tiny-disk.ts';

interface FilesUnderTest extends ApiUnderTest {
  until: (holds: () => boolean | Promise<boolean>) => Promise<void>;
  disk: FakeDisk;
  root: string;
  put: (path: string, content?: string | Buffer) => void;
  see: (path: string) => string;
  /** Everything below the root but what is not the owner's. */
  tree: () => string[];
  post: (verb: string, body: object) => Promise<Answer>;
  upload: (path: string, raw: string | Uint8Array, options?: CallOptions & { overwrite?: boolean }) => Promise<Answer>;
  /** The bytes of a download, as they came. */
  fetch: (
    path: string,
    headers?: Record<string, string>,
    method?: string,
  ) => Promise<{ answer: Response; bytes: Buffer }>;
}

async function filesApi(t: ExecutionContext, limitBytes = 100 * 1024 * 1024): Promise<FilesUnderTest> {
  const disk = fakeDisk(limitBytes);
  const it = await api(t);
  it.services.files = createFiles({ dataDir: it.dataDir, disk, lock: it.lock });
  await it.create('abc');
  const root = join(it.dataDir, 'servers/abc');
  mkdirSync(root, { recursive: true });
  return {
    ...it,
    disk,
    root,
    put(path, content = 'x') {
      mkdirSync(join(root, posix.dirname(path)), { recursive: true });
      writeFileSync(join(root, path), content);
    },
    see: (path) => readFileSync(join(root, path), 'utf8'),
    tree: () =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((path) => path !== '.dormouse-tmp')
        .sort(),
    post: (verb, body) => it.call('POST', `/v1/servers/abc/file${verb}`, { body }),
    upload(path, raw, { overwrite, ...options } = {}) {
      const query = new URLSearchParams({ path, ...(overwrite !== undefined && { overwrite: String(overwrite) }) });
      return it.call('POST', `/v1/servers/abc/file:upload?${query.toString()}`, { raw, ...options });
    },
    async fetch(path, headers = {}, method = 'GET') {
      const answer = await fetch(`${it.origin}/v1/servers/abc/file:download?path=${encodeURIComponent(path)}`, {
        method,
        headers: { 'x-api-key': it.key, ...headers },
      });
      return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
    },
  };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

test('files of a sleeping server are listed, read, written, copied, renamed and deleted', async (t) => {
  const { ok, post, see, disk, put, root } = await filesApi(t);
  t.deepEqual(await ok('GET', '/v1/servers/abc/files'), { entries: [] });
  t.deepEqual(
    await ok('POST', '/v1/servers/abc/file', { path: 'plugins/Maps/config.yml', content: base64('a: 1\n') }),
    {},
  );
  t.is(see('plugins/Maps/config.yml'), 'a: 1\n');
  put('B.txt', 'bee');
  symlinkSync('/etc', join(root, 'link'));
  t.deepEqual(await ok('GET', '/v1/servers/abc/files?path=/'), {
    entries: [
      { name: 'B.txt', isDir: false, size: '3' },
      { name: 'link', isDir: false, size: '0' },
      { name: 'plugins', isDir: true, size: '0' },
    ],
  });
  t.deepEqual(await ok('GET', '/v1/servers/abc/file?path=plugins/Maps/config.yml'), {
    content: base64('a: 1\n'),
    truncated: false,
  });
  t.deepEqual((await post(':copy', { from: 'plugins', to: 'copied' })).json, { copied: '5' });
  t.is(see('copied/Maps/config.yml'), 'a: 1\n');
  t.deepEqual((await post(':rename', { from: 'copied', to: 'plugins/moved' })).json, {});
  t.is(see('plugins/moved/Maps/config.yml'), 'a: 1\n');
  t.deepEqual((await post(':mkdir', { path: 'x/y' })).json, {});
  t.is((await post(':mkdir', { path: 'x/y' })).status, 409);
  // Two files, and plugins, Maps, both copied, x and y.
  t.deepEqual([disk.usedBytes, disk.openBytes], [8 * 4_096, 0]);
  t.deepEqual((await post(':delete', { path: 'plugins' })).json, {});
  t.is(disk.freedTimes, 1);
  const entries = (await ok('GET', '/v1/servers/abc/audit'))['entries'] as { action: string; detail: string }[];
  t.deepEqual(
    entries
      .filter(({ action }) => action.startsWith('file.'))
      .map(({ action, detail }) => [action, detail.split('; ')[1]]),
    [
      ['file.delete', 'plugins'],
      ['file.mkdir', 'x/y'],
      ['file.rename', 'copied to plugins/moved'],
      ['file.copy', 'plugins to copied'],
      ['file.write', 'plugins/Maps/config.yml'],
    ],
  );
});

test('F-01: bad paths are refused by every operation, with the field that is wrong', async (t) => {
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
      t.deepEqual(
        [answer.status, answer.json['code']],
        [400, answer.reason === 'PATH_WITHIN_ITSELF' ? 9 : 3],
        answer.text,
      );
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
  t.is((await post('', { path: 'url-safe', content: '_-8' })).status, 200, 'base64 of the other alphabet, unpadded');
});

test('content that is no whole base64 is refused, and the file stays as it was', async (t) => {
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

test('F-12: a log of two gigabytes is read in part, and binary content survives', async (t) => {
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

test('a large directory is listed as a small one is, without what is the service’s', async (t) => {
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
  t.deepEqual(
    all.map(({ name }) => name),
    all.map(({ name }) => name).sort(),
  );
});

test('large listings of one account wait for each other, and end with their caller', async (t) => {
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
  // Both wait for a place; which of them has it first is chance.
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
  t.regex(errors[0] ?? '', /The caller went away\./);
});

test('F-12: 200 000 entries are listed while others are served', async (t) => {
  const { ok, call, services } = await filesApi(t);
  t.timeout(300_000);
  // In memory, where so many are made in a second.
  const dataDir = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'dormouse-test-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  services.files = createFiles({ dataDir, disk: fakeDisk(0), lock: NO_JOBS });
  const root = join(dataDir, 'servers/abc');
  mkdirSync(join(root, 'many'), { recursive: true });
  // Names are what matters here, and links to few files are quickly made.
  for (let file = 0; file < 8; file++) {
    writeFileSync(join(root, `file-${file}`), 'x');
    for (let link = 0; link < 25_000; link++)
      linkSync(join(root, `file-${file}`), join(root, 'many', `${file}-${link}`));
  }
  const over = new AbortController();
  let longest = 0;
  const watch = (async () => {
    while (!over.signal.aborted) {
      const begun = process.threadCpuUsage();
      await new Promise((resolve) => setImmediate(resolve));
      const { user, system } = process.threadCpuUsage(begun);
      longest = Math.max(longest, (user + system) / 1_000);
    }
  })();
  const listed = await call('GET', '/v1/servers/abc/files?path=many');
  over.abort();
  await watch;
  const entries = listed.json['entries'] as { name: string }[];
  t.is(entries.length, 200_000);
  t.deepEqual([entries[0]?.name, entries[1]?.name], ['0-0', '0-1']);
  t.log(`the longest turn took ${Math.round(longest)} ms of CPU`);
  t.true(longest < 500, `${longest} ms`);
  await ok('GET', '/v1/servers/abc/files');
});

test('F-07: an upload that breaks off, is refused or meets another leaves what was there', async (t) => {
  const { upload, put, see, root, port, key, disk, until } = await filesApi(t, 1024 * 1024);
  put('world.zip', 'old');
  const temps = () => readdirSync(join(root, '.dormouse-tmp'));
  t.is((await upload('world.zip', 'new')).reason, 'PATH_EXISTS');
  t.is((await upload('world.zip', 'new', { overwrite: true })).json['size'], '3');
  t.is(see('world.zip'), 'new');
  // At 99 %, the caller goes away.
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
  // Larger than what is left, said beforehand or not.
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
  // Twice at once: one of them is there in the end, whole.
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
  test(`E-05: slow uploads side by side${known ? '' : ', of lengths that nobody knows,'} leave games the room to save`, async (t) => {
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
      // Who is refused may be cut off before all is sent.
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
    if (known) t.is(answers.filter((status) => status === 200).length, 2, 'as many as there is room for');
    else t.true(answers.includes(429), String(answers));
  });

test('an upload that stands still is given up', async (t) => {
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

test('Q-02: what holds next to nothing takes room, too: tiny and empty files, directories, each by every way in', async (t) => {
  const { post, upload, put, disk, tree } = await filesApi(t, 1_000_000);
  const many = Array.from({ length: 20 }, (_, index) => `tiny/${index}`);
  for (const path of many) put(path, '1');
  await post(':archive', { paths: ['tiny'], to: 'tiny.zip' });
  const ways: Record<string, () => Promise<Answer>> = {
    mkdir: () => post(':mkdir', { path: 'a/b/c/d/e/f' }),
    write: () => post('', { path: 'g/h/new', content: '' }),
    upload: () => upload('i/j/new', '1'),
    copy: () => post(':copy', { from: 'tiny', to: 'copied' }),
    extract: () => post(':extract', { path: 'tiny.zip', to: 'extracted' }),
  };
  const entries = [6, 3, 3, 21, 22];
  for (const [index, [way, work]] of Object.entries(ways).entries()) {
    const full = entries[index]! * 4_096;
    disk.usedBytes = 0;
    disk.limitBytes = full - 1;
    const before = tree();
    t.is((await work()).reason, 'DISK_QUOTA_EXCEEDED', way);
    t.is(disk.openBytes, 0);
    if (way === 'copy' || way === 'extract') t.deepEqual(tree(), before, way);
    disk.limitBytes = 1_000_000;
    disk.usedBytes = 0;
    t.is((await work()).status, 200, way);
    t.true(disk.usedBytes > 0 && disk.usedBytes <= full, way);
  }
});

test('Q-02: every way in asks the quota before bytes land', async (t) => {
  const { post, upload, put, disk, root, tree } = await filesApi(t, 2_000_000);
  put('kept', randomBytes(1_000_000));
  await post(':archive', { paths: ['kept'], to: 'kept.tar' });
  put('zeros', Buffer.alloc(1_000_000));
  await post(':archive', { paths: ['zeros'], to: 'zeros.tar.zst' });
  disk.usedBytes = 1_500_000;
  const before = tree();
  const ways: Record<string, () => Promise<Answer>> = {
    write: () => post('', { path: 'new', content: randomBytes(600_000).toString('base64') }),
    upload: () => upload('new', randomBytes(600_000)),
    'overwriting upload': () => upload('kept', randomBytes(600_000), { overwrite: true }),
    copy: () => post(':copy', { from: 'kept', to: 'new' }),
    archive: () => post(':archive', { paths: ['kept'], to: 'new.tar.gz' }),
    'archive as zip': () => post(':archive', { paths: ['kept'], to: 'new.zip' }),
    extract: () => post(':extract', { path: 'zeros.tar.zst', to: 'new' }),
  };
  for (const [way, work] of Object.entries(ways)) {
    t.is((await work()).reason, 'DISK_QUOTA_EXCEEDED', way);
    t.deepEqual([disk.usedBytes, disk.openBytes], [1_500_000, 0], way);
    t.deepEqual(tree(), before, way);
    t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), [], way);
  }
  disk.limitBytes = 10_000_000;
  disk.freedTimes = 0;
  const used = async (work: () => Promise<Answer>) => {
    const before = disk.usedBytes;
    const answer = await work();
    t.is(answer.status, 200, answer.text);
    t.is(disk.openBytes, 0);
    return disk.usedBytes - before;
  };
  const blocks = (bytes: number) => Math.ceil(bytes / 4_096) * 4_096;
  t.is(await used(() => upload('new', randomBytes(600_000))), blocks(600_000));
  t.is(await used(() => upload('new', randomBytes(700_000), { overwrite: true })), blocks(700_000) - blocks(600_000));
  t.is(await used(() => upload('new', 'little', { overwrite: true })), 0);
  t.is(disk.freedTimes, 1, 'a smaller file is room');
  t.is(await used(() => post(':copy', { from: 'kept', to: 'copy' })), blocks(1_000_000));
  t.is(await used(() => post(':extract', { path: 'zeros.tar.zst', to: 'new-dir' })), 4_096 + blocks(1_000_000));
  t.true((await used(() => post(':extract', { path: 'zeros.tar.zst', to: 'new-dir' }))) <= 8_192, 'the same again');
  t.is(disk.freedTimes, 3, 'and what is left of it is measured');
  const size = statSync(join(root, 'kept.tar')).size;
  t.is(await used(() => post(':archive', { paths: ['kept'], to: 'again.tar' })), blocks(size));
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

test('a download can be resumed as long as the file is the same', async (t) => {
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
  t.is((await fetch('file', { range: 'bytes=5-', 'if-range': `W/${etag}` })).answer.status, 200, 'weak is not enough');
  t.is((await fetch('file', { 'if-none-match': etag })).answer.status, 304);
  const head = await fetch('file', {}, 'HEAD');
  t.deepEqual([head.answer.status, head.answer.headers.get('content-length'), head.bytes.length], [200, '10', 0]);
  put('file', 'ABCDEFGHIJ');
  t.is((await fetch('file', resumed)).bytes.toString(), 'ABCDEFGHIJ', 'changed: all of it');
  put('empty', '');
  t.is((await fetch('empty')).answer.headers.get('content-length'), '0');
  t.is((await fetch('empty', { range: 'bytes=0-' })).answer.status, 416);
  t.is((await call('GET', '/v1/servers/abc/file:download?path=none', { key })).reason, 'PATH_NOT_FOUND');
});

test('a file’s name cannot be a header', async (t) => {
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

test.serial('a download as large as you like is held in no memory, and let go when its caller goes', async (t) => {
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
  // Nothing is read of it for a while.
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  t.true(process.memoryUsage().arrayBuffers - before < 64 * 1024 ** 2);
  asked.destroy();
  await until(() => open() === 0);
});

test('downloads, uploads and work on trees have a limit each', async (t) => {
  const { services, put, post, fetch, until } = await filesApi(t);
  put('a');
  const taken = Array.from({ length: 8 }, () =>
    services.transferSlots.take({ kind: 'key', keyId: 'x', accountId: 'acc_test' } as never, 'transfer'),
  );
  const more = Array.from({ length: 8 }, () =>
    services.transferSlots.take({ kind: 'key', keyId: 'y', accountId: 'acc_test' } as never, 'transfer'),
  );
  t.is((await post(':copy', { from: 'a', to: 'b' })).reason, 'TOO_MANY_STREAMS');
  t.is((await fetch('a')).answer.status, 429);
  for (const release of [...taken, ...more]) release();
  t.is((await fetch('a')).answer.status, 200);
  t.is((await fetch('none')).answer.status, 404);
  await until(() => services.transferSlots.taken() === 0);
});

test('a directory comes as a zip, without links and without secrets', async (t) => {
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

for (const ending of ['zip', 'tar', 'tar.gz', 'tgz', 'tar.zst'])
  test(`what is packed into .${ending} comes out of it the same`, async (t) => {
    const { put, post, root, see, tree } = await filesApi(t);
    const content = randomBytes(700_000);
    put('world/region/r.0.0.mca', content);
    put('world/é ☃.txt', 'snow');
    put('world/empty.txt', '');
    put(`world/${'long/'.repeat(40)}name`, 'deep');
    mkdirSync(join(root, 'world/none'));
    put('plugins/a.jar', 'jar');
    symlinkSync('/etc/passwd', join(root, 'world/link'));
    const packed = await post(':archive', { paths: ['/world', 'plugins/a.jar'], to: `out/pack.${ending}` });
    t.is(packed.status, 200, packed.text);
    t.deepEqual(packed.json, {
      name: `pack.${ending}`,
      isDir: false,
      size: String(statSync(join(root, `out/pack.${ending}`)).size),
    });
    // By its content, whatever it is called.
    await post(':rename', { from: `out/pack.${ending}`, to: 'out/packed' });
    const extracted = await post(':extract', { path: 'out/packed', to: 'again/here' });
    t.deepEqual(extracted.json, { extracted: String(content.length + 4 + 4 + 3) }, extracted.text);
    t.true(readFileSync(join(root, 'again/here/world/region/r.0.0.mca')).equals(content));
    t.is(see('again/here/world/é ☃.txt'), 'snow');
    t.is(see('again/here/plugins/a.jar'), 'jar');
    t.true(statSync(join(root, 'again/here/world/none')).isDirectory());
    t.false(tree().includes('again/here/world/link'));
    t.is((await post(':archive', { paths: ['world'], to: `out/packed.${ending}` })).status, 200);
    t.is((await post(':archive', { paths: ['world'], to: `out/packed.${ending}` })).reason, 'PATH_EXISTS');
  });

async function tar(...entries: [Partial<Header> & { name: string }, (string | Buffer)?][]): Promise<Buffer> {
  const pack = tarPack();
  for (const [header, content = ''] of entries) pack.entry({ ...header }, content as string);
  pack.finalize();
  return await buffer(pack);
}

async function zip(...entries: [name: string, content: string, mode?: number][]): Promise<Buffer> {
  const file = new ZipFile();
  for (const [name, content, mode = 0o100644] of entries)
    file.addBuffer(Buffer.from(content), name, { mode, compress: true });
  file.end();
  return await buffer(file.outputStream);
}

/** A zip whose one name is changed afterwards, to one of the same length that no tool would write. */
async function zipNamed(name: string): Promise<Buffer> {
  const plain = 'n'.repeat(name.length);
  return Buffer.from((await zip([plain, 'x'])).toString('latin1').replaceAll(plain, name), 'latin1');
}

const HOSTILE: Record<string, () => Promise<Buffer>> = {
  'A01: a zip that climbs out': () => zipNamed('../../x'),
  'A01: a zip that begins at the root': () => zipNamed('/etc/x'),
  'A01: a zip that climbs by backslashes': () => zipNamed(String.raw`..\..\x`),
  'A01: a tar that climbs out': () => tar([{ name: '../../x' }, 'x']),
  'A01: a tar that climbs within': () => tar([{ name: 'a/../x' }, 'x']),
  'A02: a symlink in a tar': () => tar([{ name: 'a', type: 'symlink', linkname: '/' }], [{ name: 'a/etc/x' }, 'x']),
  'A03: a chain of links in a tar': () =>
    tar(
      [{ name: 'c', type: 'directory' }],
      [{ name: 'c/up', type: 'symlink', linkname: '../..' }],
      [{ name: 'escape', type: 'symlink', linkname: 'c/up/..' }],
      [{ name: 'hard', type: 'link', linkname: 'escape/x' }],
    ),
  'F-06: a hard link in a tar': () => tar([{ name: 'hard', type: 'link', linkname: '/etc/passwd' }]),
  'F-06: a device in a tar': () => tar([{ name: 'zero', type: 'character-device', devmajor: 1, devminor: 5 }]),
  'F-06: a pipe in a tar': () => tar([{ name: 'pipe', type: 'fifo' }]),
  'F-06: a symlink in a zip': () => zip(['link', '/etc/passwd', 0o120777]),
  'F-06: a device in a zip': () => zip(['zero', '', 0o020666]),
  'F-06: a name of 256 bytes': () => zip(['n'.repeat(256), 'x']),
  'F-06: 65 levels': () => tar([{ name: `${'d/'.repeat(64)}d` }, 'x']),
  'F-06: a tar.gz that ends early': async () =>
    gzipSync(await tar([{ name: 'x' }, randomBytes(50_000)])).subarray(0, 30_000),
  'F-06: a tar that ends early': async () => (await tar([{ name: 'x' }, randomBytes(50_000)])).subarray(0, 30_000),
  'F-06: a zip that ends early': async () => (await zip(['x', 'y'.repeat(500)])).subarray(0, -30),
  'F-06: an encrypted zip': async () => {
    const bytes = await zip(['x', 'secret']);
    for (const mark of ['PK\x03\x04', 'PK\x01\x02']) {
      const at = bytes.indexOf(mark, 0, 'latin1') + (mark === 'PK\x03\x04' ? 6 : 8);
      bytes[at] = bytes[at]! | 1;
    }
    return bytes;
  },
  'F-06: an unknown compression': async () => {
    const bytes = await zip(['x', 'y'.repeat(500)]);
    bytes.writeUInt16LE(99, bytes.indexOf('PK\x01\x02', 0, 'latin1') + 10);
    return bytes;
  },
  'A06: a zip that says one byte and holds more': async () => {
    const bytes = await zip(['x', 'y'.repeat(5_000)]);
    bytes.writeUInt32LE(1, bytes.indexOf('PK\x01\x02', 0, 'latin1') + 24);
    return bytes;
  },
  'F-06: no archive': async () => randomBytes(2_000),
  'F-06: nothing': async () => Buffer.alloc(0),
};

for (const [title, make] of Object.entries(HOSTILE))
  test(`${title} changes nothing`, async (t) => {
    const { put, post, tree, root, disk, see } = await filesApi(t);
    put('there', 'x');
    put('archive', await make());
    const answer = await post(':extract', { path: 'archive', to: '' });
    t.is(answer.status, 400, answer.text);
    t.true(['BAD_ARCHIVE', 'UNKNOWN_ARCHIVE'].includes(answer.reason), answer.text);
    t.deepEqual(tree(), ['archive', 'there']);
    t.is(see('there'), 'x');
    t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
    t.deepEqual([disk.usedBytes, disk.openBytes], [0, 0]);
  });

test('A04: zeros without end stop at what an archive may hold, or at the quota', async (t) => {
  const { put, post, tree, disk, root } = await filesApi(t, 8 * 1024 ** 3);
  const pack = tarPack();
  const gzip = createGzip();
  const packed = buffer(pack.pipe(gzip));
  const size = 64 * 1024 ** 2;
  const entry = pack.entry({ name: 'zeros', size });
  for (let done = 0; done < size; done += 1024 ** 2)
    if (!entry.write(Buffer.alloc(1024 ** 2)))
      await new Promise<void>((resolve) => void entry.once('drain', () => resolve()));
  entry.end(undefined);
  pack.finalize();
  put('bomb.tar.gz', await packed);
  t.is((await post(':extract', { path: 'bomb.tar.gz', to: 'x' })).reason, 'ARCHIVE_TOO_LARGE');
  disk.limitBytes = 1_000_000;
  t.is((await post(':extract', { path: 'bomb.tar.gz', to: 'x' })).reason, 'DISK_QUOTA_EXCEEDED');
  t.deepEqual(tree(), ['bomb.tar.gz']);
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
});

test('A05: more than 100 000 entries are refused, and a zip that says so for nothing', async (t) => {
  const { put, post, tree, services } = await filesApi(t);
  const header = (await tar([{ name: 'd/', type: 'directory' }])).subarray(0, 512);
  put('many.tar', Buffer.concat([...Array.from({ length: 100_001 }, () => header), Buffer.alloc(1_024)]));
  await using jail = await services.files.jail('abc');
  await using archive = await jail.open('many.tar');
  const workers = createWorkerPool();
  t.teardown(() => workers.close());
  let count = 0;
  const unpacked = async () => {
    for await (const _ of unpack(archive, { workers, tenant: 'abc' })) count += 1;
  };
  await t.throwsAsync(unpacked, { message: /more than 100000 entries/ });
  t.is(count, 100_000);
  const bytes = await zip(['x', 'y']);
  const end = bytes.indexOf('PK\x05\x06', 0, 'latin1');
  bytes.writeUInt16LE(0xffff, end + 8);
  bytes.writeUInt16LE(0xffff, end + 10);
  put('lying.zip', bytes);
  t.is((await post(':extract', { path: 'lying.zip', to: 'x' })).status, 400);
  t.deepEqual(tree(), ['lying.zip', 'many.tar']);
});

test('A07: of equal names the last wins; set-uid bits are dropped; what is protected stays', async (t) => {
  const { put, post, see, root, tree } = await filesApi(t);
  put('a.tar', await tar([{ name: 'x' }, 'one'], [{ name: 'X' }, 'two'], [{ name: 'x', mode: 0o4755 }, 'three']));
  t.is((await post(':extract', { path: 'a.tar', to: 'out' })).status, 200);
  t.deepEqual([see('out/x'), see('out/X')], ['three', 'two']);
  t.is(statSync(join(root, 'out/x')).mode & 0o7000, 0);
  put('b.tar', await tar([{ name: 'fine' }, 'x'], [{ name: '.rcon-cli.env' }, 'password=x']));
  t.is((await post(':extract', { path: 'b.tar', to: '/' })).reason, 'PATH_PROTECTED');
  t.false(tree().includes('fine'));
  t.is((await post(':extract', { path: 'b.tar', to: 'out/x' })).status, 400);
});

test('a copy ends when its caller goes away, and leaves nothing', async (t) => {
  const { put, root, port, key, until, disk, logged } = await filesApi(t, 1024 ** 4);
  put('huge', '');
  truncateSync(join(root, 'huge'), 64 * 1024 ** 3);
  const headers = { 'x-api-key': key };
  const copying = request({ port, path: '/v1/servers/abc/file:copy', method: 'POST', headers });
  copying.on('error', () => {});
  copying.end(JSON.stringify({ from: 'huge', to: 'copy' }));
  await until(() => disk.openBytes > 0);
  copying.destroy();
  await until(() => disk.openBytes === 0 && readdirSync(join(root, '.dormouse-tmp')).length === 0);
  t.false(existsSync(join(root, 'copy')));
  t.false(logged.some((line) => line.includes('request failed')));
});

test('a change that was made and could not be written down says that it was made, and is not to be repeated', async (t) => {
  const { put, post, see, tree, store, ok } = await filesApi(t);
  put('here', 'x');
  const write = store.write.bind(store);
  store.write = async () => {
    throw new StatusError('UNAVAILABLE', 'STORE_UNAVAILABLE', 'The database cannot be used now; try again.');
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

test('a call that ends because its caller has left is no error of the service', async (t) => {
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
