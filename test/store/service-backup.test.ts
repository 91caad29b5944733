import { readFile, readdir, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { insertServer, listServersByAccount } from '../../src/servers/rows.ts';
import { type ServiceFiles, backupService, restoreService } from '../../src/store/service-backup.ts';
import { openSecret } from '../../src/store/secret.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { freshStore, serverRow } from '../support/store.ts';
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

/** Where an installation may be put back. */
async function elsewhere(t: ExecutionContext, databaseUrl?: string): Promise<ServiceFiles> {
  const dataDir = join(await directory(t), 'data');
  return {
    dataDir,
    databaseUrl: databaseUrl ?? `sqlite:${join(dataDir, 'dormouse.db')}`,
    envFile: join(dataDir, '.env'),
  };
}

onEach(
  'an installation is back on an empty machine, as it was at one instant while it was written to',
  async (t, url) => {
    const from = await installation(t, url);
    const archive = join(await directory(t), 'service.tar.gz');
    const over = new AbortController();
    const enough = Promise.withResolvers<number>();
    // Two at a time in one write: an archive from in between would have one of them.
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
    // Trusted without a password, PostgreSQL takes one all the same.
    const databaseUrl = from.databaseUrl.replace('dormouse@', `dormouse:${encodeURIComponent('p:a\\s')}@`);
    await backupService({ ...from, databaseUrl }, archive, NOW);
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
    // It is in use now.
    await refused(t, restoreService(to, archive), 'SERVICE_BACKUP');
  },
);

test('a restore that was ended in between is done again; another installation’s keys stay', async (t) => {
  const from = await installation(t);
  const archive = join(from.dataDir, 'service.tar.gz');
  await backupService(from, archive, NOW);
  const to = await elsewhere(t);
  await restoreService(to, archive);
  const half = await elsewhere(t);
  await restoreService({ ...half, databaseUrl: `sqlite:${join(half.dataDir, 'elsewhere.db')}` }, archive);
  // The keys are there, the settings too, and no database where it belongs.
  const { settings } = await restoreService(half, archive);
  t.is(settings, `${half.envFile}.restored`);
  const other = await installation(t);
  const error = await refused(
    t,
    restoreService({ ...other, databaseUrl: `sqlite:${join(other.dataDir, 'new.db')}` }, archive),
    'SERVICE_BACKUP',
  );
  t.regex(error.message, /secret\.key is another installation/);
});

test('what is no whole backup is refused, and nothing is made of it', async (t) => {
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

onEach('an archive goes into a database of its own kind', async (t, url) => {
  const from = await installation(t, url);
  const archive = join(await directory(t), 'service.tar.gz');
  await backupService(from, archive, NOW);
  const other = url.startsWith('sqlite:') ? 'postgres://nobody@localhost:1/none' : undefined;
  const to = await elsewhere(t, other);
  const { message } = await refused(t, restoreService(to, archive), 'SERVICE_BACKUP');
  t.regex(message, other ? /leave DATABASE_URL empty/ : /set DATABASE_URL to an empty PostgreSQL database/);
});
