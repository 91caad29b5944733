import { once } from 'node:events';
import { open, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { type FreeDisk } from '../../src/disk/free.ts';
import type { Disk } from '../../src/jail/space.ts';
import { Routing } from '../../src/joining/routing.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { tinyDisk } from '../support/tiny-disk.ts';
import { plant, treeOf } from '../support/tree.ts';
import { WORLD, archiveOf, backUp, backupsOf, find, leaving, restore, rootOf, running, sleeping } from './parts.ts';

const damaged = test.macro<[(path: string) => Promise<void>, string]>({
  async exec(t, damage, reason) {
    const it = await running(t);
    const backup = await backUp(it, 'lobby');
    await damage(archiveOf(it, 'lobby', backup.id));
    await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played on' });
    const before = await treeOf(rootOf(it, 'lobby'));
    const answer = await it.during(restore(it, backup.id));
    t.deepEqual([answer.status, answer.reason], [400, reason], answer.text);
    t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
    t.deepEqual(await readdir(join(it.dataDir, 'servers')), ['lobby']);
    await it.reach('lobby', 'running');
    t.is((await it.call('POST', `/v1/servers/lobby/backups/${backup.id}:delete`)).status, 200);
  },
  title: (what) => `${what}: the restore changes nothing, the server runs again, and the answer names the reason`,
});

test('a missing archive file', damaged, (path) => rm(path), 'BACKUP_FILE_MISSING');

test('a truncated archive file', damaged, (path) => truncate(path, 300), 'BACKUP_FILE_MISSING');

test('a flipped bit in the archive', damaged, flipBit, 'BACKUP_CORRUPT');

test(
  'an archive with different content of the same length',
  damaged,
  async (path) => {
    await writeFile(path, Buffer.alloc((await readFile(path)).length));
  },
  'BACKUP_CORRUPT',
);

async function flipBit(path: string): Promise<void> {
  await using file = await open(path, 'r+');
  const { size } = await file.stat();
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, Math.floor(size * 0.8));
  byte[0]! ^= 1;
  await file.write(byte, 0, 1, Math.floor(size * 0.8));
}

test('a restore that runs out of disk space leaves the server unchanged', async (t) => {
  const it = await api(t, { world: { room: { free: leaving(0) } } });
  if (!(await tinyDisk(t, join(it.dataDir, 'servers')))) return;
  await it.create('lobby');
  // Each small file takes a whole page of the disk, so the sum of their sizes underestimates the space they need.
  const small = Array.from({ length: 600 }, (_, n) => [`small/${n}`, String(n)]);
  await plant(rootOf(it, 'lobby'), { ...WORLD, ...Object.fromEntries(small) });
  const backup = await backUp(it, 'lobby');
  const before = await treeOf(rootOf(it, 'lobby'));
  const answer = await restore(it, backup.id);
  t.deepEqual([answer.status, answer.reason], [429, 'DISK_FULL'], answer.text);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
  t.deepEqual(await readdir(join(it.dataDir, 'servers')), ['lobby']);
});

test('a restore is refused if it would leave games too little disk space to save', async (t) => {
  let least = 0;
  const free: FreeDisk = { hold: (path, bytes) => leaving(least).hold(path, bytes) };
  const it = await sleeping(t, { world: { room: { free } } });
  const backup = await backUp(it, 'lobby');
  least = Number.MAX_SAFE_INTEGER;
  const before = await treeOf(rootOf(it, 'lobby'));
  const answer = await restore(it, backup.id);
  t.deepEqual([answer.status, answer.reason], [429, 'DISK_FULL'], answer.text);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
  t.deepEqual(await readdir(join(it.dataDir, 'servers')), ['lobby']);
});

test('a restore that would exceed the disk quota is refused and changes no files', async (t) => {
  let free = 0;
  const disk: Disk = {
    async reserve(_, bytes) {
      if (bytes > free) throw new StatusError('RESOURCE_EXHAUSTED', 'DISK_QUOTA_EXCEEDED', 'Free disk space.');
      return { grow: async () => {}, settle: (added) => void (free -= added) };
    },
    room: async () => undefined,
    freed() {},
  };
  const it = await sleeping(t, { world: { room: { quota: disk } } });
  const backup = await backUp(it, 'lobby');
  await rm(join(rootOf(it, 'lobby'), 'world/region'), { recursive: true });
  const before = await treeOf(rootOf(it, 'lobby'));
  t.is((await restore(it, backup.id)).reason, 'DISK_QUOTA_EXCEEDED');
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
  free = 400_000;
  t.is((await restore(it, backup.id)).status, 200);
  t.is(free, 100_000);
});

test('an upload overtaken by a restore is refused, and sessions are released before and after the swap', async (t) => {
  const released: boolean[] = [];
  const isIn = async (path: string) => (await readdir(rootOf(it, 'lobby'))).includes(path);
  const it: ApiUnderTest = await sleeping(t, {
    world: { room: { release: async () => void released.push(await isIn('since')) } },
  });
  const backup = await backUp(it, 'lobby');
  await plant(rootOf(it, 'lobby'), { since: 'the backup' });
  const temps = join(rootOf(it, 'lobby'), '.dormouse-tmp');
  const url = `${it.origin}/v1/servers/lobby/file:upload?path=late.txt`;
  const upload = request(url, { method: 'POST', headers: { 'x-api-key': it.key } });
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.write('a beginning');
  await it.until(async () => (await readdir(temps).catch(() => [])).length > 0);
  t.is((await restore(it, backup.id)).status, 200);
  upload.end(', and an end');
  const [answer] = await answered;
  t.is(answer.statusCode, 409);
  t.regex(String(await answer.toArray()), /FILES_REPLACED/);
  t.false(await isIn('late.txt'));
  t.deepEqual(released, [true, false], 'sessions are released before and after the swap');
  t.is((await restore(it, 'previous')).status, 200);
  t.deepEqual(released.slice(2), [false, true]);
});

test('`previous` undoes a restore after a failed boot, and is removed after a successful one', async (t) => {
  const it = await sleeping(t);
  const backup = await backUp(it, 'lobby');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played on' });
  const played = await treeOf(rootOf(it, 'lobby'));
  t.is((await restore(it, backup.id)).status, 200);
  t.is((await it.call('POST', '/v1/servers/lobby/backups/previous:setLocked')).reason, 'BACKUP_NO_ARCHIVE');
  t.is((await it.call('GET', '/v1/servers/lobby/backups/previous:download')).reason, 'BACKUP_NO_ARCHIVE');
  it.engine.script('lobby', { exitCode: 1 });
  await it.command('lobby', 'START');
  await it.reach('lobby', 'start_failed');
  t.is((await find(it, 'lobby', 'previous'))?.state, 'ready');
  t.is((await restore(it, backup.id)).status, 200, 'a second restore keeps the first `previous`');
  t.is((await it.call('GET', '/v1/servers/lobby')).json['startErrorCode'], '');
  t.is((await restore(it, 'previous')).status, 200);
  const back = await treeOf(rootOf(it, 'lobby'));
  t.deepEqual(back, played);
  t.is(await find(it, 'lobby', 'previous'), undefined);
  t.is((await restore(it, 'previous')).reason, 'BACKUP_NOT_FOUND');

  t.is((await restore(it, backup.id)).status, 200);
  it.engine.script('lobby', {});
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  await it.until(async () => (await find(it, 'lobby', 'previous')) === undefined);
  await it.until(async () => (await readdir(join(it.dataDir, 'servers'))).length === 1);
});

test('a restore of a running server can be undone after its start, and changes since then are backed up', async (t) => {
  const it = await running(t);
  const backup = await backUp(it, 'lobby');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played on' });
  const world = () => readFile(join(rootOf(it, 'lobby'), 'world/level.dat'), 'utf8');
  t.is((await it.during(restore(it, backup.id))).status, 200);
  t.is(await world(), WORLD['world/level.dat']);
  await it.reach('lobby', 'running');
  await it.clock.advance(60_000);
  t.is((await find(it, 'lobby', 'previous'))?.state, 'ready');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played since' });

  t.is((await it.during(restore(it, 'previous'))).status, 200);
  t.is(await world(), 'played on');
  await it.reach('lobby', 'running');
  const kept = (await backupsOf(it, 'lobby')).find(({ kind }) => kind === 'restore');
  t.is((await it.during(restore(it, kept?.id ?? ''))).status, 200);
  t.is(await world(), 'played since');
  await it.reach('lobby', 'running');
  t.is((await find(it, 'lobby', 'previous'))?.state, 'ready');
  // A restart of the service does not count as a start of the server.
  await it.services.backups.close();
  const backups = await it.room().open(it.servers, it.serverEvents);
  t.teardown(() => backups.close());
  t.truthy((await backups.list('lobby')).find(({ id }) => id === 'previous'));

  await it.command('lobby', 'RESTART');
  await it.until(() => it.engine.boots.length === 5);
  await it.reach('lobby', 'running');
  await it.until(async () => !(await backups.list('lobby')).some(({ id }) => id === 'previous'));
  await it.until(async () => (await readdir(join(it.dataDir, 'servers'))).length === 1);
});

test('a second restore backs up the changes since the first, and creates no backup without changes', async (t) => {
  const it = await sleeping(t);
  const backup = await backUp(it, 'lobby');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played on' });
  const played = await treeOf(rootOf(it, 'lobby'));
  const kinds = async () => (await backupsOf(it, 'lobby')).map(({ kind }) => kind).sort();
  t.is((await restore(it, backup.id)).status, 200);
  t.is((await restore(it, backup.id)).status, 200);
  t.deepEqual(await kinds(), ['manual', 'previous'], 'a restore without changes creates no backup');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'mended' });
  const mended = await treeOf(rootOf(it, 'lobby'));
  t.is((await restore(it, backup.id)).status, 200);
  t.deepEqual(await kinds(), ['manual', 'previous', 'restore']);
  const kept = (await backupsOf(it, 'lobby')).find(({ kind }) => kind === 'restore');
  t.is((await restore(it, kept?.id ?? '')).status, 200);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), mended);
  t.deepEqual(await kinds(), ['manual', 'previous', 'restore'], 'restored files are already in a backup');
  t.is((await restore(it, 'previous')).status, 200);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), played);
});

test('a stale `previous` is replaced by the next restore or removed by the next start of the service', async (t) => {
  const it = await sleeping(t);
  const backup = await backUp(it, 'lobby');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played on' });
  t.is((await restore(it, backup.id)).status, 200);
  // The service dies before it can remove the folder after the first start.
  await it.services.backups.close();
  await it.clock.advance(1_000);
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played since' });
  await it.command('lobby', 'STOP');
  await it.reach('lobby', 'hibernated');
  t.is((await find(it, 'lobby', 'previous'))?.state, 'ready');
  t.is((await restore(it, backup.id)).status, 200);
  t.is(await readFile(join(`${rootOf(it, 'lobby')}.previous`, 'world/level.dat'), 'utf8'), 'played since');
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  await it.killAndRestart();
  const backups = await it.room().open(it.servers, it.serverEvents);
  t.teardown(() => backups.close());
  t.deepEqual(
    (await backups.list('lobby')).map(({ id }) => id),
    [backup.id],
  );
});

test('a player who joins during a restore waits for its end, and a second restore is refused', async (t) => {
  let arrived = false;
  const latch = Promise.withResolvers<void>();
  const at = async (step: string) => {
    if (step !== 'extracted') return;
    arrived = true;
    await latch.promise;
  };
  const it = await sleeping(t, { world: { room: { at } } });
  const backup = await backUp(it, 'lobby');
  const restoring = restore(it, backup.id);
  await it.until(() => arrived);
  t.is((await it.call('GET', '/v1/servers/lobby')).json['state'], 'hibernated');
  const machine = await it.ok('GET', '/v1/servers/lobby/machine');
  t.like(machine, { state: 'maintaining', job: { kind: 'backup.restore', target: backup.id } });
  t.is(typeof machine['since'], 'string');
  const [listed] = (await it.services.machines.list({ state: 'maintaining', limit: 10 })).machines;
  t.like(listed, { id: 'lobby', state: 'maintaining', passing: true, path: 'maintaining.working' });
  t.deepEqual(listed?.waitsFor, [{ name: 'maintain', what: 'a backup to be restored', until: null }]);
  t.is((await restore(it, backup.id)).reason, 'OPERATION_IN_PROGRESS');
  t.is((await it.call('POST', `/v1/servers/lobby/backups/${backup.id}:delete`)).reason, 'OPERATION_IN_PROGRESS');
  t.is((await it.call('POST', '/v1/servers/lobby:start')).status, 200);
  const routing = new Routing({
    ...it,
    log: it.services.log,
    publicHost: 'play.example',
    sleepers: [],
    joinPolicy: OPEN_POLICY,
  });
  t.teardown(() => routing.close());
  const steve = { uuid: null, name: 'Steve', ip: '127.0.0.1', protocol: 765 };
  const joined = routing.wake('lobby', steve, new AbortController().signal);
  t.deepEqual(it.engine.boots, []);
  latch.resolve();
  t.is((await restoring).status, 200);
  t.truthy(await it.during(joined));
  await it.reach('lobby', 'running');
  t.deepEqual(it.engine.boots, ['lobby']);
});

test('a property that the owner sets during a restore is kept', async (t) => {
  const it = await sleeping(t, {
    world: {
      room: {
        at: async (step) => {
          if (step !== 'extracted') return;
          await it.ok('POST', '/v1/servers/lobby:setProperties', { properties: { difficulty: 'hard' } });
        },
      },
    },
  });
  const backup = await backUp(it, 'lobby');
  t.is((await restore(it, backup.id)).status, 200);
  t.deepEqual((await it.servers.get('lobby'))?.row.properties, { difficulty: 'hard' });
});

test('a restore brings back the core, version, mod pack and active world of the server', async (t) => {
  const it = await sleeping(t);
  await plant(rootOf(it, 'lobby'), { 'second/level.dat': 'x' });
  await it.servers.patch('lobby', { type: 'fabric', version: '1.20.1', modpackRef: 'pack', modpackVersion: '1.0' });
  const backup = await backUp(it, 'lobby');
  await it.servers.patch('lobby', { type: 'paper', version: '1.21.4', modpackRef: 'pack', modpackVersion: '2.0' });
  await it.ok('POST', '/v1/servers/lobby/worlds:setActive', { name: 'second' });
  t.is((await restore(it, backup.id)).status, 200);
  const server = await it.ok('GET', '/v1/servers/lobby');
  t.like(server, { type: 'fabric', version: '1.20.1', modpackRef: 'pack', modpackVersion: '1.0' });
  const { worlds } = await it.ok('GET', '/v1/servers/lobby/worlds');
  t.deepEqual((worlds as { name: string; active: boolean }[]).find(({ active }) => active)?.name, 'world');
  t.is((await find(it, 'lobby', 'previous'))?.version, '1.21.4');
  t.is((await restore(it, 'previous')).status, 200);
  t.like(await it.ok('GET', '/v1/servers/lobby'), { type: 'paper', modpackVersion: '2.0' });
});
