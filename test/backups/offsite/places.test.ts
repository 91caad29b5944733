import { createHash, randomBytes } from 'node:crypto';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createOffSite } from '../../../src/backups/offsite/offsite.ts';
import { fakeArchiveStore } from '../../fakes/archive-store.ts';
import type { ApiUnderTest } from '../../support/api-harness.ts';
import { plant, treeOf } from '../../support/tree.ts';
import { type Shown, WORLD, backUp, backupsOf, filesOf, find, restore, rootOf, sleeping } from '../parts.ts';

/** These tests run for backups in the folder and off site. */
interface Place {
  it: ApiUnderTest;
  /** Creates a backup and waits until it is in its place. */
  make(): Promise<Shown>;
  /** Returns the content of a backup's archive. */
  read(backup: string): Promise<Buffer>;
  /** Replaces it; undefined removes it. */
  replace(backup: string, content: Buffer | undefined): Promise<void>;
  /** The ids of all archives in this place, of every server. */
  names(): Promise<string[]>;
}

type Room = NonNullable<NonNullable<Parameters<typeof sleeping>[1]>['world']>['room'];

const PLACES: Record<string, (t: ExecutionContext, room: Room) => Promise<Place>> = {
  'the folder': inFolder,
  'an off-site store': inStore,
};

async function inFolder(t: ExecutionContext, room: Room): Promise<Place> {
  const it = await sleeping(t, { world: { room } });
  const folder = join(it.dataDir, 'backups');
  const fileOf = (backup: string) => join(folder, 'lobby', `${backup}.tar.zst`);
  return {
    it,
    make: () => backUp(it, 'lobby'),
    read: (backup) => readFile(fileOf(backup)),
    replace: (backup, content) => (content === undefined ? rm(fileOf(backup)) : writeFile(fileOf(backup), content)),
    names: async () => (await namesBelow(folder)).map((name) => name.replace('.tar.zst', '')),
  };
}

async function inStore(t: ExecutionContext, room: Room): Promise<Place> {
  const store = fakeArchiveStore();
  const it = await sleeping(t, { world: { room: { ...room, offSite: createOffSite('restic:/away', () => store) } } });
  return {
    it,
    async make() {
      const { id } = await backUp(it, 'lobby');
      await it.until(async () => (await find(it, 'lobby', id))?.offSite === true);
      await it.until(async () => (await filesOf(it, 'lobby')).length === 0);
      return (await find(it, 'lobby', id))!;
    },
    read: async (backup) => store.archives.get(`lobby/${backup}`)!,
    async replace(backup, content) {
      if (content === undefined) store.archives.delete(`lobby/${backup}`);
      else store.archives.set(`lobby/${backup}`, content);
    },
    names: async () => [...store.archives.keys()].map((key) => key.split('/')[1] ?? ''),
  };
}

async function namesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

for (const [name, open] of Object.entries(PLACES)) {
  test(`a backup in ${name} is downloaded unchanged, in full and in part`, async (t) => {
    const place = await open(t, {});
    const { it } = place;
    // More than one block of the file.
    await plant(rootOf(it, 'lobby'), { 'world/region/r.1.0.mca': randomBytes(700_000) });
    const backup = await place.make();
    const url = `${it.origin}/v1/servers/lobby/backups/${backup.id}:download`;
    const get = (headers: Record<string, string> = {}) => fetch(url, { headers: { 'x-api-key': it.key, ...headers } });
    const whole = await get();
    const bytes = Buffer.from(await whole.arrayBuffer());
    t.is(bytes.length, Number(backup.sizeBytes));
    const isZstd = bytes.readUInt32LE(0) === 0xfd2fb528;
    t.is(isZstd, name === 'the folder', 'an off-site store compresses on its own');
    t.is(whole.headers.get('repr-digest'), `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`);
    for (const [from, to] of [
      [0, 0],
      [65_535, 65_536],
      [10, 400_000],
      [bytes.length - 1, bytes.length - 1],
    ] as const) {
      const part = await get({ range: `bytes=${from}-${to}`, 'if-range': whole.headers.get('etag') ?? '' });
      t.is(part.status, 206);
      t.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(from, to + 1));
    }
    t.deepEqual(await place.read(backup.id), bytes);
    await place.replace(backup.id, undefined);
    t.is((await it.call('GET', `/v1/servers/lobby/backups/${backup.id}:download`)).reason, 'BACKUP_FILE_MISSING');
    t.is((await restore(it, backup.id)).reason, 'BACKUP_FILE_MISSING');
  });

  test(`a backup in ${name} is restored exactly, and a damaged one is refused`, async (t) => {
    const place = await open(t, {});
    const { it } = place;
    const saved = await treeOf(rootOf(it, 'lobby'));
    const { id } = await place.make();
    await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played since', 'world_nether/level.dat': 'new' });
    t.is((await it.during(restore(it, id))).status, 200);
    t.deepEqual(await treeOf(rootOf(it, 'lobby')), saved);

    const played = { 'world/level.dat': 'played again' };
    await plant(rootOf(it, 'lobby'), played);
    const before = await treeOf(rootOf(it, 'lobby'));
    const content = await place.read(id);
    const flipped = Buffer.from(content);
    flipped[content.length - 9]! ^= 1;
    await place.replace(id, flipped);
    t.is((await it.during(restore(it, id))).reason, 'BACKUP_CORRUPT');
    await place.replace(id, content.subarray(0, -1));
    t.is((await it.during(restore(it, id))).reason, 'BACKUP_FILE_MISSING');
    t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
  });

  test(`retention deletes backups from ${name}, but not locked ones or those of other servers`, async (t) => {
    const place = await open(t, {});
    const { it } = place;
    await it.create('arena');
    const none = { keepLast: 1, hourly: 0, daily: 0, weekly: 0, monthly: 0 };
    await it.ok('POST', '/v1/servers/lobby/backups:setRetention', none);
    const first = await place.make();
    await it.ok('POST', `/v1/servers/lobby/backups/${first.id}:setLocked`, { locked: true });
    await it.clock.advance(1_000);
    const second = await place.make();
    await it.clock.advance(1_000);
    const third = await place.make();
    const kept = [first.id, third.id].sort();
    await it.until(async () => (await place.names()).length === 2);
    t.deepEqual((await place.names()).sort(), kept);
    t.is((await it.call('POST', `/v1/servers/lobby/backups/${first.id}:delete`)).reason, 'BACKUP_LOCKED');
    t.is(await find(it, 'lobby', second.id), undefined);
    const { id } = await backUp(it, 'arena');
    await it.ok('POST', `/v1/servers/lobby/backups/${third.id}:delete`);
    t.deepEqual(await find(it, 'lobby', third.id), undefined);
    await it.until(async () => !(await place.names()).includes(third.id));
    await it.ok('DELETE', '/v1/servers/lobby');
    await it.reach('lobby', 'gone');
    const arena = async () =>
      (await place.names()).concat((await filesOf(it, 'arena')).map((file) => file.split('.')[0] ?? ''));
    await it.until(async () => new Set(await arena()).size === 1);
    t.true((await arena()).includes(id));
  });

  test(`backups in ${name} count against the backup quota of the server`, async (t) => {
    const place = await open(t, { quotaBytes: name === 'the folder' ? 1_600 : 500_000 });
    const { it } = place;
    await plant(rootOf(it, 'lobby'), { 'world/region/r.1.0.mca': randomBytes(750) });
    const { sizeBytes } = await place.make();
    t.true(Number(sizeBytes) > 750);
    await t.throwsAsync(place.make(), { message: /may use .* MB, and this one does not fit/ });
    t.is((await backupsOf(it, 'lobby')).length, 2);
    t.is((await place.names()).length, 1, 'the refused backup leaves no file');
  });
}

test('backups from before and after a change of the store setting are restored and removed in their own location', async (t) => {
  const store = fakeArchiveStore();
  const settings = { ...createOffSite('restic:/away', () => store), location: '' };
  const it = await sleeping(t, { world: { room: { offSite: settings } } });
  const saved = await treeOf(rootOf(it, 'lobby'));
  const inFolder = await backUp(it, 'lobby');
  settings.location = 'restic:/away';
  const away = await backUp(it, 'lobby');
  await it.until(async () => (await find(it, 'lobby', away.id))?.offSite === true);
  settings.location = '';
  t.is((await find(it, 'lobby', inFolder.id))?.offSite, false, 'the earlier backup stays in the folder');
  for (const { id } of [inFolder, away]) {
    await plant(rootOf(it, 'lobby'), { ...WORLD, 'world/level.dat': `not ${id}` });
    t.is((await it.during(restore(it, id))).status, 200);
    t.deepEqual(await treeOf(rootOf(it, 'lobby')), saved);
    await it.ok('POST', `/v1/servers/lobby/backups/${id}:delete`);
  }
  await it.until(async () => (await it.store.query('SELECT 1 FROM "offsite_removals"')).length === 0);
  t.is(store.archives.size, 0);
});
