import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { Orphans } from '../../src/operators/orphans.ts';
import { insertServer } from '../../src/servers/rows.ts';
import { api } from '../support/api-harness.ts';
import { serverRow } from '../support/world.ts';

test('a server created while orphans are being listed is not an orphan', async (t) => {
  const it = await api(t);
  const { store, engine, dataDir } = it;
  const create = async () => {
    await store.write((tx) => insertServer(tx, serverRow('fresh', 'acc_test', { snapshot: '{}' })));
    await mkdir(join(dataDir, 'servers', 'fresh'), { recursive: true });
    const game = { serverId: 'fresh', up: true, installer: false, game: null, rcon: null, management: null };
    return [{ ...game, startedAt: 0, exit: null }];
  };
  const orphans = await Orphans.open({
    store,
    dataDir,
    log: it.services.log,
    engine: { list: create, kill: () => engine.kill('fresh'), erase: () => engine.erase('fresh') },
  });
  t.deepEqual(await orphans.list(), { orphans: [], unread: [] });
});
