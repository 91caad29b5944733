import { emptyBackup, insertBackup, patchBackup } from '../../../src/backups/rows.ts';
import * as rows from '../../../src/backups/offsite/rows.ts';
import { deleteServer, insertServer } from '../../../src/servers/rows.ts';
import { serverRow } from '../../support/store.ts';
import { onEachStore } from '../../store/on-each.ts';

const LOCATION = 'restic:/mnt/a';
const OLD = 'restic:/mnt/old';

onEachStore('queued off-site removals outlive their server and do not affect another one', async (t, store) => {
  await store.write(async (tx) => {
    for (const serverId of ['lobby', 'arena']) {
      await insertServer(tx, serverRow(serverId));
      for (const [id, location] of [
        ['bak_away', OLD],
        ['bak_near', ''],
        ['bak_half', ''],
      ] as const)
        await insertBackup(tx, { ...emptyBackup({ serverId, id }, 1), state: 'ready', location });
      await rows.insertUpload(tx, { serverId, backupId: 'bak_half', location: LOCATION, at: 2 });
    }
  });
  t.deepEqual(await rows.countUploads(store), { count: 2, since: 2 });
  t.deepEqual(await rows.listUploadsOf(store, 'lobby'), new Set(['bak_half']));
  const [half] = await rows.listUploads(store);
  t.like(await rows.getUpload(store, half!), { location: LOCATION, at: 2 });

  await store.write((tx) => rows.noteRemovals(tx, { serverId: 'lobby', id: 'bak_near' }, 3));
  t.deepEqual(await rows.listRemovals(store), [], 'a backup in the folder needs no removal');
  await store.write((tx) => rows.noteRemovals(tx, { serverId: 'lobby', id: 'bak_half' }, 4));
  const ofHalf = { location: LOCATION, serverId: 'lobby', backupId: 'bak_half', at: 4 };
  t.deepEqual(await rows.listRemovals(store), [ofHalf]);
  await store.write((tx) => rows.noteRemovals(tx, { serverId: 'lobby' }, 5));
  await store.write((tx) => deleteServer(tx, 'lobby'));
  const ofAway = { location: OLD, serverId: 'lobby', backupId: 'bak_away', at: 5 };
  t.deepEqual(await rows.listRemovals(store), [ofHalf, ofAway]);
  t.deepEqual(
    (await rows.listUploads(store)).map(({ serverId }) => serverId),
    ['arena'],
  );
  await store.write((tx) => rows.deleteRemoval(tx, ofHalf));
  t.deepEqual(await rows.listRemovals(store), [ofAway]);
  const arena = { serverId: 'arena', id: 'bak_half' };
  t.true(await store.write((tx) => patchBackup(tx, arena, { location: LOCATION }, ['ready'])));
  t.deepEqual([await rows.hasArchives(store, LOCATION), await rows.hasArchives(store, OLD)], [true, true]);
  await store.write((tx) => rows.deleteUpload(tx, { serverId: 'arena', backupId: 'bak_half' }));
  t.deepEqual(await rows.countUploads(store), { count: 0, since: null });
});
