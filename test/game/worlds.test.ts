import test from 'ava';
import { removeWorld, worldBytes, worldsIn } from '../../src/game/worlds.ts';
import { cage } from '../jail/cage.ts';

test('a removed world folder counts as zero bytes', async (t) => {
  const { jail, put } = await cage(t);
  put('world/level.dat', '12345');
  put('world_nether/level.dat', '12');
  const [world = { folders: [] }] = await worldsIn(jail, 'world');
  t.deepEqual(world.folders, ['world', 'world_nether']);
  t.is(await worldBytes(jail, world), 7);
  await jail.remove('world_nether');
  t.is(await worldBytes(jail, world), 5);
  await removeWorld(jail, 'world');
  t.is(await worldBytes(jail, world), 0);
});
