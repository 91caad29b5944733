import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { postgresUrl } from '../store/postgres.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { isHere } from '../support/needs.ts';
import { runningGames } from '../support/running-games.ts';
import { BUCKET, type S3UnderTest, S3_ACCESS, startS3 } from '../support/s3.ts';
import { type Service, startService } from '../support/service.ts';
import { plant, treeOf } from '../support/tree.ts';
import { until } from '../support/until.ts';

let s3: Promise<S3UnderTest> | undefined;
const MAIN = join(import.meta.dirname, '../../src/start.js');

test.after.always(async () => await (await s3)?.remove());

test.runIf(isHere('s3') && isHere('restic'))(
  'a service restored on an empty machine finds its off-site backups and restores files from them',
  async (t) => {
    const { endpoint } = await (s3 = startS3());
    const folder = await mkdtemp(join(tmpdir(), 'service-backup-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const settings = {
      BACKUP_STORE: `restic:s3:${endpoint}/${BUCKET}/service`,
      ...S3_ACCESS,
    };
    const dormouse = async (dataDir: string, ...args: string[]) => {
      const env = { PATH: process.env['PATH'], ...COMPILE_CACHE, DATA_DIR: dataDir, ...settings };
      return (await promisify(execFile)(process.execPath, [MAIN, ...args], { env, cwd: folder })).stdout;
    };
    const first = await startService(t, settings);
    await first.create('castle', '1.21.4');
    await plant(join(first.dataDir, 'servers/castle'), { 'world/level.dat': 'played' });
    await first.call('POST', '/v1/servers/castle/backups');
    const backupsOf = async (service: Service) =>
      (await service.call<{ backups: { id: string; offSite: boolean }[] }>('GET', '/v1/servers/castle/backups'))
        .backups;
    await until(async () => (await backupsOf(first))[0]?.offSite);
    const archive = join(folder, 'service.tar.gz');
    const said = await dormouse(first.dataDir, '--backup-service', archive);
    t.true(said.includes(`Servers' backups are in ${settings.BACKUP_STORE} and stay there`), said);
    t.regex(said, /RESTIC_PASSWORD/);
    t.is(await first.stop(), 0);

    const second = await startService(t, settings, ['src/start.js'], async (dataDir) => {
      t.regex(await dormouse(dataDir, '--restore-service', archive), /off-site store stay there/);
      return first.apiKey;
    });
    t.deepEqual(await treeOf(join(second.dataDir, 'servers/castle')), {});
    const [backup] = await backupsOf(second);
    t.true(backup?.offSite);
    await second.call('POST', `/v1/servers/castle/backups/${backup!.id}:restore`);
    t.is(await readFile(join(second.dataDir, 'servers/castle/world/level.dat'), 'utf8'), 'played');
  },
);

test('a running service can be backed up and restored on another machine with its servers and keys', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'service-backup-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const dormouse = async (dataDir: string, ...args: string[]) => {
    const env = { PATH: process.env['PATH'], ...COMPILE_CACHE, DATA_DIR: dataDir };
    // The working directory has no .env file.
    return (await promisify(execFile)(process.execPath, [MAIN, ...args], { env, cwd: folder })).stdout;
  };
  const first = await startService(t);
  await first.create('castle', '1.21.4', { motd: 'of stone' });
  const archive = join(folder, 'service.tar.gz');
  t.true((await dormouse(first.dataDir, '--backup-service', archive)).includes(`${archive} contains the database`));
  await first.create('later', '1.21.4');
  const second = await startService(t, {}, ['src/start.js'], async (dataDir) => {
    t.regex(await dormouse(dataDir, '--restore-service', archive), /^Restored the backup of 20/);
    return first.apiKey;
  });
  const { servers } = await second.call<{ servers: { id: string; motd: string; state: string }[] }>(
    'GET',
    '/v1/servers',
  );
  t.deepEqual(
    servers.map(({ id, motd, state }) => ({ id, motd, state })),
    [{ id: 'castle', motd: 'of stone', state: 'hibernated' }],
  );
});

test('a service restore is refused while games of the installation run, and succeeds after they are stopped', async (t) => {
  const service = await startService(t);
  const { dataDir } = service;
  for (const name of ['castle', 'village']) await service.create(name, '1.20.4');
  await service.call('POST', '/v1/servers/castle:start');
  await service.reach('castle', 'running');
  const away = `${dataDir}-away`;
  t.teardown(() => rm(away, { recursive: true, force: true }));
  const archive = join(dataDir, 'service.tar.gz');
  t.like(await service.run(['--backup-service', archive]), { code: 0 });
  await service.stop();
  await rename(dataDir, away);
  const refused = await service.run(['--restore-service', join(away, 'service.tar.gz')]);
  t.is(refused.code, 1);
  const sentence = 'Games of this installation still run, with their files in another folder: castle.';
  t.is(refused.said, `${sentence} Put them to sleep first: DATA_DIR=<that folder> npm run stop\n`);
  t.false(existsSync(join(dataDir, 'dormouse.db')));
  t.like(await service.run(['--stop'], { DATA_DIR: away }), { code: 0 });
  t.deepEqual(await runningGames(service), []);
  t.like(await service.run(['--restore-service', join(away, 'service.tar.gz')]), { code: 0 });
  await service.start();
});

test.runIf(isHere('postgres'))(
  'a service moves from SQLite to PostgreSQL with all its data while a game runs',
  async (t) => {
    const url = await postgresUrl(t);
    const service = await startService(t);
    const { dataDir } = service;
    await service.create('castle', '1.20.4', { motd: 'of stone' });
    await service.call('POST', '/v1/servers/castle:start');
    await service.reach('castle', 'running');
    const games = await runningGames(service);
    t.is(await service.stop(), 0);
    const dormouse = async (settings: Record<string, string>, ...args: string[]) => {
      const env = { PATH: process.env['PATH'], ...COMPILE_CACHE, DATA_DIR: dataDir, ...settings };
      return (await promisify(execFile)(process.execPath, [MAIN, ...args], { env, cwd: dataDir })).stdout;
    };
    const archive = join(dataDir, 'move.tar.gz');
    await dormouse({}, '--backup-service', archive);
    t.regex(await dormouse({ DATABASE_URL: url }, '--restore-service', archive), /in the PostgreSQL of DATABASE_URL/);
    await rename(join(dataDir, 'dormouse.db'), join(dataDir, 'dormouse.db.moved'));
    await service.start({ DATABASE_URL: url });
    t.like(await service.reach('castle', 'running'), { motd: 'of stone' });
    t.deepEqual(await runningGames(service), games);
    t.is(games.length, 1);
  },
);
