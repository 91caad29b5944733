import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type FreeDisk, createFreeDisk } from '../../src/disk/free.ts';
import type { Disk } from '../../src/jail/space.ts';
import { createRouting } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { tinyDisk } from '../support/tiny-disk.ts';
import { plant, treeOf } from '../support/tree.ts';

interface Shown {
  id: string;
  serverId: string;
  state: string;
  kind: string;
  error: string;
  sizeBytes: string;
  locked: boolean;
  version: string;
}

const WORLD = { 'world/level.dat': 'level', 'world/region/r.0.0.mca': Buffer.alloc(300_000, 7), 'ops.json': '[]' };

const rootOf = (it: ApiUnderTest, id: string) => join(it.dataDir, 'servers', id);
const archiveOf = (it: ApiUnderTest, id: string, backup: string) =>
  join(it.dataDir, 'backups', id, `${backup}.tar.zst`);
const filesOf = (it: ApiUnderTest, id: string) => readdir(join(it.dataDir, 'backups', id)).catch(() => []);

async function backupsOf({ ok }: ApiUnderTest, id: string): Promise<Shown[]> {
  return (await ok('GET', `/v1/servers/${id}/backups`))['backups'] as Shown[];
}

async function find(it: ApiUnderTest, id: string, backup: string): Promise<Shown | undefined> {
  return (await backupsOf(it, id)).find((each) => each.id === backup);
}

/** Waits until a backup is what it will be. */
async function ended(it: ApiUnderTest, id: string, backup: string): Promise<Shown> {
  await it.until(async () => ['ready', 'failed'].includes((await find(it, id, backup))?.state ?? ''));
  return (await find(it, id, backup))!;
}

async function backUp(it: ApiUnderTest, id: string): Promise<Shown> {
  const made = await ended(it, id, (await it.ok('POST', `/v1/servers/${id}/backups`))['id'] as string);
  if (made.state !== 'ready') throw new Error(made.error);
  return made;
}

async function sleeping(t: ExecutionContext, options: Parameters<typeof api>[1] = {}): Promise<ApiUnderTest> {
  const it = await api(t, options);
  await it.create('lobby');
  await plant(rootOf(it, 'lobby'), WORLD);
  return it;
}

async function running(t: ExecutionContext, options: Parameters<typeof api>[1] = {}): Promise<ApiUnderTest> {
  const it = await sleeping(t, options);
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  it.games.commands.length = 0;
  return it;
}

/** From now on games do not answer a command before the returned function lets them. */
function hold(it: ApiUnderTest, command: string): { asked: () => boolean; go: () => void } {
  const answer = it.games.run.bind(it.games);
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = false;
  it.games.run = async (address, password, given) => {
    if (given === command) {
      asked = true;
      await promise;
    }
    return answer(address, password, given);
  };
  return { asked: () => asked, go: resolve };
}

const leaving = (leastFreeBytes: number) => createFreeDisk({ clock: systemClock, leastFreeBytes });
const restore = (it: ApiUnderTest, backup: string) => it.call('POST', `/v1/servers/lobby/backups/${backup}:restore`);

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
  title: (what) => `R-01 ${what}: everything is as it was, the server runs again, and the answer says why`,
});
test('a file that is gone', damaged, (path) => rm(path), 'BACKUP_FILE_MISSING');
test('a file that ends early', damaged, (path) => truncate(path, 300), 'BACKUP_FILE_MISSING');
test('one bit', damaged, flipBit, 'BACKUP_CORRUPT');
test(
  'another content of the same length',
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

test('R-01 a disk that is full at 80 % of a restore: everything is as it was', async (t) => {
  const it = await api(t, { world: { room: { free: leaving(0) } } });
  if (!(await tinyDisk(t, join(it.dataDir, 'servers')))) return;
  await it.create('lobby');
  // Each takes a page of the disk, so that there seems to be room for all of them twice.
  const small = Array.from({ length: 600 }, (_, n) => [`small/${n}`, String(n)]);
  await plant(rootOf(it, 'lobby'), { ...WORLD, ...Object.fromEntries(small) });
  const backup = await backUp(it, 'lobby');
  const before = await treeOf(rootOf(it, 'lobby'));
  const answer = await restore(it, backup.id);
  t.deepEqual([answer.status, answer.reason], [429, 'DISK_FULL'], answer.text);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
  t.deepEqual(await readdir(join(it.dataDir, 'servers')), ['lobby']);
});

test('a restore leaves room on the disk for games to save, beside what is kept of before', async (t) => {
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

test('Q-02 a restore that would pass the disk quota is refused, and everything is as it was', async (t) => {
  let free = 0;
  const disk: Disk = {
    async reserve(_, bytes) {
      if (bytes > free) throw new StatusError('RESOURCE_EXHAUSTED', 'DISK_QUOTA_EXCEEDED', 'Free disk space.');
      return { grow: async () => {}, settle: (added) => void (free -= added) };
    },
    room: async () => undefined,
    freed() {},
  };
  const it = await sleeping(t, { world: { room: { disk } } });
  const backup = await backUp(it, 'lobby');
  await rm(join(rootOf(it, 'lobby'), 'world/region'), { recursive: true });
  const before = await treeOf(rootOf(it, 'lobby'));
  t.is((await restore(it, backup.id)).reason, 'DISK_QUOTA_EXCEEDED');
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
  free = 400_000;
  t.is((await restore(it, backup.id)).status, 200);
  t.is(free, 100_000);
});

test('an upload that a restore overtakes is not said to be there; whoever comes in meanwhile is sent away again', async (t) => {
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
  t.deepEqual(released, [true, false], 'before the files are replaced and after');
  t.is((await restore(it, 'previous')).status, 200);
  t.deepEqual(released.slice(2), [false, true]);
});

test('R-01 a failed next boot is undone by restoring `previous`; a boot that succeeds lets it go', async (t) => {
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
  t.is((await restore(it, backup.id)).status, 200, 'again: what was put aside first stays');
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

test('R-01 what is changed between two restores without a start is kept as a backup of its own; what is not, needs none', async (t) => {
  const it = await sleeping(t);
  const backup = await backUp(it, 'lobby');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played on' });
  const played = await treeOf(rootOf(it, 'lobby'));
  const kinds = async () => (await backupsOf(it, 'lobby')).map(({ kind }) => kind).sort();
  t.is((await restore(it, backup.id)).status, 200);
  t.is((await restore(it, backup.id)).status, 200);
  t.deepEqual(await kinds(), ['manual', 'previous'], 'nothing has changed');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'mended' });
  const mended = await treeOf(rootOf(it, 'lobby'));
  t.is((await restore(it, backup.id)).status, 200);
  t.deepEqual(await kinds(), ['manual', 'previous', 'restore']);
  const kept = (await backupsOf(it, 'lobby')).find(({ kind }) => kind === 'restore');
  t.is((await restore(it, kept?.id ?? '')).status, 200);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), mended);
  t.deepEqual(await kinds(), ['manual', 'previous', 'restore'], 'what is restored is a backup already');
  t.is((await restore(it, 'previous')).status, 200);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), played);
});

test('R-01 what is put aside is never a folder that has been played in, whatever was left undone', async (t) => {
  const it = await sleeping(t);
  const backup = await backUp(it, 'lobby');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played on' });
  t.is((await restore(it, backup.id)).status, 200);
  // The service dies, and with it what would have removed the folder after the first start.
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

test('R-02 a running game writes down its world and leaves it alone until the archive is made', async (t) => {
  const it = await running(t);
  const saving = hold(it, 'save-all flush');
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  await it.until(saving.asked);
  t.is((await find(it, 'lobby', id as string))?.state, 'running');
  saving.go();
  t.is((await ended(it, 'lobby', id as string)).state, 'ready');
  await it.until(() => it.games.commands.includes('lobby: save-on'));
  t.deepEqual(it.games.commands, ['lobby: save-off', 'lobby: save-all flush', 'lobby: save-on']);
  await it.until(async () => (await it.store.query('SELECT * FROM "saving_off"')).length === 0);
});

test('R-02 saving is switched on again when archiving fails, and when the console was away at first', async (t) => {
  const it = await running(t, { world: { room: { quotaBytes: 100 } } });
  const answer = it.games.run.bind(it.games);
  let refusals = 2;
  it.games.run = async (address, password, command) => {
    if (command === 'save-on' && refusals-- > 0) throw new Error('away');
    return answer(address, password, command);
  };
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  t.regex((await ended(it, 'lobby', id as string)).error, /MB together/);
  for (let n = 0; n < 20; n++) await it.clock.advance(1_000);
  await it.until(async () => (await it.store.query('SELECT * FROM "saving_off"')).length === 0);
  t.is(it.games.commands.filter((each) => each === 'lobby: save-on').length, 1);
  t.deepEqual(await filesOf(it, 'lobby'), []);
});

test('R-02 a game that cannot be told to save again is tried less and less often, and one line tells of it', async (t) => {
  const logged: string[] = [];
  const log = createLog({ level: 'info', pretty: false, destination: { write: (line) => void logged.push(line) } });
  const it = await running(t, { world: { room: { log } } });
  const answer = it.games.run.bind(it.games);
  let tries = 0;
  it.games.run = async (address, password, command) => {
    if (command !== 'save-on') return answer(address, password, command);
    tries += 1;
    throw new Error('away');
  };
  await backUp(it, 'lobby');
  await it.until(() => tries > 0);
  for (let minute = 0; minute < 120; minute++) await it.clock.advance(60_000);
  t.true(tries > 5 && tries < 25, `${tries} tries in two hours`);
  const told = logged.filter((line) => line.includes('could not be told to save again'));
  t.is(told.length, 1);
  t.false(told[0]!.includes('stack'));
});

test('R-02 what an owner has switched off stays off; a game that cannot be told is not archived live', async (t) => {
  const it = await running(t);
  const answer = it.games.run.bind(it.games);
  it.games.run = async (address, password, command) => {
    const reply = await answer(address, password, command);
    return command === 'save-off' ? 'Saving is already turned off' : reply;
  };
  await backUp(it, 'lobby');
  t.deepEqual(it.games.commands, ['lobby: save-off', 'lobby: save-all flush']);
  it.games.run = async () => {
    throw new Error('away');
  };
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  const failed = await ended(it, 'lobby', id as string);
  t.is(failed.state, 'failed');
  t.regex(failed.error, /console/);
});

test('R-02 the log tells that the world is written where the console gave up; silence is a failure', async (t) => {
  const it = await running(t);
  const answer = it.games.run.bind(it.games);
  let prints = true;
  it.games.run = async (address, password, command) => {
    const reply = await answer(address, password, command);
    if (command !== 'save-all flush') return reply;
    if (prints) setImmediate(() => it.engine.print('lobby', '[12:00:00] [Server thread/INFO]: Saved the game'));
    return '';
  };
  await backUp(it, 'lobby');
  prints = false;
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  await it.until(() => it.games.commands.filter((each) => each.includes('flush')).length === 2);
  for (let n = 0; n < 40; n++) await it.clock.advance(5_000);
  t.regex((await ended(it, 'lobby', id as string)).error, /did not save/);
});

test('R-03 what waits is queued over a restart, what was made has failed, and games save again', async (t) => {
  const it = await running(t);
  await it.create('other');
  const saving = hold(it, 'save-all flush');
  const { id: first } = await it.ok('POST', '/v1/servers/lobby/backups');
  await it.until(saving.asked);
  const { id: second } = await it.ok('POST', '/v1/servers/other/backups');
  t.is((await find(it, 'other', second as string))?.state, 'queued');
  await it.killAndRestart();
  const backups = await it.room().open(it.servers, it.serverEvents);
  t.teardown(() => backups.close());
  await it.until(() => it.games.commands.includes('lobby: save-on'));
  const list = async (id: string, backup: unknown) => (await backups.list(id)).find((each) => each.id === backup);
  t.like(await list('lobby', first), { state: 'failed' });
  await it.until(async () => (await list('other', second))?.state === 'ready');
  saving.go();
});

test('R-04 a backup that finds no room fails cleanly, and nothing half is listed', async (t) => {
  const it = await sleeping(t);
  if (!(await tinyDisk(t, join(it.dataDir, 'backups')))) return;
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  const failed = await ended(it, 'lobby', id as string);
  t.regex(failed.error, /disk/);
  t.is(failed.sizeBytes, '0');
  t.deepEqual(await filesOf(it, 'lobby'), []);
  t.is((await restore(it, failed.id)).reason, 'BACKUP_NOT_READY');
});

test('R-05 two backups at once, a backup and a restore, a backup and a world’s reset: one after the other', async (t) => {
  const it = await running(t);
  const good = await backUp(it, 'lobby');
  const saving = hold(it, 'save-all flush');
  const answers = await Promise.all(Array.from({ length: 5 }, () => it.call('POST', '/v1/servers/lobby/backups')));
  t.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409, 409, 409, 409],
  );
  await it.until(saving.asked);
  t.is((await restore(it, good.id)).reason, 'OPERATION_IN_PROGRESS');
  t.is((await it.call('POST', '/v1/servers/lobby/worlds:reset')).reason, 'OPERATION_IN_PROGRESS');
  saving.go();
  const made = answers.find(({ status }) => status === 200)?.json['id'] as string;
  t.is((await ended(it, 'lobby', made)).state, 'ready');
});

test('R-05 a start does not wait for a backup, which is begun again', async (t) => {
  let arrived = false;
  const latch = Promise.withResolvers<void>();
  const at = async (step: string) => {
    if (step !== 'saved') return;
    arrived = true;
    await latch.promise;
  };
  const it = await sleeping(t, { world: { room: { at } } });
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  await it.until(() => arrived);
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  latch.resolve();
  for (let n = 0; n < 10; n++) await it.clock.advance(1_000);
  t.is((await ended(it, 'lobby', id as string)).state, 'ready');
  t.true(it.games.commands.includes('lobby: save-all flush'), 'made of the running game');
});

test('R-05 a player who joins during a restore waits for it; a second restore is refused', async (t) => {
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
  const routing = createRouting({
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

test('R-06 what an owner sets during a restore stays', async (t) => {
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

test('R-05 deleting ends a backup, and a server takes its backups along', async (t) => {
  const it = await running(t);
  const done = await backUp(it, 'lobby');
  t.deepEqual(await filesOf(it, 'lobby'), [`${done.id}.tar.zst`]);
  const saving = hold(it, 'save-all flush');
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  await it.until(saving.asked);
  const deleting = it.call('POST', `/v1/servers/lobby/backups/${id as string}:delete`);
  saving.go();
  t.is((await deleting).status, 200);
  t.is(await find(it, 'lobby', id as string), undefined);
  await it.until(() => it.games.commands.at(-1) === 'lobby: save-on');
  const { id: last } = await it.ok('POST', '/v1/servers/lobby/backups');
  await it.command('lobby', 'DELETE');
  await it.reach('lobby', 'gone');
  await it.until(async () => (await it.store.query('SELECT * FROM "servers"')).length === 0);
  t.deepEqual(await readdir(join(it.dataDir, 'backups')), []);
  t.deepEqual(await it.store.query('SELECT * FROM "backups" WHERE "id" = $1', [last]), []);
});

test('R-06 after a restore the server says what it is again: core, version, mod pack and world', async (t) => {
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

test('R-07 a backup whose files cannot be removed goes all the same, and is listed for the operator', async (t) => {
  const it = await sleeping(t);
  const backup = await backUp(it, 'lobby');
  const path = archiveOf(it, 'lobby', backup.id);
  await rm(path);
  await mkdir(path);
  await writeFile(join(path, 'held'), '');
  t.is((await it.call('POST', `/v1/servers/lobby/backups/${backup.id}:delete`)).status, 200);
  t.deepEqual(await backupsOf(it, 'lobby'), []);
  t.deepEqual(
    it.services.backups.orphans().map(({ backupId }) => backupId),
    [backup.id],
  );
  await rm(path, { recursive: true });
  await writeFile(path, 'an archive that the database does not know');
  await it.killAndRestart();
  const backups = await it.room().open(it.servers, it.serverEvents);
  t.teardown(() => backups.close());
  t.deepEqual(backups.orphans(), [{ serverId: 'lobby', backupId: backup.id, sizeBytes: 42 }]);
  t.true((await filesOf(it, 'lobby')).length === 1, 'it is the operator’s to remove');
});

test('R-08 rules remove what they do not keep, never what is locked', async (t) => {
  const it = await sleeping(t);
  t.deepEqual(await it.ok('POST', '/v1/servers/lobby/backups:setRetention', { keepLast: 1, daily: 0, weekly: 0 }), {
    keepLast: 1,
    hourly: 0,
    daily: 0,
    weekly: 0,
    monthly: 3,
  });
  await it.ok('POST', '/v1/servers/lobby/backups:setRetention', { monthly: 0 });
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) {
    const { id } = await backUp(it, 'lobby');
    ids.push(id);
    if (n === 0) t.true((await it.ok('POST', `/v1/servers/lobby/backups/${id}:setLocked`, { locked: true }))['locked']);
    await it.clock.advance(60_000);
  }
  await it.until(async () => (await backupsOf(it, 'lobby')).length === 2);
  t.deepEqual(
    (await backupsOf(it, 'lobby')).map(({ id }) => id),
    [ids[2], ids[0]],
  );
  await it.until(async () => (await filesOf(it, 'lobby')).length === 2);
  t.is((await it.call('POST', `/v1/servers/lobby/backups/${ids[0]}:delete`)).reason, 'BACKUP_LOCKED');
  await it.ok('POST', `/v1/servers/lobby/backups/${ids[0]}:setLocked`, { locked: false });
  t.is((await it.call('POST', `/v1/servers/lobby/backups/${ids[0]}:delete`)).status, 200);
  for (const body of [{ keepLast: -1 }, { daily: 1_001 }, { hourly: 'many' }]) {
    t.is((await it.call('POST', '/v1/servers/lobby/backups:setRetention', { body })).status, 400);
  }
});

test('R-09 one backup at a time on the machine; all of a server’s count against its limit', async (t) => {
  const it = await running(t, { world: { room: { quotaBytes: 1_000 } } });
  await it.create('other');
  await plant(rootOf(it, 'other'), WORLD);
  const saving = hold(it, 'save-all flush');
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  await it.until(saving.asked);
  const { id: waiting } = await it.ok('POST', '/v1/servers/other/backups');
  await it.clock.advance(10_000);
  t.is((await find(it, 'other', waiting as string))?.state, 'queued');
  saving.go();
  t.is((await ended(it, 'other', waiting as string)).state, 'ready');
  t.is((await ended(it, 'lobby', id as string)).state, 'ready');
  for (let n = 0; n < 10; n++) {
    const { id: next } = await it.ok('POST', '/v1/servers/other/backups');
    const last = await ended(it, 'other', next as string);
    if (last.state === 'ready') continue;
    t.regex(last.error, /MB together/);
    const sizes = (await backupsOf(it, 'other')).map(({ sizeBytes }) => Number(sizeBytes));
    t.true(sizes.reduce((sum, size) => sum + size, 0) <= 1_000);
    return;
  }
  t.fail('no limit held');
});

test('backups: ids of nothing, of other servers, and of no form', async (t) => {
  const it = await sleeping(t);
  await it.create('other');
  const backup = await backUp(it, 'lobby');
  for (const verb of ['delete', 'restore', 'setLocked']) {
    for (const [server, id] of [
      ['lobby', 'bak_none'],
      ['other', backup.id],
      ['lobby', 'previous'],
    ]) {
      const answer = await it.call('POST', `/v1/servers/${server}/backups/${id}:${verb}`);
      t.deepEqual([answer.status, answer.reason], [404, 'BACKUP_NOT_FOUND'], `${verb} ${id}`);
    }
    t.is((await it.call('POST', `/v1/servers/lobby/backups/..%2f..%2fx:${verb}`)).status, 404);
  }
  t.is((await restore(it, backup.id)).status, 200);
});

test('backups: the audit log tells who did what, and watchers how it comes along', async (t) => {
  const it = await sleeping(t);
  const told: { type: string; data: object }[] = [];
  const now = (await it.servers.get('lobby'))!;
  const besides = { quota: {}, alert: null };
  t.teardown(it.serverEvents.follow(now, besides, '', (event) => event && told.push(event)));
  const backup = await backUp(it, 'lobby');
  t.is((await restore(it, backup.id)).status, 200);
  await it.ok('POST', `/v1/servers/lobby/backups/${backup.id}:delete`);
  const states = told.filter(({ type }) => type === 'backup').map(({ data }) => (data as Shown).state);
  t.deepEqual([...new Set(states)], ['queued', 'running', 'ready', 'restoring', 'restored', 'deleted']);
  const entries = await it.store.query<{ action: string; detail: string; userId: string }>(
    `SELECT "action", "detail", "userId" FROM "audit" WHERE "action" LIKE 'backup.%' ORDER BY "id"`,
  );
  t.deepEqual(
    entries.map(({ action }) => action),
    ['backup.create', 'backup.restore', 'backup.delete'],
  );
  for (const { detail, userId } of entries) {
    t.true(detail.includes(backup.id), detail);
    t.is(userId, 'usr_test');
  }
});

test('R-03 a backup that is ready can be downloaded, whole and in part, with its checksum', async (t) => {
  const it = await sleeping(t);
  const backup = await backUp(it, 'lobby');
  const url = `${it.origin}/v1/servers/lobby/backups/${backup.id}:download`;
  const get = (headers: Record<string, string> = {}) => fetch(url, { headers: { 'x-api-key': it.key, ...headers } });
  const whole = await get();
  const bytes = Buffer.from(await whole.arrayBuffer());
  t.is(bytes.length, Number(backup.sizeBytes));
  const digest = createHash('sha256').update(bytes).digest('base64');
  t.is(whole.headers.get('repr-digest'), `sha-256=:${digest}:`);
  t.regex(whole.headers.get('content-disposition') ?? '', /lobby-\d{4}-\d\d-\d\d\.tar\.zst/);
  const part = await get({ range: 'bytes=10-', 'if-range': whole.headers.get('etag') ?? '' });
  t.is(part.status, 206);
  t.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(10));
  t.is((await get({ range: `bytes=${bytes.length}-` })).status, 416);
  await rm(archiveOf(it, 'lobby', backup.id));
  t.is((await it.call('GET', `/v1/servers/lobby/backups/${backup.id}:download`)).reason, 'BACKUP_FILE_MISSING');
  t.is((await it.call('GET', '/v1/servers/lobby/backups/bak_none:download')).reason, 'BACKUP_NOT_FOUND');
});
