import { join } from 'node:path';
import test from 'ava';
import { plant, treeOf } from '../support/tree.ts';
import { api, type ApiUnderTest } from './harness.ts';

interface Shown {
  id: string;
  state: string;
  error: string;
  sizeBytes: string;
}

const WORLD = { 'world/level.dat': 'level', 'world/region/r.0.0.mca': Buffer.alloc(300_000, 7), 'ops.json': '[]' };

const rootOf = (it: ApiUnderTest, id: string) => join(it.dataDir, 'servers', id);

async function backupsOf({ ok }: ApiUnderTest, id: string): Promise<Shown[]> {
  return (await ok('GET', `/v1/servers/${id}/backups`))['backups'] as Shown[];
}

/** Makes a backup and waits until it is what it will be. */
async function backUp(it: ApiUnderTest, id: string, state = 'ready'): Promise<Shown> {
  const made = await it.ok('POST', `/v1/servers/${id}/backups`);
  const backup = async () => (await backupsOf(it, id)).find((each) => each.id === made['id']);
  await it.until(async () => ['ready', 'failed'].includes((await backup())?.state ?? ''));
  const ended = await backup();
  if (ended?.state !== state) throw new Error(`backup is ${ended?.state}: ${ended?.error}`);
  return ended;
}

test('smoke', async (t) => {
  const it = await api(t);
  await it.create('lobby');
  await plant(rootOf(it, 'lobby'), WORLD);
  const before = await treeOf(rootOf(it, 'lobby'));
  const backup = await backUp(it, 'lobby');
  t.log(backup);
  await plant(rootOf(it, 'lobby'), { 'world/level.dat': 'changed', 'new.txt': 'x' });
  await it.ok('POST', `/v1/servers/lobby/backups/${backup.id}:restore`);
  t.deepEqual(await treeOf(rootOf(it, 'lobby')), before);
  t.log(await backupsOf(it, 'lobby'));
});
