import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { emptyBackup, insertBackup } from '../../src/backups/rows.ts';
import { ConsoleError } from '../../src/engines/console/console.ts';
import { createLog } from '../../src/kernel/log.ts';
import { MIB } from '../../src/kernel/units.ts';
import { tinyDisk } from '../support/tiny-disk.ts';
import { plant } from '../support/tree.ts';
import {
  type Shown,
  WORLD,
  archiveOf,
  backUp,
  backupsOf,
  ended,
  filesOf,
  find,
  hold,
  restore,
  rootOf,
  running,
  sleeping,
} from './parts.ts';

test('a running game saves its world and pauses saving until the archive is complete', async (t) => {
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

test('saving is re-enabled after a failed archive, even if the console is unavailable at first', async (t) => {
  const it = await running(t, { world: { room: { quotaBytes: 100 } } });
  const answer = it.games.run.bind(it.games);
  let refusals = 2;
  it.games.run = async (address, password, command) => {
    if (command === 'save-on' && refusals-- > 0) throw new Error('away');
    return answer(address, password, command);
  };
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  t.regex((await ended(it, 'lobby', id as string)).error, /MB, and this one does not fit/);
  await it.passUntil(async () => (await it.store.query('SELECT * FROM "saving_off"')).length === 0, 1_000);
  t.is(it.games.commands.filter((each) => each === 'lobby: save-on').length, 1);
  t.deepEqual(await filesOf(it, 'lobby'), []);
});

test('a failing save-on is retried less and less often, and is logged once', async (t) => {
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
  for (let minute = 0; minute < 120; minute++) {
    // Each try reads its note from the store in real time. Wait for the store before the clock moves on.
    await it.store.write(async () => {});
    await it.clock.advance(60_000);
  }
  t.true(tries > 5 && tries < 25, `${tries} tries in two hours`);
  const told = logged.filter((line) => line.includes('saving could not be resumed in a game'));
  t.is(told.length, 1);
  t.false(told[0]!.includes('stack'));
});

test('saving disabled by the owner stays disabled, and an unreachable console fails a live backup', async (t) => {
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

test('the game log can confirm a save if the console reply is empty; without confirmation the backup fails', async (t) => {
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
  await it.passUntil(async () => (await find(it, 'lobby', id as string))?.state === 'failed', 5_000);
  t.regex((await ended(it, 'lobby', id as string)).error, /did not save/);
});

test('a game without working save commands is still backed up, with a note', async (t) => {
  const it = await running(t);
  t.is((await backUp(it, 'lobby')).note, '');
  await symlink('/nowhere', join(it.dataDir, 'servers/lobby/world_on_another_disk'));
  t.regex((await backUp(it, 'lobby')).note, /^The symbolic link world_on_another_disk is not in this backup/);
  await rm(join(it.dataDir, 'servers/lobby/world_on_another_disk'));
  const answer = it.games.run.bind(it.games);
  const replies = (reply: string) => {
    it.games.run = async (address, password, command) => {
      await answer(address, password, command);
      return reply;
    };
  };
  replies('Unknown command. Type "help" for help.');
  t.regex((await backUp(it, 'lobby')).note, /did not confirm/);
  replies('');
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  const flushes = () => it.games.commands.filter((each) => each.includes('flush')).length;
  await it.until(() => flushes() === 4);
  t.is((await find(it, 'lobby', id as string))?.state, 'running', 'the backup waits for the flush');
  await it.passUntil(async () => (await find(it, 'lobby', id as string))?.state !== 'running', 5_000);
  t.like(await ended(it, 'lobby', id as string), { state: 'ready', error: '' });
  t.regex((await find(it, 'lobby', id as string))!.note, /sleeping server is complete/);
  it.games.run = async () => {
    throw new ConsoleError('absent', 'The console is not available.');
  };
  t.regex((await backUp(it, 'lobby')).note, /did not confirm/);
  await it.until(async () => (await it.store.query('SELECT * FROM "saving_off"')).length === 0);
});

test('a backup is accepted and completes while 101 backups of other servers are queued', async (t) => {
  const it = await running(t);
  const others = Array.from({ length: 101 }, (_, n) => `other-${n}`);
  await Promise.all(others.map((id) => it.create(id)));
  const waiting = others.map((serverId) => emptyBackup({ serverId, id: `bak_${serverId}` }, 0));
  await it.store.write(async (tx) => {
    for (const row of waiting) await insertBackup(tx, row);
  });
  t.is((await backUp(it, 'lobby')).state, 'ready');
});

test('after a restart the running backup has failed, the queued one completes, and the game saves again', async (t) => {
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

test('a backup that runs out of disk space fails cleanly and leaves no partial file', async (t) => {
  const it = await sleeping(t);
  if (!(await tinyDisk(t, join(it.dataDir, 'backups')))) return;
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  const failed = await ended(it, 'lobby', id as string);
  t.regex(failed.error, /disk/);
  t.is(failed.sizeBytes, '0');
  t.deepEqual(await filesOf(it, 'lobby'), []);
  t.is((await restore(it, failed.id)).reason, 'BACKUP_NOT_READY');
});

test('a second backup, a restore and a world reset are refused while a backup runs', async (t) => {
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

test('a start does not wait for a backup, and the backup starts over with the running game', async (t) => {
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
  await it.passUntil(async () => (await find(it, 'lobby', id as string))?.state === 'ready', 1_000);
  t.true(it.games.commands.includes('lobby: save-all flush'), 'the backup flushes the running game');
});

test('deleting a running backup cancels it, and deleting a server removes its backups', async (t) => {
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

test('a backup whose files cannot be removed leaves the list and becomes an orphan for the operator', async (t) => {
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
  t.true((await filesOf(it, 'lobby')).length === 1, 'only the operator removes the archive');
});

test('retention rules delete the backups that they do not keep, but never a locked one', async (t) => {
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

test('backups run one at a time, and all backups of a server together stay within its limit', async (t) => {
  const it = await running(t, { world: { room: { quotaBytes: 1_000 } } });
  await it.create('other');
  await plant(rootOf(it, 'other'), WORLD);
  const saving = hold(it, 'save-all flush');
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  await it.until(saving.asked);
  const { id: waiting } = await it.ok('POST', '/v1/servers/other/backups');
  await it.clock.advance(2_000);
  t.is((await find(it, 'other', waiting as string))?.state, 'queued');
  saving.go();
  t.is((await ended(it, 'other', waiting as string)).state, 'ready');
  t.is((await ended(it, 'lobby', id as string)).state, 'ready');
  for (let n = 0; n < 10; n++) {
    const { id: next } = await it.ok('POST', '/v1/servers/other/backups');
    const last = await ended(it, 'other', next as string);
    if (last.state === 'ready') continue;
    t.regex(last.error, /MB, and this one does not fit/);
    const sizes = (await backupsOf(it, 'other')).map(({ sizeBytes }) => Number(sizeBytes));
    t.true(sizes.reduce((sum, size) => sum + size, 0) <= 1_000);
    return;
  }
  t.fail('no limit applied');
});

test('a game that is slow to save does not block other servers, and is archived after its save', async (t) => {
  const it = await running(t);
  await it.create('other');
  await plant(rootOf(it, 'other'), WORLD);
  const saving = hold(it, 'save-all flush');
  t.teardown(saving.go);
  const { id } = await it.ok('POST', '/v1/servers/lobby/backups');
  await it.until(saving.asked);
  const { id: behind } = await it.ok('POST', '/v1/servers/other/backups');
  await it.clock.advance(3_000);
  t.is((await ended(it, 'other', behind as string)).state, 'ready');
  t.is((await find(it, 'lobby', id as string))?.state, 'running');
  t.is((await it.store.query('SELECT * FROM "saving_off"')).length, 1);
  saving.go();
  const made = await ended(it, 'lobby', id as string);
  t.deepEqual([made.state, made.note], ['ready', '']);
  t.deepEqual(await it.store.query('SELECT * FROM "saving_off"'), []);
  t.is(it.games.commands.filter((each) => each === 'lobby: save-on').length, 1);
});

test('backup operations return 404 for unknown ids, malformed ids and backups of other servers', async (t) => {
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

test('backup operations are audited with their user, and event followers receive each state', async (t) => {
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

test('the progress of a backup is estimated from the last measured size of the server', async (t) => {
  const it = await sleeping(t);
  const regions = Array.from({ length: 6 }, (_, n) => [`world/region/r.1.${n}.mca`, randomBytes(4 * MIB)] as const);
  await plant(rootOf(it, 'lobby'), Object.fromEntries(regions));
  await it.disks.usage.measure('lobby');
  const told: number[] = [];
  const now = (await it.servers.get('lobby'))!;
  const running = (event: { type: string; data: object } | null) => {
    const { state, percent } = (event?.data ?? {}) as Shown & { percent: number };
    if (event?.type === 'backup' && state === 'running') told.push(percent);
  };
  t.teardown(it.serverEvents.follow(now, { quota: {}, alert: null }, '', running));
  await backUp(it, 'lobby');
  t.true(told.length > 3, 'progress is reported several times');
  t.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  );
  t.is(told[0], 0);
  t.is(told.at(-1), 99);

  // Most files are gone since the measurement. The progress is underestimated, and the backup still ends.
  for (const [path] of regions) await rm(join(rootOf(it, 'lobby'), path));
  told.length = 0;
  await backUp(it, 'lobby');
  t.true(Math.max(...told) < 10);
});

test('a ready backup can be downloaded in full and in part, with its checksum', async (t) => {
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
