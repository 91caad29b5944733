import { execFile } from 'node:child_process';
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import test from 'ava';
import { startService, type Service } from '../support/service.ts';
import { plant } from '../support/tree.ts';
import { until } from '../support/until.ts';

interface Backup {
  id: string;
  state: string;
  error: string;
  sizeBytes: string;
}

const run = promisify(execFile);

const say = async (service: Service, command: string) =>
  (await service.call<{ output: string }>('POST', '/v1/servers/lobby:command', { command })).output;
const list = async (service: Service) =>
  (await service.call<{ backups: Backup[] }>('GET', '/v1/servers/lobby/backups')).backups;

function reach(service: Service, id: string, ...states: string[]): Promise<Backup> {
  return until(`backup ${id} is ${states.join(' or ')}`, async () =>
    (await list(service)).find((each) => each.id === id && states.includes(each.state)),
  );
}

async function backUp(service: Service): Promise<Backup> {
  const { id } = await service.call<Backup>('POST', '/v1/servers/lobby/backups');
  return reach(service, id, 'ready');
}

async function running(t: Parameters<typeof startService>[0]): Promise<Service> {
  const service = await startService(t);
  await service.create('lobby', '1.20.4');
  await service.call('POST', '/v1/servers/lobby:start');
  await service.reach('lobby', 'running');
  return service;
}

test('a backup of a running game includes its latest changes, and a restore brings them back and restarts it', async (t) => {
  const service = await running(t);
  t.regex(await say(service, 'setblock 1 10 1 stone'), /^Changed the block/);
  const backup = await backUp(service);
  t.is(await say(service, 'save-on'), 'Saving is already turned on');
  t.regex(await say(service, 'setblock 2 10 2 stone'), /^Changed the block/);
  await service.call('POST', `/v1/servers/lobby/backups/${backup.id}:restore`);
  await service.reach('lobby', 'running');
  t.regex(await say(service, 'setblock 1 10 1 stone'), /^Could not set the block/, 'the backup contains this block');
  t.regex(await say(service, 'setblock 2 10 2 stone'), /^Changed the block/, 'the backup lacks this block');
  t.is(
    (await list(service)).length,
    2,
    '`previous` is still listed, because the start after the restore does not remove it',
  );
  await service.call('POST', '/v1/servers/lobby:stop');
  await service.reach('lobby', 'hibernated');
  await service.call('POST', '/v1/servers/lobby:start');
  await service.reach('lobby', 'running');
  await until(async () => (await list(service)).length <= 1);
  t.deepEqual(
    (await list(service)).map(({ id }) => id),
    [backup.id],
    'the next successful start removes `previous`',
  );
  const folders = () => readdir(join(service.dataDir, 'servers'));
  await until(async () => (await folders()).length <= 1);
  t.deepEqual(await folders(), ['lobby']);

  const { worlds } = await service.call<{ worlds: object[] }>('POST', '/v1/servers/lobby/worlds:reset');
  t.like(worlds[0], { name: 'world', active: true });
  await service.reach('lobby', 'running');
  t.regex(await say(service, 'setblock 1 10 1 stone'), /^Changed the block/, 'the world is new');
  t.is((await list(service)).length, 2, 'the old world is backed up');
});

test('a service kill during a backup fails that backup, and the game’s automatic saving is enabled again', async (t) => {
  const service = await running(t);
  // A sparse file takes long to read and uses no disk space.
  const big = join(service.dataDir, 'servers/lobby/big');
  await writeFile(big, '');
  await truncate(big, 20 * 2 ** 30);
  const { id } = await service.call<Backup>('POST', '/v1/servers/lobby/backups');
  await reach(service, id, 'running', 'ready');
  await until(() => printed(service, 'Automatic saving is now disabled'));
  await service.kill();
  await service.start();
  t.is((await service.call('GET', '/v1/servers/lobby')).state, 'running');
  const failed = await reach(service, id, 'failed');
  t.regex(failed.error, /restarted/);
  await until(() => printed(service, 'Automatic saving is now enabled'));
  t.is(await say(service, 'save-on'), 'Saving is already turned on');
  t.deepEqual(await readdir(join(service.dataDir, 'backups/lobby')).catch(() => []), []);
  await rm(big);
  const tar = join(service.dataDir, 'backups/lobby', `${(await backUp(service)).id}.tar.zst`);
  const listed = await run('tar', ['--zstd', '-tf', tar]).catch((error: Error) =>
    t.log(`tar cannot list the archive: ${error.message}`),
  );
  if (listed) t.true(listed.stdout.split('\n').includes('world/level.dat'));
});

test('repeated kills during a restore lose no acknowledged file write', async (t) => {
  const service = await startService(t);
  await service.create('lobby', '1.20.4');
  const root = join(service.dataDir, 'servers/lobby');
  const many = Array.from({ length: 1_500 }, (_, n) => [`many/${n}`, `${n}`.padEnd(3_000)]);
  await plant(root, { 'world/level.dat': 'saved', ...Object.fromEntries(many) });
  const backup = await backUp(service);
  await plant(root, { 'world/level.dat': 'played on' });

  const written: string[] = [];
  const told = new Set<string>();
  async function write(name: string): Promise<void> {
    const said = await service.call('POST', '/v1/servers/lobby/file', { path: name }).then(
      () => '',
      (error: Error) => error.message,
    );
    if (said === '') written.push(name);
    else told.add(/OPERATION_IN_PROGRESS|FILES_REPLACED/.exec(said)?.[0] ?? said);
  }
  // The pauses keep the calls within the rate limit.
  const writeAfter = async (ms: number, name: string) => {
    await delay(ms);
    await write(name);
  };
  const here = async () => await readdir(join(service.dataDir, 'servers'));
  const restoring = service.call('POST', `/v1/servers/lobby/backups/${backup.id}:restore`).catch(() => undefined);
  for (let n = 0; !(await here()).includes('lobby.staged'); n++) await writeAfter(10, `early-${n}`);
  for (let kills = 0; kills < 3 && (await here()).includes('lobby.staged'); kills++) {
    for (let n = 0; n < 5; n++) await write(`during-${kills}-${n}`);
    await service.kill();
    await service.start();
    await write(`resumed-${kills}`);
  }
  await restoring;
  for (let n = 0; !written.some((name) => name.startsWith('late-')); n++) await writeAfter(100, `late-${n}`);

  t.deepEqual([...told].toSorted(), ['OPERATION_IN_PROGRESS']);
  t.is(await readFile(join(root, 'world/level.dat'), 'utf8'), 'saved');
  const trees = new Set([...(await readdir(root)), ...(await readdir(`${root}.previous`))]);
  t.deepEqual(
    written.filter((name) => !trees.has(name)),
    [],
  );
  t.false(
    written.some((name) => /^(during|resumed)/.test(name)),
    'no write is accepted during a restore',
  );
});

/** Whether the game's log contains the words. */
async function printed(service: Service, words: string): Promise<boolean> {
  const { lines } = await service.call<{ lines: string[] }>('GET', '/v1/servers/lobby/logs?tail=100');
  return lines.some((line) => line.includes(words));
}
