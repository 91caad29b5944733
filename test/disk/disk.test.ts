import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, readdirSync, readlinkSync } from 'node:fs';
import { link, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { createFreeDisk, withinFree } from '../../src/disk/free.ts';
import { type QuotaTier, openDiskQuota } from '../../src/disk/quota.ts';
import { DiskUsage } from '../../src/disk/usage.ts';
import { measureTree } from '../../src/disk/walk.ts';
import { BEAT_MS, watchDisks } from '../../src/disk/watch.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { Files } from '../../src/files/files.ts';
import { createOpenFiles } from '../../src/jail/open-files.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { insertServer } from '../../src/servers/rows.ts';
import { fakeClock } from '../fakes/clock.ts';
import { fakeDisk } from '../fakes/disk.ts';
import { NO_JOBS } from '../support/no-jobs.ts';
import { runs } from '../support/property.ts';
import { chance } from '../support/random.ts';
import { freshStore, serverRow } from '../support/store.ts';

const MIB = 1_048_576;

async function folder(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'disk-'));
  // Node's own `rm` fails on the deepest folder of these tests.
  t.teardown(() => void execFileSync('rm', ['-rf', dir]));
  return dir;
}

/** One server, `abc`, with files on disk. */
async function disks(
  t: ExecutionContext,
  { tiers = [{ ramMb: Infinity, quotaMb: 10 }] }: { tiers?: QuotaTier[] } = {},
) {
  const dataDir = await folder(t);
  const store = await freshStore(t);
  await store.write((tx) => insertServer(tx, serverRow('abc', { ramMb: 1_024 })));
  const root = join(dataDir, 'servers', 'abc');
  const clock = fakeClock();
  const log = createLog({ level: 'silent' });
  const find = async (id: string) => (id === 'abc' ? ABC : undefined);
  const openFiles = createOpenFiles();
  const again = async () => {
    const usage = await DiskUsage.open({ store, clock, log, dataDir }, openFiles);
    t.teardown(() => usage.close());
    return { usage, quota: await openDiskQuota(store, clock, usage, tiers, find) };
  };
  return { store, clock, root, dataDir, openFiles, again, ...(await again()) };
}

const ABC = { id: 'abc', accountId: 'acc_test', ramMb: 1_024 };

const NO_ROOM = ['RESOURCE_EXHAUSTED', 'DISK_QUOTA_EXCEEDED'];

async function refused(t: ExecutionContext, work: Promise<unknown>, as = NO_ROOM): Promise<void> {
  const error = await t.throwsAsync(work, { instanceOf: StatusError });
  t.deepEqual([error.code, error.reason], as);
}

/** Returns the path of an open descriptor of this process, or '' if it has been closed. */
function openAt(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

async function fill(root: string, name: string, bytes: number): Promise<void> {
  await mkdir(root, { recursive: true });
  await writeFile(join(root, name), Buffer.alloc(bytes, 1));
}

test('a folder is measured like du: hard links count once, and symlinks are not followed', async (t) => {
  const dir = await folder(t);
  const outside = await folder(t);
  await fill(outside, 'secret', 5 * MIB);
  await fill(join(dir, 'world', 'region'), 'r.0.0.mca', 3 * MIB + 1);
  await fill(join(dir, 'a'), 'small', 1);
  await link(join(dir, 'world/region/r.0.0.mca'), join(dir, 'again'));
  await symlink(outside, join(dir, 'out'));
  await symlink('.', join(dir, 'loop'));
  // A file name may contain any byte except / and NUL.
  await writeFile(Buffer.concat([Buffer.from(`${dir}/`), Buffer.from([0xff, 0xfe, 0x0a])]), Buffer.alloc(MIB, 1));
  const size = await measureTree(dir, AbortSignal.timeout(120_000));
  const du = Number(execFileSync('du', ['-s', '--block-size=1', dir], { encoding: 'utf8' }).split('\t')[0]);
  t.is(size.realBytes, du);
  t.is(size.logicalBytes, 4 * MIB + 2);
  t.deepEqual([size.entries, size.unread], [9, 0]);
  const nothing = await measureTree(join(dir, 'none'), AbortSignal.timeout(120_000));
  t.deepEqual(nothing, { realBytes: 0, logicalBytes: 0, entries: 0, unread: 0 });
});

test('a sparse file counts with its full length against the quota, although it uses little disk space', async (t) => {
  const { root, usage, quota } = await disks(t);
  await fill(root, 'sparse', 0);
  await truncate(join(root, 'sparse'), 800 * 1_024 * MIB);
  await fill(root, 'real', MIB);
  const { realBytes, logicalBytes, bytes } = await usage.measure('abc');
  t.is(logicalBytes, 800 * 1_024 * MIB + MIB);
  t.true(realBytes >= MIB && realBytes < 2 * MIB, `${realBytes}`);
  t.is(bytes, logicalBytes);
  t.true(quota.view(ABC).quotaExceeded);
  await refused(
    t,
    quota.check(ABC).then((check) => check()),
    ['FAILED_PRECONDITION', 'QUOTA_EXCEEDED'],
  );
});

test('files deeper than the maximum path length are measured too', async (t) => {
  const dir = await folder(t);
  // Descend one level at a time, like a game can. The empty environment keeps Node's compile cache out of the folder.
  const program = `for (let i = 0; i < 30; i++) { fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)); }
    fs.writeFileSync('deep', Buffer.alloc(2 * ${MIB}, 1));`;
  execFileSync(process.execPath, ['-e', program], { cwd: dir, env: {} });
  const { logicalBytes, entries, unread } = await measureTree(dir, AbortSignal.timeout(120_000));
  t.deepEqual({ logicalBytes, entries, unread }, { logicalBytes: 2 * MIB, entries: 31, unread: 0 });
});

test('a deep branching folder is measured with few open descriptors', async (t) => {
  const dir = await folder(t);
  const depth = 150;
  let here = dir;
  for (let level = 0; level < depth; level++) {
    for (const name of ['a', 'b']) await mkdir(join(here, name));
    await writeFile(join(here, 'a', 'file'), 'x');
    await writeFile(join(here, 'b', 'file'), 'x');
    here = join(here, level % 2 === 0 ? 'a' : 'b');
  }
  let most = 0;
  const turn = async () => {
    most = Math.max(most, readdirSync('/proc/self/fd').filter((fd) => openAt(fd).startsWith(dir)).length);
    return () => {};
  };
  const { logicalBytes, entries, unread } = await measureTree(dir, AbortSignal.timeout(120_000), turn);
  t.deepEqual({ logicalBytes, entries, unread }, { logicalBytes: 2 * depth, entries: 4 * depth, unread: 0 });
  t.true(most <= 40, `${most} descriptors were open`);
  t.deepEqual(
    readdirSync('/proc/self/fd').filter((fd) => openAt(fd).startsWith(dir)),
    [],
  );
});

test('a directory swapped for a symlink during a measurement adds no files from outside', async (t) => {
  const dir = await folder(t);
  const outside = await folder(t);
  await fill(join(dir, 'dir', 'sub'), 'own', 1);
  for (let n = 0; n < 50; n++) await fill(join(outside, 'sub'), `${n}`, 5_000);
  // These directories lengthen the time between listing the directory and walking it.
  for (let n = 0; n < 200; n++) await mkdir(join(dir, `other-${n}`));
  const ended = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { directory: join(dir, 'dir'), outside, ended };
  const worker = new Worker(new URL('../jail/swapper.ts', import.meta.url), { workerData });
  const over = once(worker, 'exit');
  t.teardown(() => worker.terminate());
  await once(worker, 'online');
  const found = new Set<number>();
  for (let round = 0; round < runs(60); round++) {
    found.add((await measureTree(dir, AbortSignal.timeout(120_000))).logicalBytes);
  }
  Atomics.store(ended, 0, 1);
  await over;
  // The directory was missing, in place, or seen under both of its names.
  t.true(
    [...found].every((bytes) => bytes <= 2),
    [...found].join(),
  );
});

test('closing the disk usage during a repeated measurement raises no error', async (t) => {
  const dataDir = await folder(t);
  const store = await freshStore(t);
  const log = createLog({ level: 'silent' });
  const looks = Promise.withResolvers<void>();
  const deleted = Promise.withResolvers<number>();
  const openFiles = { ...createOpenFiles(), deletedBytes: () => (looks.resolve(), deleted.promise) };
  await fill(join(dataDir, 'servers', 'abc'), 'one', 1);
  const usage = await DiskUsage.open({ store, clock: fakeClock(), log, dataDir }, openFiles);
  const measured = usage.measure('abc');
  await looks.promise;
  // An upload ends during the measurement, which queues another one. Then the service closes. An unhandled rejection would fail
  // this file.
  usage.add('abc', 4_096);
  const closed = usage.close();
  deleted.resolve(0);
  await t.notThrowsAsync(measured);
  await t.notThrowsAsync(closed);
});

test('one tenant’s huge folders do not delay another tenant’s measurements', async (t) => {
  const dataDir = await folder(t);
  const store = await freshStore(t);
  const log = createLog({ level: 'silent' });
  const tenantOf = async (id: string) => id.split('-')[0]!;
  const usage = await DiskUsage.open({ store, clock: fakeClock(), log, dataDir }, undefined, tenantOf);
  t.teardown(() => usage.close());
  for (let huge = 0; huge < 4; huge++) {
    const root = join(dataDir, 'servers', `huge-${huge}`);
    await fill(root, 'one', 1);
    for (let n = 0; n < 8_000; n++) linkSync(join(root, 'one'), join(root, `${n}`));
  }
  await fill(join(dataDir, 'servers', 'small-0'), 'one', 1);
  const done: string[] = [];
  const measure = (id: string) => usage.measure(id).then(() => void done.push(id));
  const all = Array.from({ length: 4 }, (_, n) => measure(`huge-${n}`));
  await Promise.all([...all, measure('small-0')]);
  t.is(done[0], 'small-0', done.join());
  t.is(done.length, 5);
});

test('a folder walk lets other work run meanwhile, and stops when it is aborted', async (t) => {
  const dir = await folder(t);
  await mkdir(join(dir, 'many'));
  await Promise.all(Array.from({ length: 3_000 }, (_, nth) => writeFile(join(dir, 'many', `${nth}`), '')));
  let turns = 0;
  let counting = true;
  const count = () => void (counting && (turns++, setImmediate(count)));
  count();
  const { entries } = await measureTree(dir, AbortSignal.timeout(120_000));
  counting = false;
  t.is(entries, 3_001);
  t.true(turns > 100, `${turns} turns of the event loop`);
  const abort = new AbortController();
  const walk = measureTree(dir, abort.signal);
  abort.abort(new Error('enough'));
  await t.throwsAsync(walk, { message: 'enough' });
});

test('callers share a queued measurement, and a call during a running one gets the next', async (t) => {
  const { root, usage, store, again } = await disks(t);
  await fill(root, 'one', MIB);
  const seen: (number | undefined)[] = [];
  usage.observe((_id, before) => seen.push(before?.logicalBytes));
  const first = usage.measure('abc');
  const [a, b] = [usage.measure('abc'), usage.measure('abc')];
  t.is(a, b);
  t.false(usage.isFresh('abc'));
  t.is((await first).logicalBytes, MIB);
  await a;
  t.deepEqual(seen, [undefined, MIB]);
  t.true(usage.isFresh('abc'));
  // The next process knows the size, and that it is outdated.
  await store.write(async () => {});
  const next = (await again()).usage;
  t.is(next.of('abc')?.logicalBytes, MIB);
  t.false(next.isFresh('abc'));
  const walking = next.measure('abc');
  next.forget('abc');
  await t.throwsAsync(walking, { instanceOf: StatusError, message: 'There is no such server.' });
  t.is(next.of('abc'), undefined);
});

test('unmeasured disk usage is shown as unknown, and is measured before a write is granted', async (t) => {
  const { root, quota, usage } = await disks(t);
  await fill(root, 'world', 9 * MIB);
  t.like(quota.view(ABC), { diskUsageMb: 0, diskUsageKnown: false, diskQuotaEffectiveMb: 10, quotaExceeded: false });
  t.is(quota.overBytes(ABC), -Infinity);
  await refused(t, quota.reserve('abc', 2 * MIB));
  t.true(quota.view(ABC).diskUsageKnown);
  usage.forget('abc');
  await fill(root, 'more', 2 * MIB);
  const check = await quota.check(ABC);
  t.throws(check, { instanceOf: StatusError });
  t.like(quota.view(ABC), { diskUsageMb: 12, quotaExceeded: true });
});

test('writes are checked against the quota in advance, together with those in progress', async (t) => {
  const { root, clock, quota } = await disks(t);
  await fill(root, 'world', 4 * MIB - 8_192);
  const results = await Promise.allSettled(Array.from({ length: 50 }, () => quota.reserve('abc', 2 * MIB)));
  const granted = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  t.is(granted.length, 3);
  const [one, two, three] = granted;
  await refused(t, one!.grow(1 * MIB));
  t.deepEqual(await quota.room('abc'), { totalBytes: 10 * MIB, freeBytes: 4_096 });
  // Settling a reservation counts the written bytes and releases the rest. A second call has no effect.
  two!.settle(0);
  two!.settle(0);
  await one!.grow(MIB);
  await fill(root, 'upload', 3 * MIB);
  one!.settle(3 * MIB);
  three!.settle(0);
  t.is(quota.view(ABC).diskUsageMb, 7);
  await t.throwsAsync(one!.grow(1));
  await refused(t, quota.reserve('abc', 4 * MIB));
  // A file is deleted without the service. A reservation that does not fit measures again.
  await rm(join(root, 'world'));
  await clock.advance(10_000);
  const last = await quota.reserve('abc', 6 * MIB);
  last.settle(0);
  const missing = await t.throwsAsync(quota.reserve('xyz', 1), { instanceOf: StatusError });
  t.is(missing.reason, 'SERVER_NOT_FOUND');
});

test('empty files count against the quota too', async (t) => {
  const { root, quota } = await disks(t);
  await Promise.all(Array.from({ length: 3_000 }, (_, index) => fill(root, `empty-${index}`, 0)));
  await refused(t, quota.reserve('abc', 1));
  t.is(quota.view(ABC).diskUsageMb, 12);
});

test('a file deleted while open frees its quota only when the last handle is closed', async (t) => {
  const { root, quota, dataDir, openFiles } = await disks(t);
  await fill(root, 'big', 6 * MIB);
  const files = new Files({ dataDir, owner: undefined, disk: quota, lock: NO_JOBS }, createWorkerPool(), openFiles);
  await using jail = await files.jail('abc');
  await using one = await jail.open('big');
  const two = await jail.open('big', { write: true });
  await files.remove('abc', 'big');
  await refused(t, quota.reserve('abc', 6 * MIB));
  await two.close();
  await refused(t, quota.reserve('abc', 6 * MIB));
  t.is(quota.view(ABC).diskUsageMb, 7);
  await one.close();
  (await quota.reserve('abc', 6 * MIB)).settle(0);
  t.is(quota.view(ABC).diskUsageMb, 1);
});

test('a write right after a deletion waits for the new measurement', async (t) => {
  const { root, quota } = await disks(t);
  await fill(root, 'world', 9 * MIB);
  await refused(t, quota.reserve('abc', 2 * MIB));
  await rm(join(root, 'world'));
  quota.freed('abc');
  (await quota.reserve('abc', 2 * MIB)).settle(0);
  t.pass();
});

test('the effective quota is the operator’s, else the one by RAM, else none, and survives a restart', async (t) => {
  const tiers = [
    { ramMb: 1_024, quotaMb: 10 },
    { ramMb: 4_096, quotaMb: 40 },
  ];
  const { quota, again } = await disks(t, { tiers });
  const effective = (ramMb: number) => quota.view({ ...ABC, ramMb }).diskQuotaEffectiveMb;
  t.deepEqual([512, 1_024, 1_025, 9_999].map(effective), [10, 10, 40, 40]);
  await quota.setOverride('abc', 7, async () => {});
  t.like(quota.view(ABC), { diskQuotaOverrideMb: 7, diskQuotaEffectiveMb: 7 });
  t.like((await again()).quota.view(ABC), { diskQuotaOverrideMb: 7, diskUsageKnown: false });
  await quota.setOverride('abc', 0, async () => {});
  t.like(quota.view(ABC), { diskQuotaOverrideMb: 0, diskQuotaEffectiveMb: 10 });
  const { quota: none } = await disks(t, { tiers: [] });
  t.is(none.view(ABC).diskQuotaEffectiveMb, 0);
  (await none.reserve('abc', 1e15)).settle(0);
});

test('a server that writes fast is soon noticed over its quota, and an idle one is rarely measured', async (t) => {
  const clock = fakeClock();
  const [rate, quota] = [200e6, 10e9];
  let written = 0;
  let known = 0;
  let looks = 0;
  const measure = async () => {
    looks++;
    known = written;
    return { bytes: known, realBytes: known, logicalBytes: known, measuredAt: clock.now() };
  };
  const usedBytes = async () => 500e9 + written;
  const watched = () => [{ serverId: 'abc', leftBytes: quota - known }];
  const watch = watchDisks(clock, measure, watched, usedBytes);
  t.teardown(() => watch.close());
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const pass = async (ms: number, bytesPerSecond: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      written += bytesPerSecond / 10;
      await clock.advance(100);
      await settle();
    }
  };
  await pass(120_000, 0);
  t.true(looks >= 2 && looks <= 4, `${looks} measurements of an idle server in two minutes`);
  looks = 0;
  const noticed = () => known > quota;
  for (let seconds = 0; !noticed(); seconds++) {
    t.true(seconds < 120, 'the excess was not noticed');
    await pass(1_000, rate);
  }
  t.true(known - quota <= rate * 1.5 * (BEAT_MS / 1_000), `${(known - quota) / 1e6} MB over when noticed`);
  t.true(looks <= 25, `${looks} measurements before the quota was exceeded`);
  watch.close();
  t.is(clock.pending(), 0);
});

test('the disk watch measures more often near the quota, and notices 6 MB/s within 2 MB of the limit', async (t) => {
  const clock = fakeClock();
  let [written, known, beats] = [0, 0, 0];
  const measure = async () => {
    known = written;
    return { bytes: known, realBytes: known, logicalBytes: known, measuredAt: clock.now() };
  };
  const usedBytes = async () => (beats++, written);
  const watched = () => [{ serverId: 'abc', leftBytes: 60e6 - known }];
  const watch = watchDisks(clock, measure, watched, usedBytes);
  t.teardown(() => watch.close());
  for (; written < 90e6; written += 0.6e6) {
    await clock.advance(100);
    await turn();
    if (known > 60e6) break;
  }
  t.true(known > 60e6 && known < 62e6, `${known / 1e6} MB when noticed`);
  beats = 0;
  // When writing stops, checks become rare again.
  known = 0;
  for (let second = 0; second < 60; second++) {
    await clock.advance(1_000);
    await turn();
  }
  t.true(beats <= 32, `${beats} checks in an idle minute`);
});

test('a reservation beyond the free disk space is refused, and successive grants share one probe', async (t) => {
  const quota = fakeDisk(1_000);
  let [free, looks] = [100, 0];
  const probe = async () => {
    looks += 1;
    return { device: 1, freeBytes: free };
  };
  const disk = withinFree(quota, createFreeDisk(fakeClock(), 0, probe), '/servers');
  const full = { code: 'RESOURCE_EXHAUSTED' as const, reason: 'DISK_FULL' };
  const refused = async (work: Promise<unknown>, { code, reason } = full) =>
    t.like(await t.throwsAsync(work, { instanceOf: StatusError }), { code, reason });
  const reservation = await disk.reserve('a', 60);
  await reservation.grow(30);
  t.is(looks, 1);
  await refused(reservation.grow(101));
  await refused(disk.reserve('a', 101));
  reservation.settle(90);
  t.is(quota.openBytes, 0, 'a refused reservation is released');
  free = 5_000;
  await t.throwsAsync(disk.reserve('a', 2_000), { message: /Free disk space/ });
  (await disk.reserve('a', 0)).settle(0);
});

test('a disk that fills up is noticed even after the clock was set back', async (t) => {
  const clock = fakeClock();
  const disk = { device: 1, freeBytes: 1_000 };
  const free = createFreeDisk(clock, 0, async () => ({ ...disk }));
  (await free.hold('/servers', 100)).release();
  await clock.set(clock.now() - 3_600_000);
  disk.freeBytes = 10;
  await t.throwsAsync(free.hold('/servers', 100), { instanceOf: StatusError });
});

test('concurrent writes never use the disk space that is kept free for games', async (t) => {
  const clock = fakeClock();
  const dice = chance(t);
  // The free bytes by device. Two of the paths are on disk 1, one is on disk 2.
  const left = new Map([
    [1, 100_000],
    [2, 10_000],
  ]);
  const deviceOf = (path: string) => (path === '/mounted' ? 2 : 1);
  const least = 5_000;
  const probe = async (path: string) => {
    const freeBytes = left.get(deviceOf(path))!;
    // Let other writes progress during the probe.
    for (let n = 0; n < dice() * 20; n++) await turn();
    return { device: deviceOf(path), freeBytes };
  };
  const free = createFreeDisk(clock, least, probe);
  let refusals = 0;

  async function write(path: string): Promise<void> {
    const device = deviceOf(path);
    const first = Math.floor(dice() * 4_000);
    const hold = await free.hold(path, first).catch(() => void (refusals += 1));
    if (!hold) return;
    try {
      let [room, done] = [first, 0];
      for (let piece = 0; piece < 20; piece++) {
        const bytes = Math.floor(dice() * 500);
        const more = Math.max(0, done + bytes - room);
        await hold.grow(more);
        room += more;
        for (let n = 0; n < dice() * 30; n++) await turn();
        done += bytes;
        left.set(device, left.get(device)! - bytes);
        t.true(left.get(device)! >= least, `${left.get(device)} bytes are left of disk ${device}`);
        hold.landed(bytes);
        if (dice() < 0.1) await clock.advance(1_500);
      }
    } catch {
      refusals += 1;
    } finally {
      hold.release();
    }
  }

  const paths = ['/servers', '/backups', '/mounted'];
  await Promise.all(Array.from({ length: 60 }, (_, n) => write(paths[n % 3]!)));
  t.true(refusals > 0, 'some writes were refused');
  // No space stays reserved. All remaining space can be used.
  await clock.advance(1_500);
  for (const path of ['/backups', '/mounted']) {
    (await free.hold(path, left.get(deviceOf(path))! - least)).release();
    await t.throwsAsync(free.hold(path, left.get(deviceOf(path))! - least + 1), { instanceOf: StatusError });
  }
});
