import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type OffSite, createOffSite } from '../../../src/backups/offsite/offsite.ts';
import { insertRemoval } from '../../../src/backups/offsite/rows.ts';
import type { FreeDisk } from '../../../src/disk/free.ts';
import { KEY_SCOPES } from '../../../src/http/scopes.ts';
import { type FakeArchiveStore, fakeArchiveStore } from '../../fakes/archive-store.ts';
import type { ApiUnderTest } from '../../support/api-harness.ts';
import { plant, treeOf } from '../../support/tree.ts';
import { backUp, backupsOf, filesOf, find, leaving, restore, rootOf, sleeping } from '../parts.ts';

interface Far {
  it: ApiUnderTest;
  store: FakeArchiveStore;
  /** The store of earlier settings. */
  old: FakeArchiveStore;
  /** Advances the clock until the backup is off site. */
  arrives: (id: string) => Promise<void>;
}

async function far(t: ExecutionContext, free?: FreeDisk, passed?: OffSite['passed']): Promise<Far> {
  const [store, old] = [fakeArchiveStore(), fakeArchiveStore()];
  const offSite = createOffSite('restic:/away', (of) => (of === 'restic:/away' ? store : old), passed);
  const it = await sleeping(t, { world: { room: { offSite, ...(free && { free }) } } });
  return {
    it,
    store,
    old,
    async arrives(id) {
      await it.passUntil(async () => (await find(it, 'lobby', id))?.offSite === true, 1_000);
      await it.until(async () => (await filesOf(it, 'lobby')).length === 0);
    },
  };
}

test('an unchecked store receives no calls, and backups are uploaded after its check passes', async (t) => {
  let isRight = false;
  const { it, store, arrives } = await far(t, undefined, async () => {
    if (!isRight) throw new Error('not checked yet');
  });
  const { id } = await backUp(it, 'lobby');
  await it.clock.advance(60_000);
  t.deepEqual(store.calls, []);
  t.is((await filesOf(it, 'lobby')).length, 1);
  isRight = true;
  await arrives(id);
});

test('backups work in the folder while the store is away, and off-site ones return BACKUP_STORE_AWAY', async (t) => {
  const { it, store, arrives } = await far(t);
  const away = await backUp(it, 'lobby');
  await arrives(away.id);
  store.fault = () => true;
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played since' });
  const played = await treeOf(rootOf(it, 'lobby'));
  const refused = await restore(it, away.id);
  t.deepEqual([refused.status, refused.reason], [503, 'BACKUP_STORE_AWAY'], refused.text);
  t.is((await it.call('GET', `/v1/servers/lobby/backups/${away.id}:download`)).reason, 'BACKUP_STORE_AWAY');
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), played);

  const near = await backUp(it, 'lobby');
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played again' });
  t.is((await it.during(restore(it, near.id))).status, 200);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), played);

  // The backup leaves the list at once. Its archive is removed once the store is reachable.
  await it.ok('POST', `/v1/servers/lobby/backups/${away.id}:delete`);
  t.is(await find(it, 'lobby', away.id), undefined);
  t.true(store.archives.has(`lobby/${away.id}`));
  store.fault = () => false;
  await arrives(near.id);
  await it.passUntil(async () => store.archives.size === 1, 1_000);
  t.deepEqual([...store.archives.keys()], [`lobby/${near.id}`]);
});

test('a store that becomes unreachable during a restore leaves the server’s files unchanged', async (t) => {
  const { it, store, arrives } = await far(t);
  const { id } = await backUp(it, 'lobby');
  await arrives(id);
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'played since' });
  const played = await treeOf(rootOf(it, 'lobby'));
  store.fault = (call) => call.startsWith('read');
  const answer = await it.during(restore(it, id));
  t.deepEqual([answer.status, answer.reason], [503, 'BACKUP_STORE_AWAY'], answer.text);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), played);
  store.fault = () => false;
  t.is((await it.during(restore(it, id))).status, 200);
});

test('a full disk during a restore from off site leaves the server’s files unchanged', async (t) => {
  let least = 0;
  const { it, arrives } = await far(t, { hold: (path, bytes) => leaving(least).hold(path, bytes) });
  const { id } = await backUp(it, 'lobby');
  await arrives(id);
  const before = await treeOf(rootOf(it, 'lobby'));
  least = Number.MAX_SAFE_INTEGER;
  const answer = await it.during(restore(it, id));
  t.deepEqual([answer.status, answer.reason], [429, 'DISK_FULL'], answer.text);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
});

test('a backup deleted during its upload leaves no archive in the store', async (t) => {
  const { it, store } = await far(t);
  store.held = (call) => (call.startsWith('send') ? new Promise(() => {}) : undefined);
  const { id } = await backUp(it, 'lobby');
  await it.until(() => store.calls.includes(`send lobby/${id}`));
  await it.ok('POST', `/v1/servers/lobby/backups/${id}:delete`);
  t.deepEqual(await backupsOf(it, 'lobby'), []);
  await it.passUntil(async () => (await it.store.query('SELECT 1 FROM "offsite_removals"')).length === 0, 1_000);
  t.is(store.archives.size, 0);
  t.deepEqual(await filesOf(it, 'lobby'), []);
});

test('a backup that cannot be uploaded does not block the next one', async (t) => {
  const { it, store, arrives } = await far(t);
  store.fault = () => true;
  const { id } = await backUp(it, 'lobby');
  await it.until(() => store.calls.includes(`send lobby/${id}`));
  store.fault = (call) => call.endsWith(id);
  const next = await backUp(it, 'lobby');
  // The clock stands still, so the failed upload is not retried.
  await it.until(async () => (await find(it, 'lobby', next.id))?.offSite === true);
  store.fault = () => false;
  await arrives(id);
});

test('the archives of a deleted server leave the store in one call, and those of a lost store are abandoned', async (t) => {
  const { it, store, old, arrives } = await far(t);
  const [first, second] = [await backUp(it, 'lobby'), await backUp(it, 'lobby')];
  await arrives(second.id);
  await it.store.write((tx) =>
    insertRemoval(tx, { location: 'restic:/old', serverId: 'lobby', backupId: 'b1', at: 0 }),
  );
  old.isLost = true;
  await it.ok('DELETE', '/v1/servers/lobby');
  await it.until(async () => (await it.store.query('SELECT 1 FROM "offsite_removals"')).length === 0);
  t.deepEqual(old.calls, ['remove lobby/b1']);
  const removed = store.calls.filter((call) => call.startsWith('remove'));
  t.is(removed.length, 1);
  for (const { id } of [first, second]) t.true(removed[0]?.includes(`lobby/${id}`));
});

test('an off-site archive without a backup is an orphan, and its removal leaves others alone', async (t) => {
  const { it, store, arrives } = await far(t);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const { key } = await it.mint(KEY_SCOPES);
  const list = async () => (await it.call('GET', '/v1/operator/orphans', { key })).json;
  const remove = (id: string, kind = 'offsite') =>
    it.call('POST', '/v1/operator/orphans:remove', { key, body: { kind, id, reason: 'of a lost database' } });
  const { id } = await backUp(it, 'lobby');
  await arrives(id);
  store.archives.set('castle/bak_of_before', Buffer.from('archive'));
  const { orphans } = (await list()) as { orphans: { kind: string; id: string; at: string }[] };
  t.deepEqual(
    orphans.map((each) => [each.kind, each.id]),
    [['offsite', 'castle/bak_of_before']],
  );
  t.true(Date.parse(orphans[0]?.at ?? '') > 0);

  t.is((await remove(`lobby/${id}`)).reason, 'ORPHAN_NOT_FOUND');
  store.fault = () => true;
  t.deepEqual(await list(), { orphans: [], unread: ['offsite'] });
  t.is((await remove('castle/bak_of_before')).reason, 'BACKUP_STORE_AWAY');
  await mkdir(join(it.dataDir, 'servers', 'old-lobby'));
  const asked = store.calls.length;
  t.is((await remove('old-lobby', 'data')).status, 200);
  t.is(store.calls.length, asked, 'a local orphan is removed without a call to the store');
  store.fault = () => false;
  t.is((await remove('castle/bak_of_before')).status, 200);
  await it.until(() => !store.archives.has('castle/bak_of_before'));
  t.deepEqual([...store.archives.keys()], [`lobby/${id}`]);
});
