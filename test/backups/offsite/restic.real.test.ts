import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createRestic } from '../../../src/backups/offsite/restic-process.ts';
import { KEY_SCOPES } from '../../../src/http/scopes.ts';
import { createLog } from '../../../src/kernel/log.ts';
import { MIB } from '../../../src/kernel/units.ts';
import type { ApiUnderTest } from '../../support/api-harness.ts';
import { fewAtATime } from '../../support/few.ts';
import { isHere } from '../../support/needs.ts';
import { type OnRestic, restic, resticChild, resticFolder, resticPlace } from '../../support/restic.ts';
import { silentStore } from '../../support/s3.ts';
import { bytesBelow, plant, treeOf } from '../../support/tree.ts';
import { type Shown, backUp, filesOf, find, restore, rootOf, sleeping } from '../parts.ts';

interface Place {
  it: ApiUnderTest;
  on: OnRestic & { folder: string };
  /** Creates a backup and waits until it is in the repository. */
  make: (server?: string) => Promise<Shown>;
  /** The backups of which the repository has a snapshot, oldest first. */
  stored: () => Promise<string[]>;
}

async function place(t: ExecutionContext, quotaBytes = 0): Promise<Place> {
  await takePlace(t);
  t.timeout(240_000);
  const on = await resticFolder(t);
  const it = await sleeping(t, { world: { room: { offSite: resticPlace(on), quotaBytes } } });
  return {
    it,
    on,
    make: async (server = 'lobby') => {
      const { id } = await backUp(it, server);
      await arrived(it, id, server);
      return (await find(it, server, id))!;
    },
    stored: () => storedIn(on),
  };
}

async function arrived(it: ApiUnderTest, id: string, server = 'lobby'): Promise<void> {
  await it.passUntil(async () => (await find(it, server, id))?.offSite === true, 1_000);
  await it.until(async () => (await filesOf(it, server)).length === 0);
}

async function storedIn(on: OnRestic): Promise<string[]> {
  const all = JSON.parse(await restic(on, 'snapshots', '--json', '--no-lock')) as { tags: string[] }[];
  return all.map(({ tags }) => tags.find((tag) => tag.startsWith('backup='))?.slice('backup='.length) ?? '');
}

const takePlace = fewAtATime(2);
const testReal = test.runIf(isHere('restic'));

testReal('a backup in a repository is downloaded unchanged, in full and in part, and restored exactly', async (t) => {
  const { it, on, make } = await place(t);
  await plant(rootOf(it, 'lobby'), { 'world/region/r.1.0.mca': randomBytes(3 * MIB) });
  const saved = await treeOf(rootOf(it, 'lobby'));
  const backup = await make();
  const url = `${it.origin}/v1/servers/lobby/backups/${backup.id}:download`;
  const get = (headers: Record<string, string> = {}) => fetch(url, { headers: { 'x-api-key': it.key, ...headers } });
  const whole = await get();
  const bytes = Buffer.from(await whole.arrayBuffer());
  t.is(bytes.length, Number(backup.sizeBytes));
  t.regex(whole.headers.get('content-disposition') ?? '', /\.tar"/);
  t.is(whole.headers.get('repr-digest'), `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`);
  for (const [from, to] of [
    [0, 0],
    [10, 2_000_000],
    [bytes.length - 1, bytes.length - 1],
  ] as const) {
    const part = await get({ range: `bytes=${from}-${to}`, 'if-range': whole.headers.get('etag') ?? '' });
    t.is(part.status, 206);
    t.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(from, to + 1));
  }
  const byHand = await restic(on, 'dump', '--tag', `server=lobby,backup=${backup.id}`, 'latest', `${backup.id}.tar`);
  t.true(byHand.length > 0);

  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played since', 'world_nether/level.dat': 'new' });
  t.is((await it.during(restore(it, backup.id))).status, 200);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), saved);

  await restic(on, 'forget', 'latest');
  t.is((await it.call('GET', `/v1/servers/lobby/backups/${backup.id}:download`)).reason, 'BACKUP_FILE_MISSING');
  t.is((await restore(it, backup.id)).reason, 'BACKUP_FILE_MISSING');
});

testReal('a second backup adds only what changed, and its space counts against the quota', async (t) => {
  const { it, make } = await place(t, 80 * MIB);
  const region = randomBytes(32 * MIB);
  await plant(rootOf(it, 'lobby'), { 'world/region/r.1.0.mca': region });
  const first = await make();
  t.true(Number(first.addedBytes) > 32 * MIB);
  await it.clock.advance(1_000);
  randomBytes(4_096).copy(region, 16 * MIB);
  await plant(rootOf(it, 'lobby'), { 'world/region/r.1.0.mca': region });
  const second = await make();
  t.true(Number(second.sizeBytes) > 32 * MIB);
  // The header of the file, the changed bytes and the end of the archive: three chunks of at most 8 MiB each.
  t.true(Number(second.addedBytes) < 25 * MIB, `it added ${second.addedBytes}`);
  await it.clock.advance(1_000);
  await it.ok('POST', `/v1/servers/lobby/backups/${first.id}:delete`);
  const left = (await find(it, 'lobby', second.id))!;
  t.is(left.addedBytes, left.sizeBytes, 'what the removed backup added is still needed by the next one');
});

testReal(
  'removed backups, and those of a deleted server, leave the repository; the quiet hour frees their space',
  async (t) => {
    const { it, on, make, stored } = await place(t);
    await it.create('arena');
    await plant(rootOf(it, 'arena'), { 'world/region/r.1.0.mca': randomBytes(6 * MIB) });
    const [first, second, other] = [await make(), await make(), await make('arena')];
    await it.ok('POST', `/v1/servers/lobby/backups/${first.id}:delete`);
    await it.passUntil(async () => (await stored()).length === 2, 1_000);
    t.deepEqual(await stored(), [second.id, other.id]);
    await it.ok('DELETE', '/v1/servers/arena');
    await it.passUntil(async () => (await stored()).length === 1, 1_000);
    t.deepEqual(await stored(), [second.id]);
    const before = await bytesBelow(join(on.folder, 'repository/data'));
    await it.passUntil(
      async () => (await bytesBelow(join(on.folder, 'repository/data'))) < before - 5 * MIB,
      3_600_000,
    );
    await restic(on, 'check', '--read-data');
    t.is((await it.during(restore(it, second.id))).status, 200);
  },
);

testReal('a damaged pack: the restore is refused and changes nothing', async (t) => {
  const { it, on, make } = await place(t);
  const { id } = await make();
  const data = join(on.folder, 'repository/data');
  const packs = (await readdir(data, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
  for (const { parentPath, name } of packs) {
    const content = await readFile(join(parentPath, name));
    content[20]! ^= 1;
    await rm(join(parentPath, name));
    await writeFile(join(parentPath, name), content);
  }
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played since' });
  const played = await treeOf(rootOf(it, 'lobby'));
  t.not((await it.during(restore(it, id))).status, 200);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), played);
});

testReal('a snapshot of a lost database is an orphan, and snapshots of another installation are not', async (t) => {
  const { it, on, make } = await place(t);
  const { id } = await make();
  const offSite = resticPlace(on);
  const store = offSite.store(on.location);
  await restic(on, 'backup', '--host', 'elsewhere', '--tag', 'server=castle,backup=bak_1', join(it.dataDir, 'servers'));
  t.deepEqual(
    (await store.list()).map((each) => each.id),
    [`lobby/${id}`],
  );
  await it.store.write((tx) => tx.run('DELETE FROM "backups"', []));
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const { key } = await it.mint(KEY_SCOPES);
  const list = async () => (await it.call('GET', '/v1/operator/orphans', { key })).json['orphans'] as { id: string }[];
  t.like(await list(), [{ kind: 'offsite', id: `lobby/${id}` }]);
  const body = { kind: 'offsite', id: `lobby/${id}`, reason: 'of a lost database' };
  t.is((await it.call('POST', '/v1/operator/orphans:remove', { key, body })).status, 200);
  await it.passUntil(async () => (await list()).length === 0, 1_000);
  await it.passUntil(async () => (await storedIn(on)).length === 1, 1_000);
  t.deepEqual(await storedIn(on), ['bak_1']);
});

testReal(
  'a removal waits for a running program that uses the repository, and not for one that was killed',
  async (t) => {
    const { it, on, make, stored } = await place(t);
    const { id } = await make();
    const locks = join(on.folder, 'repository/locks');
    const using = resticChild(on, 'backup', '--json', '--stdin', '--stdin-filename', 'held');
    const ended = once(using, 'exit');
    // It reports progress once it has its lock: two programs that lock at the same time both give up.
    await once(using.stdout, 'data');
    const [lock = ''] = await readdir(locks);
    const removing = resticPlace(on)
      .store(on.location)
      .remove([{ serverId: 'lobby', id }]);
    const error = await t.throwsAsync<Error & { reason?: string }>(removing);
    t.is(error?.reason, 'BACKUP_STORE_AWAY');
    t.regex(String(error?.cause), /already locked by PID/);
    await it.ok('POST', `/v1/servers/lobby/backups/${id}:delete`);
    t.deepEqual(await stored(), [id]);
    t.true((await readdir(locks)).includes(lock));
    using.kill('SIGKILL');
    await ended;
    await it.passUntil(async () => (await stored()).length === 0, 1_000);
    t.deepEqual(await readdir(locks), []);
  },
);

testReal('a repository is created with a password of its own, which is in a file and in no log', async (t) => {
  const on = { ...(await resticFolder(t)), resticPassword: '' };
  const logged: string[] = [];
  const log = createLog({ level: 'info', pretty: false, destination: { write: (line) => void logged.push(line) } });
  await resticPlace(on, undefined, log).passed();
  const password = (await readFile(join(on.dataDir, 'restic-password'), 'utf8')).trim();
  t.is(password.length, 32);
  t.true(logged.some((line) => line.includes('restic-password')));
  t.false(logged.join('').includes(password));
  await resticPlace(on).passed();
  const wrong = { ...on, resticPassword: 'another password' };
  const error = await t.throwsAsync(resticPlace(wrong).passed(), { message: /Set RESTIC_PASSWORD/ });
  t.like(error, { reason: 'BACKUP_STORE_REFUSED' });
  const none = { ...on, resticEnvironment: { PATH: '/nowhere' } };
  await t.throwsAsync(resticPlace(none).passed(), { message: /apt install restic/ });
});

testReal('a missing repository that has backups is not created anew, and restic without an answer ends', async (t) => {
  const on = await resticFolder(t);
  const missing = resticPlace(on, undefined, createLog({ level: 'silent' }), async () => true);
  t.like(await t.throwsAsync(missing.passed()), { reason: 'BACKUP_STORE_AWAY' });
  await t.throwsAsync(stat(join(on.folder, 'repository')));
  const { start } = createRestic({
    backupStore: null,
    resticPassword: 'p',
    resticEnvironment: {},
    dataDir: on.dataDir,
  })(`restic:rest:${await silentStore(t)}/`);
  await t.throwsAsync(start(['cat', 'config'], { limitMs: 500 }).ended, { message: /made no progress for 0.5 s/ });
});
