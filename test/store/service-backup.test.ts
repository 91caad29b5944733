import { copyFile, mkdir, readFile, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { KIB, MIB } from '../../src/kernel/units.ts';
import { getServer, insertServer, listServersByAccount } from '../../src/servers/rows.ts';
import { type ServiceFiles, backupService, restoreService } from '../../src/store/service-backup.ts';
import { openSecret } from '../../src/store/secret.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { isHere } from '../support/needs.ts';
import { freshStore, serverRow } from '../support/store.ts';
import { tinyDisk } from '../support/tiny-disk.ts';
import { onEach, postgresDatabase } from './on-each.ts';
import { directory, refused } from './support.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');

/** An installation with its secret and settings. */
async function installation(
  t: ExecutionContext,
  url?: string,
): Promise<ServiceFiles & { store: Store; derived: string }> {
  const dataDir = await directory(t);
  const databaseUrl = url ?? `sqlite:${join(dataDir, 'dormouse.db')}`;
  const store = await freshStore(t, databaseUrl);
  const secret = await openSecret(store, dataDir);
  const envFile = join(dataDir, '.env');
  await writeFile(envFile, 'PUBLIC_HOST=play.example.org\n');
  return { dataDir, databaseUrl, envFile, store, derived: secret.derive('test', 'a') };
}

/** An empty target for a restore. */
async function elsewhere(t: ExecutionContext, databaseUrl?: string): Promise<ServiceFiles> {
  const dataDir = join(await directory(t), 'data');
  return {
    dataDir,
    databaseUrl: databaseUrl ?? `sqlite:${join(dataDir, 'dormouse.db')}`,
    envFile: join(dataDir, '.env'),
  };
}

onEach('an installation is restored on an empty machine as it was at one instant during writes', async (t, url) => {
  const from = await installation(t, url);
  const archive = join(await directory(t), 'service.tar.gz');
  const over = new AbortController();
  const enough = Promise.withResolvers<number>();
  // Each write inserts two rows: an archive taken in between would hold one of them.
  const writing = (async () => {
    for (let n = 0; !over.signal.aborted; n++) {
      await from.store.write(async (tx) => {
        await insertServer(tx, serverRow(`a${n}`));
        await insertServer(tx, serverRow(`b${n}`));
      });
      if (n === 20) enough.resolve(n);
    }
  })();
  const before = await enough.promise;
  await backupService(from, archive, NOW);
  over.abort();
  await writing;
  t.is((await stat(archive)).mode & 0o777, 0o600);
  const to = await elsewhere(t, url.startsWith('sqlite:') ? undefined : await postgresDatabase());
  t.deepEqual(await restoreService(to, archive), { madeAt: '2026-11-22T12:00:00.000Z', settings: to.envFile });
  t.is(await readFile(to.envFile, 'utf8'), 'PUBLIC_HOST=play.example.org\n');
  t.false((await readdir(to.dataDir)).some((name) => name.startsWith('.dormouse')));
  const store = await openStore(to.databaseUrl, TABLES);
  t.teardown(() => store.close());
  t.is((await openSecret(store, to.dataDir)).derive('test', 'a'), from.derived);
  const ids = (await listServersByAccount(store, 'acc_test', 100_000)).map(({ id }) => id);
  const [first, second] = ['a', 'b'].map((letter) => ids.filter((id) => id.startsWith(letter)).length);
  t.is(first, second);
  t.true(first! >= before, `${first} of ${before}`);
  // The target is in use now.
  await refused(t, restoreService(to, archive), 'SERVICE_BACKUP');
});

test('an interrupted restore can be repeated, and a restore never overwrites another installation’s keys', async (t) => {
  const from = await installation(t);
  const archive = join(from.dataDir, 'service.tar.gz');
  await backupService(from, archive, NOW);
  const to = await elsewhere(t);
  await restoreService(to, archive);
  const half = await elsewhere(t);
  await restoreService({ ...half, databaseUrl: `sqlite:${join(half.dataDir, 'elsewhere.db')}` }, archive);
  // The target has the keys and the settings, but no database at its place.
  const { settings } = await restoreService(half, archive);
  t.is(settings, `${half.envFile}.restored`);
  const other = await installation(t);
  const error = await refused(
    t,
    restoreService({ ...other, databaseUrl: `sqlite:${join(other.dataDir, 'new.db')}` }, archive),
    'SERVICE_BACKUP',
  );
  t.regex(error.message, /secret\.key belongs to another installation/);
});

test('a damaged or incomplete service backup is refused and leaves the target empty', async (t) => {
  const from = await installation(t);
  const folder = await directory(t);
  const archive = join(folder, 'service.tar.gz');
  await backupService(from, archive, NOW);
  await refused(t, backupService(from, archive, NOW), 'SERVICE_BACKUP');
  const { size } = await stat(archive);
  const bytes = await readFile(archive);
  const broken = Buffer.from(bytes);
  broken[Math.floor(size / 2)]! ^= 1;
  const cases: Record<string, Buffer> = { text: Buffer.from('hello'), empty: Buffer.alloc(0), broken };
  for (const [name, content] of Object.entries(cases)) await writeFile(join(folder, name), content);
  await writeFile(join(folder, 'short'), bytes);
  await truncate(join(folder, 'short'), size - 100);
  for (const name of [...Object.keys(cases), 'short', 'missing']) {
    const to = await elsewhere(t);
    await refused(t, restoreService(to, join(folder, name)), 'SERVICE_BACKUP');
    t.deepEqual(await readdir(to.dataDir).catch(() => []), [], name);
  }
  const wrong = await refused(
    t,
    backupService({ ...from, databaseUrl: `sqlite:${join(folder, 'none.db')}` }, join(folder, 'x'), NOW),
    'SERVICE_BACKUP',
  );
  t.regex(wrong.message, /no database/);
});

if (isHere('postgres'))
  onEach('an archive can be restored into the other kind of database', async (t, url) => {
    const from = await installation(t, url);
    await from.store.write((tx) => insertServer(tx, serverRow('amber')));
    const archive = join(await directory(t), 'service.tar.gz');
    await backupService(from, archive, NOW);
    // On the same machine, with its existing keys.
    const databaseUrl = url.startsWith('sqlite:')
      ? await postgresDatabase()
      : `sqlite:${join(from.dataDir, 'dormouse.db')}`;
    await restoreService({ ...from, databaseUrl }, archive);
    const store = await openStore(databaseUrl, TABLES);
    t.teardown(() => store.close());
    t.is((await openSecret(store, from.dataDir)).derive('test', 'a'), from.derived);
    t.deepEqual(await getServer(store, 'amber'), await getServer(from.store, 'amber'));
    await refused(t, restoreService({ ...from, databaseUrl }, archive), 'SERVICE_BACKUP');
  });

test('an archive of a development version before 0.1.0 is refused, and the target stays empty', async (t) => {
  const from = await installation(t);
  await from.store.write((tx) => tx.run('UPDATE "migrations" SET "name" = $1', ['Initial1795132800000']));
  const archive = join(await directory(t), 'service.tar.gz');
  await backupService(from, archive, NOW);
  const to = await elsewhere(t);
  await refused(t, restoreService(to, archive), 'STORE_PRERELEASE');
  t.deepEqual(await readdir(to.dataDir), []);
});

test('a restore refuses a leftover write-ahead log, and works after the log is moved away', async (t) => {
  const from = await installation(t);
  const archive = join(await directory(t), 'service.tar.gz');
  await backupService(from, archive, NOW);
  await from.store.write((tx) => insertServer(tx, serverRow('later')));
  const to = await elsewhere(t);
  const wal = join(to.dataDir, 'dormouse.db-wal');
  await mkdir(to.dataDir);
  // A write-ahead log as a crash leaves it.
  await copyFile(join(from.dataDir, 'dormouse.db-wal'), wal);
  const { message } = await refused(t, restoreService(to, archive), 'SERVICE_BACKUP');
  t.true(message.includes(wal), message);
  t.deepEqual(await readdir(to.dataDir), ['dormouse.db-wal']);
  await rename(wal, join(to.dataDir, 'moved-wal'));
  await restoreService(to, archive);
  const store = await openStore(to.databaseUrl, TABLES);
  t.teardown(() => store.close());
  t.deepEqual(await store.query('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
  t.is(await getServer(store, 'later'), undefined);
});

test('restored settings go to the data folder if their own folder is not writable', async (t) => {
  const from = await installation(t);
  const archive = join(await directory(t), 'service.tar.gz');
  t.deepEqual(await backupService(from, archive, NOW), { hasSettings: true });
  const to = await elsewhere(t);
  // A folder that even root cannot write to.
  const { settings } = await restoreService({ ...to, envFile: '/sys/.env' }, archive);
  t.is(settings, join(to.dataDir, 'env.restored'));
  t.is(await readFile(settings!, 'utf8'), 'PUBLIC_HOST=play.example.org\n');
});

test('a restore onto a full separate disk leaves no database file, and succeeds once there is space', async (t) => {
  const from = await installation(t);
  const archive = join(await directory(t), 'service.tar.gz');
  await backupService(from, archive, NOW);
  const to = await elsewhere(t);
  const disk = join(to.dataDir, 'disk');
  if (!(await tinyDisk(t, disk))) return;
  const onDisk = { ...to, databaseUrl: `sqlite:${join(disk, 'dormouse.db')}` };
  // Fill the disk of 4 MB except for 64 KB.
  await writeFile(join(disk, 'full'), Buffer.alloc(4 * MIB - 64 * KIB));
  await t.throwsAsync(restoreService(onDisk, archive), { code: 'ENOSPC' });
  t.deepEqual(await readdir(disk), ['full']);
  await rm(join(disk, 'full'));
  await restoreService(onDisk, archive);
  t.deepEqual(await readdir(disk), ['dormouse.db']);
  const store = await openStore(onDisk.databaseUrl, TABLES);
  t.teardown(() => store.close());
  t.is((await openSecret(store, to.dataDir)).derive('test', 'a'), from.derived);
});
