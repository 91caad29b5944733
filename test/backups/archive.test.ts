import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, readFile, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { extractArchive, syncFileSystem, writeArchive } from '../../src/backups/archive.ts';
import { ArchiveCorrupt } from '../../src/backups/errors.ts';
import { type Archive, tarOf } from '../../src/backups/pack.ts';
import { DEFAULT_RETENTION, expired } from '../../src/backups/removal.ts';
import { inBlocks } from '../../src/files/archives/format.ts';
import { openJail } from '../../src/jail/jail.ts';
import type { ReadEntry } from '../../src/jail/read-tree.ts';
import { removeTree } from '../../src/jail/remove-tree.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { KIB, MIB } from '../../src/kernel/units.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { isThorough } from '../support/needs.ts';
import * as fc from '../support/property.ts';
import { plant, treeOf } from '../support/tree.ts';

const run = promisify(execFile);
const signal = new AbortController().signal;

async function folder(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'dormouse-archive-'));
  t.teardown(() => removeTree(path));
  return path;
}

const workers = createWorkerPool({ streams: 4, trusted: true });
test.after.always(() => workers.close());

async function archive(
  root: string,
  target: string,
  options: Partial<Parameters<typeof writeArchive>[3]> = {},
): Promise<Archive> {
  await using jail = await openJail(root);
  await using tree = await jail.directory('');
  return await writeArchive(workers, tree, target, { signal, grow: async () => {}, progress() {}, ...options });
}

async function unpacked(
  t: ExecutionContext,
  path: string,
  facts: Archive,
  options: Partial<Parameters<typeof extractArchive>[4]> = {},
): Promise<string> {
  const into = await folder(t);
  await using file = await open(path);
  await extractArchive(workers, file.fd, facts, into, { owner: undefined, signal, progress() {}, ...options });
  return into;
}

test('an archive preserves unusual names, empty files and folders, modes and times', async (t) => {
  const [from, to] = [await folder(t), await folder(t)];
  const long = 'a'.repeat(200);
  await plant(from, {
    empty: '',
    'folder/ümlaut 漢字.txt': 'x',
    [`${long}/${long}/${long}`]: 'deep',
    ' spaces ': '1',
    'big.mca': Buffer.alloc(2_000_001, 5),
    'server.properties': 'motd=x\nrcon.password=geheim\n',
    '.rcon-cli.env': 'password=geheim',
  });
  const made = await archive(from, join(to, 'a.tar.zst'));
  const out = await unpacked(t, join(to, 'a.tar.zst'), made);
  const [before, after] = [await treeOf(from), await treeOf(out)];
  t.regex(await readFile(join(out, 'server.properties'), 'utf8'), /^motd=x\nrcon\.password=\*{6}\n$/);
  for (const tree of [before, after]) for (const secret of ['server.properties', '.rcon-cli.env']) delete tree[secret];
  t.deepEqual(after, before);
});

test('an archive notes the symbolic links that it leaves out, such as a world on another disk', async (t) => {
  const [from, to] = [await folder(t), await folder(t)];
  await plant(from, { 'server.properties': '' });
  t.is((await archive(from, join(to, 'a.tar.zst'))).note, '');
  await symlink(to, join(from, 'world'));
  t.regex((await archive(from, join(to, 'a.tar.zst'))).note, /^The symbolic link world is not in this backup/);
  await symlink(to, join(from, 'other'));
  t.regex((await archive(from, join(to, 'a.tar.zst'))).note, /^2 symbolic links \((world|other) and others\) are not/);
});

/** Creates nested folders one level at a time, like a game can. The whole path is too long for a system call. */
async function dug(root: string, name: string, levels: number): Promise<void> {
  const dig = `
    const fs = require('node:fs');
    const [root, name, levels] = process.argv.slice(1);
    process.chdir(root);
    for (let level = 0; level < levels; level++) (fs.mkdirSync(name), process.chdir(name));
    fs.writeFileSync('bottom', 'found');`;
  await run(process.execPath, ['-e', dig, root, name, String(levels)]);
}

/** Reads the file in the deepest folder. */
async function bottom(root: string, name: string, levels: number): Promise<string> {
  const climb = `for (let level = 0; level < process.argv[3]; level++) process.chdir(process.argv[2]);
    process.stdout.write(require('node:fs').readFileSync('bottom'));`;
  return (await run(process.execPath, ['-e', climb, '-', name, String(levels)], { cwd: root })).stdout;
}

test.runIf(isThorough)(
  'an archive preserves paths too long to name, and refuses folders more than 512 levels deep',
  async (t) => {
    const [from, to] = [await folder(t), await folder(t)];
    const name = 'd'.repeat(100);
    await dug(from, name, 100);
    const made = await archive(from, join(to, 'a.tar.zst'));
    t.is(await bottom(await unpacked(t, join(to, 'a.tar.zst'), made), name, 100), 'found');

    await dug(join(from, name), 'e', 512);
    await t.throwsAsync(archive(from, join(to, 'b.tar.zst')), {
      message: /e…?: It would be more than 512 levels/,
    });
  },
);

test('an archive preserves file names that are not valid text, and keeps them distinct', async (t) => {
  const [from, to] = [await folder(t), await folder(t)];
  const named = (byte: number, rest = '') => Buffer.concat([Buffer.from([0x61, byte]), Buffer.from(rest)]);
  const at = (root: string, name: Buffer) => Buffer.concat([Buffer.from(`${root}/`), name]);
  await mkdir(at(from, named(0xfe)));
  await writeFile(at(from, named(0xfe, '/ü')), 'in a folder');
  await writeFile(at(from, named(0xff)), 'one');
  await writeFile(at(from, named(0xfd)), 'another');
  const made = await archive(from, join(to, 'a.tar.zst'));
  const out = await unpacked(t, join(to, 'a.tar.zst'), made);
  const read = (name: Buffer) => readFile(at(out, name), 'utf8');
  t.deepEqual(
    [await read(named(0xfe, '/ü')), await read(named(0xff)), await read(named(0xfd))],
    ['in a folder', 'one', 'another'],
  );
});

/** A file whose listed size differs from its content. */
function changing(path: string, sizeBytes: number, content: Buffer): ReadEntry {
  const read = (buffer: Buffer, offset: number, length: number, position: number) =>
    content.subarray(position, position + length).copy(buffer, offset);
  return { path, kind: 'file', sizeBytes, modifiedAt: 0, mode: 0o640, read };
}

test('a file that grows or shrinks while it is read neither aborts the tar nor damages other files', async (t) => {
  const target = join(await folder(t), 'a.tar');
  const entries = [
    changing('grows.log', 5, Buffer.from('0123456789')),
    changing('shrinks.log', 1_500_000, Buffer.alloc(700_000, 1)),
    changing('shrinks.json', 9, Buffer.from('{}')),
    changing('stays', 4, Buffer.from('same')),
  ];
  await writeFile(target, taken(entries));
  const out = await folder(t);
  await run('tar', ['-C', out, '-xf', target]);
  t.is(await readFile(join(out, 'grows.log'), 'utf8'), '01234');
  const shrunk = await readFile(join(out, 'shrinks.log'));
  t.deepEqual([shrunk.length, shrunk[699_999], shrunk[700_000]], [1_500_000, 1, 0]);
  t.is(await readFile(join(out, 'shrinks.json'), 'utf8'), '{}\0\0\0\0\0\0\0');
  t.is(await readFile(join(out, 'stays'), 'utf8'), 'same');
});

/** Concatenates the blocks of a tar, copying each before the next is requested. */
function taken(entries: Iterable<ReadEntry>): Buffer {
  return Buffer.concat(
    Array.from(
      tarOf(entries, () => {}),
      (block) => Buffer.from(block),
    ),
  );
}

test('small chunks are joined into blocks, large ones pass unchanged, and the bytes stay the same', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(fc.nat(2_000), fc.nat(400_000)), { maxLength: 30 }), async (sizes) => {
      const chunks = sizes.map((size, n) => Buffer.alloc(size, n));
      const blocks: Buffer[] = [];
      const sink = new Writable({ write: (block: Buffer, _, done) => (blocks.push(block), done()) });
      await pipeline(Readable.from(chunks, { objectMode: false }), inBlocks, sink);
      t.true(Buffer.concat(blocks).equals(Buffer.concat(chunks)));
      const isLarge = ({ length }: Buffer) => length >= 256 * 1024;
      t.is(blocks.filter(isLarge).length, chunks.filter(isLarge).length);
      // Two consecutive blocks never fit into one.
      for (const [n, { length }] of blocks.entries()) t.true(length + (blocks[n + 1]?.length ?? Infinity) > 256 * 1024);
    }),
    { numRuns: 50 },
  );
});

test('buffer reuse does not corrupt an archive on a slow disk', async (t) => {
  const [from, to] = [await folder(t), await folder(t)];
  const sizes = [3 * MIB, 256 * KIB, 256 * KIB + 1, 130 * KIB, 5 * MIB + 7, MIB, 200 * KIB, 4 * MIB];
  await plant(from, Object.fromEntries(sizes.map((size, n) => [`region/r.${n}.mca`, randomBytes(size)])));
  const target = join(to, 'a.tar.zst');
  const slow = async () => await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
  const facts = await archive(from, target, { grow: slow });
  t.deepEqual(await treeOf(await unpacked(t, target, facts)), await treeOf(from));
});

async function openBelow(root: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  const paths = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(root));
}

test('an archive that grows too large, is stopped or cannot read its source leaves no files or descriptors', async (t) => {
  const [from, to] = [await folder(t), await folder(t)];
  await plant(from, Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`f${n}`, randomBytes(n * 70_000)])));
  const target = join(to, 'a.tar.zst');
  let left = 20 * MIB;
  const full = async (bytes: number) => {
    left -= bytes;
    if (left < 0) throw new Error('too large');
    t.is((await stat(`${target}.tmp`)).size + left, 20 * MIB - bytes, 'space is reserved before it is written');
  };
  await t.throwsAsync(archive(from, target, { grow: full }), { message: 'too large' });
  const stop = new AbortController();
  const stopped = archive(from, target, { signal: stop.signal, progress: () => stop.abort(new Error('stopped')) });
  await t.throwsAsync(stopped, { message: 'stopped' });
  await dug(from, 'd', 513);
  await t.throwsAsync(archive(from, target), { code: 'FAILED_PRECONDITION', message: /more than 512 levels/ });
  t.deepEqual(await treeOf(to), {});
  t.deepEqual([...(await openBelow(from)), ...(await openBelow(to))], []);
});

test('extraction syncs the complete tree at the end, in one call or file by file', async (t) => {
  const [from, to] = [await folder(t), await folder(t)];
  await plant(from, { 'a/b/file': 'x', 'a/other': 'x', top: 'x' });
  const path = join(to, 'a.tar.zst');
  const facts = await archive(from, path);
  for (const synced of [true, false]) {
    let found: object | undefined;
    const syncAll = async (root: string) => ((found = await treeOf(root)), synced);
    await unpacked(t, path, facts, { syncAll });
    t.deepEqual(found, await treeOf(from));
  }
});

test('extraction fails with the store’s error after a failed read and with the abort reason after a stop', async (t) => {
  const [from, to] = [await folder(t), await folder(t)];
  await plant(from, { large: randomBytes(3 * MIB) });
  const facts = await archive(from, join(to, 'a.tar.zst'));
  const bytes = await readFile(join(to, 'a.tar.zst'));
  async function* fails(): AsyncGenerator<Buffer> {
    yield bytes.subarray(0, MIB);
    throw new StatusError('UNAVAILABLE', 'BACKUP_STORE_AWAY', 'The store is away.');
  }
  const quiet = { owner: undefined, signal, progress() {} };
  const away = await t.throwsAsync(extractArchive(workers, Readable.from(fails()), facts, to, quiet));
  t.like(away, { reason: 'BACKUP_STORE_AWAY' });

  const stop = new AbortController();
  async function* stalls(): AsyncGenerator<Buffer> {
    yield bytes.subarray(0, MIB);
    stop.abort(new Error('stopped'));
    yield await new Promise<Buffer>(() => {});
  }
  const stopped = extractArchive(workers, Readable.from(stalls()), facts, to, { ...quiet, signal: stop.signal });
  await t.throwsAsync(stopped, { message: 'stopped' });
  t.deepEqual(await openBelow(to), []);
});

test('an archive with any change is rejected as corrupt', async (t) => {
  const [from, to] = [await folder(t), await folder(t)];
  await plant(from, {
    'world/level.dat': 'x'.repeat(5_000),
    'world/r.mca': Buffer.from(Array.from({ length: 9_000 }, (_, n) => n * n)),
  });
  const path = join(to, 'a.tar.zst');
  const facts = await archive(from, path);
  const good = await readFile(path);
  const change = fc.oneof(
    fc.record({ at: fc.nat(good.length - 1), bit: fc.nat(7) }).map(({ at, bit }) => {
      const bad = Buffer.from(good);
      bad[at]! ^= 1 << bit;
      return bad;
    }),
    fc.nat(good.length - 1).map((length) => good.subarray(0, length)),
    fc.uint8Array({ minLength: 1, maxLength: 300 }).map((more) => Buffer.concat([good, more])),
  );
  await fc.assert(
    fc.asyncProperty(change, async (bad) => {
      await writeFile(path, bad);
      await t.throwsAsync(unpacked(t, path, facts), { instanceOf: ArchiveCorrupt });
    }),
    { numRuns: 60 },
  );
  await writeFile(path, good);
  await t.throwsAsync(unpacked(t, path, { ...facts, treeBytes: facts.treeBytes - 1 }), { instanceOf: ArchiveCorrupt });
  await unpacked(t, path, facts);
});

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 20, 12);
const good = (id: string, createdAt: number, locked = false, note = '', treeBytes = 1) =>
  ({ id, kind: 'manual', state: 'ready', createdAt, locked, note, treeBytes }) as const;

test('retention keeps locked backups and the newest good ones, and otherwise only as many as its rules allow', (t) => {
  const backup = fc.record({
    id: fc.uuid(),
    kind: fc.constantFrom('manual', 'schedule', 'reset', 'previous'),
    state: fc.constantFrom('queued', 'running', 'ready', 'failed'),
    createdAt: fc.integer({ min: NOW - 400 * 24 * HOUR, max: NOW }),
    locked: fc.boolean(),
    note: fc.constantFrom('', 'not confirmed'),
    treeBytes: fc.constantFrom(0, 1),
  });
  const count = fc.integer({ min: 0, max: 12 });
  const retention = fc.record({ keepLast: count, hourly: count, daily: count, weekly: count, monthly: count });
  fc.assert(
    fc.property(fc.uniqueArray(backup, { selector: ({ id }) => id, maxLength: 60 }), retention, (all, rules) => {
      const gone = new Set(expired(all, rules, NOW));
      const ready = all.filter(({ state, kind }) => state === 'ready' && kind !== 'previous');
      const newest = ready.toSorted((a, b) => b.createdAt - a.createdAt);
      for (const each of gone) {
        if (each.state === 'failed') continue;
        if (each.locked || each.kind === 'previous' || each.state !== 'ready') return false;
      }
      if (newest.slice(0, Math.max(1, rules.keepLast)).some((each) => gone.has(each))) return false;
      const withContent = newest.filter(({ treeBytes }) => treeBytes > 0);
      const newestWhole = withContent.find(({ note }) => note === '');
      if ([withContent[0], newestWhole].some((each) => each && gone.has(each))) return false;
      const kept = ready.filter((each) => !gone.has(each) && !each.locked);
      const most = Math.max(1, rules.keepLast) + 2 + rules.hourly + rules.daily + rules.weekly + rules.monthly;
      return Object.values(rules).every((value) => value === 0) || kept.length <= most;
    }),
  );
  t.pass();
});

test('retention keeps the newest backup of each hour, day, week and month', (t) => {
  const hourly = Array.from({ length: 24 * 40 }, (_, n) => good(String(n), NOW - n * HOUR));
  const none = { keepLast: 0, hourly: 0, daily: 0, weekly: 0, monthly: 0 };
  const kept = (rules: object) => {
    const gone = new Set(expired(hourly, { ...none, ...rules }, NOW).map(({ id }) => id));
    return hourly
      .filter(({ id }) => !gone.has(id))
      .map(({ createdAt }) => new Date(createdAt).toISOString().slice(0, 13));
  };
  t.deepEqual(kept({ keepLast: 2 }), ['2026-11-20T12', '2026-11-20T11']);
  t.deepEqual(kept({ daily: 3 }), ['2026-11-20T12', '2026-11-19T23', '2026-11-18T23']);
  // 2026-11-20 is a Friday.
  t.deepEqual(kept({ weekly: 3 }), ['2026-11-20T12', '2026-11-15T23', '2026-11-08T23']);
  t.deepEqual(kept({ monthly: 2 }), ['2026-11-20T12', '2026-10-31T23']);
  t.is(kept({}).length, hourly.length, 'without rules, every backup is kept');
  t.true(kept(DEFAULT_RETENTION).length <= 24);
  t.deepEqual(expired([good('only', 0)], { ...none, hourly: 1 }, NOW), []);
  const unsure = [3, 2, 1].map((n) => good(String(n), NOW - n * HOUR, false, 'not confirmed'));
  t.deepEqual(expired([...unsure, good('whole', 0), good('older', -1)], { ...none, keepLast: 1 }, NOW), [
    unsure[1],
    unsure[0],
    good('older', -1),
  ]);
});

test('retention keeps the newest backup with content behind ten newer empty ones', (t) => {
  const empty = Array.from({ length: 10 }, (_, n) => good(`empty ${n}`, NOW - n, false, '', 0));
  const older = [good('newest', NOW - HOUR), good('oldest', NOW - 2 * HOUR)];
  const rules = { keepLast: 10, hourly: 0, daily: 0, weekly: 0, monthly: 0 };
  t.deepEqual(
    expired([...empty, ...older], rules, NOW).map(({ id }) => id),
    ['oldest'],
  );
});

test.runIf(isThorough)(
  'a tree deeper than the path limit is removed whole, and the targets of its links stay',
  async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'dormouse-deep-'));
    t.teardown(() => rm(dir, { recursive: true, force: true }));
    await writeFile(join(dir, 'kept'), 'kept');
    await mkdir(join(dir, 'deep'));
    await symlink('../kept', join(dir, 'deep/link'));
    await dug(join(dir, 'deep'), 'a'.repeat(20), 300);
    await removeTree(join(dir, 'deep'));
    await removeTree(join(dir, 'deep'));
    t.deepEqual(await readdir(dir), ['kept']);
  },
);

test('a file system is synced by a path on it, and a missing path returns false', async (t) => {
  t.true(await syncFileSystem(tmpdir()));
  t.false(await syncFileSystem('/nowhere/at/all'));
});
