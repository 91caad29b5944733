import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { unpack } from '../../src/files/archives/read.ts';
import { type Packed, archiveStream } from '../../src/files/archives/write.ts';
import { openJail } from '../../src/jail/jail.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { TAR_END, globalHeaderTar, paxRecords, tarBlock, wideWindow } from '../support/hostile-archives.ts';

/** Unpacks bytes like an archive of an owner. Returns the sizes of its entries by name. */
async function unpacked(t: ExecutionContext, bytes: Buffer, below = ''): Promise<Record<string, number>> {
  const root = await mkdtemp(join(tmpdir(), 'dormouse-test-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  await writeFile(join(root, 'archive'), bytes);
  await using jail = await openJail(root);
  await using archive = await jail.open('archive');
  const workers = createWorkerPool();
  t.teardown(() => workers.close());
  const found: Record<string, number> = {};
  for await (const { path, content } of unpack(archive, workers, { tenant: 'abc', below })) {
    found[path] = 0;
    if (path.includes('unread')) continue;
    for await (const chunk of content) found[path] += chunk.length;
  }
  return found;
}

async function refusal(t: ExecutionContext, bytes: Buffer): Promise<StatusError> {
  return await t.throwsAsync(unpacked(t, bytes), { instanceOf: StatusError });
}

test('a tar whose global header would be copied for every following header is refused at once', async (t) => {
  const bytes = gzipSync(globalHeaderTar(400_000, 200));
  t.like(await refusal(t, bytes), { reason: 'ARCHIVE_TOO_LARGE' });
});

test('a global tar header, as written by git archive, changes no entries and costs little per following header', async (t) => {
  const commit = tarBlock(
    'pax_global_header',
    'g',
    Buffer.from('52 comment=0123456789abcdef0123456789abcdef01234567\n'),
  );
  const renaming = tarBlock('g', 'g', Buffer.from('15 path=../evil\n'));
  const file = tarBlock('config/a.toml', '0', Buffer.from('a=1'));
  t.deepEqual(await unpacked(t, gzipSync(Buffer.concat([commit, renaming, file, TAR_END]))), { 'config/a.toml': 3 });
  const large = tarBlock('g', 'g', paxRecords(5_000));
  const local = tarBlock('p', 'x', Buffer.from('7 a=bc\n'));
  const many = Buffer.concat([large, ...Array.from({ length: 20_000 }, () => local), file, TAR_END]);
  t.deepEqual(await unpacked(t, many), { 'config/a.toml': 3 });
});

test('a tar with a sparse file or with names in another encoding is refused, not extracted wrongly', async (t) => {
  const sparse = tarBlock('p', 'x', Buffer.from('22 GNU.sparse.major=1\n'));
  const holes = Buffer.concat([sparse, tarBlock('world/GNUSparseFile.7/r.mca', '0', Buffer.from('x')), TAR_END]);
  t.regex((await refusal(t, holes)).message, /sparse file; pack it again without --sparse/);
  const latin1 = tarBlock('longname', 'L', Buffer.from('caf\u00E9.txt\0', 'latin1'));
  const undecodable = await refusal(t, Buffer.concat([latin1, tarBlock('x', '0'), TAR_END]));
  t.regex(undecodable.message, /unknown encoding; pack it again with names in UTF-8/);
});

test('the refusal of a single compressed file, such as a log of the game, says that it is no tar', async (t) => {
  const log = gzipSync('[00:00:00] [Server thread/INFO]: Done\n'.repeat(200));
  t.regex((await refusal(t, log)).message, /a single file instead of a tar/);
});

test('a tar extension header is limited to 64 KiB', async (t) => {
  const file = tarBlock('file', '0', Buffer.from('x'));
  const fits = tarBlock('p', 'x', paxRecords(5_000));
  t.deepEqual(await unpacked(t, Buffer.concat([fits, file, TAR_END])), { file: 1 });
  for (const type of ['x', 'L', 'K']) {
    const large = Buffer.concat([tarBlock('p', type, paxRecords(20_000)), file, TAR_END]);
    t.like(await refusal(t, large), { reason: 'ARCHIVE_TOO_LARGE' }, type);
  }
});

test('tar headers without an entry count towards the entry limit', async (t) => {
  const header = tarBlock('p', 'x', Buffer.from('7 a=bc\n'));
  // Incompressible content keeps the compression ratio low, so that only the number of headers is refused.
  const first = tarBlock('first', '0', randomBytes(2 ** 20));
  const many = gzipSync(Buffer.concat([first, ...Array.from({ length: 100_000 }, () => header), TAR_END]));
  t.regex((await refusal(t, many)).message, /more than 100000 entries/);
});

test('a zstd archive with an 8 MiB window is accepted, and one with a larger window is refused', async (t) => {
  const content = Buffer.concat([randomBytes(2 ** 20), Buffer.alloc(40 * 2 ** 20)]);
  const tar = Buffer.concat([tarBlock('big', '0', content), TAR_END]);
  t.deepEqual(await unpacked(t, wideWindow(tar, 23)), { big: content.length });
  t.regex((await refusal(t, wideWindow(tar, 24))).message, /without --long and --ultra/);
});

test('the error for work beyond a worker’s limits blames the archive', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'dormouse-test-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  await writeFile(join(root, 'archive'), 'x');
  await using jail = await openJail(root);
  await using archive = await jail.open('archive');
  // oxlint-disable-next-line require-yield -- a source that fails before its first entry
  async function* stream(): AsyncGenerator<never, void> {
    throw new StatusError('RESOURCE_EXHAUSTED', 'WORK_TOO_LARGE', 'Too much.');
  }
  const workers = createWorkerPool();
  t.teardown(() => workers.close());
  await t.throwsAsync(unpack(archive, { ...workers, stream }, { tenant: 'abc' }).next(), {
    message: /^The archive needs too much/,
  });
});

test('unread archive entries and entries outside the requested folder are skipped', async (t) => {
  const large = Buffer.alloc(2 * 2 ** 20, 1);
  const [one, two, three] = [tarBlock('a/unread', '0', large), tarBlock('b/two', '0', large), tarBlock('a/three', '0')];
  const tar = Buffer.concat([one, two, three, TAR_END]);
  t.deepEqual(await unpacked(t, tar), { 'a/unread': 0, 'b/two': large.length, 'a/three': 0 });
  t.deepEqual(await unpacked(t, tar, 'b/'), { 'b/two': large.length });
});

const FILE = { kind: 'file', mode: 0o644, modifiedAt: 0 } as const;

for (const format of ['zip', 'tar'] as const)
  test(`packing a ${format} skips a file that vanishes meanwhile`, async (t) => {
    const root = await mkdtemp(join(tmpdir(), 'dormouse-test-'));
    t.teardown(() => rm(root, { recursive: true, force: true }));
    await writeFile(join(root, 'kept'), 'content');
    await using jail = await openJail(root);
    async function* entries(): AsyncGenerator<Packed> {
      yield { ...FILE, path: 'gone', open: () => jail.open('gone') };
      yield { ...FILE, path: 'kept', open: () => jail.open('kept') };
    }
    t.deepEqual(await unpacked(t, await buffer(archiveStream(format, entries()))), { kept: 7 });
  });

for (const format of ['zip', 'tar'] as const)
  test(`a destroyed ${format} stream settles only after its entry generator has finished`, async (t) => {
    const told: string[] = [];
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
    async function* entries(): AsyncGenerator<Packed> {
      try {
        yield { ...FILE, kind: 'directory', path: 'd', open: () => Promise.reject(new Error('no file')) };
      } finally {
        await mayEnd;
        told.push('read to its end');
      }
    }
    const stream = archiveStream(format, entries(), () => {
      told.push('settled');
      settle();
    });
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.destroy();
    await closed;
    t.deepEqual(told, []);
    end();
    await settled;
    t.deepEqual(told, ['read to its end', 'settled']);
  });
