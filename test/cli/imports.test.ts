import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { SERVER_FILES, tarOf } from '../support/server-archive.ts';
import { plant } from '../support/tree.ts';
import { commandsAt } from './in-process.ts';

test('the import command shows what an archive has, and creates a server or nothing', async (t) => {
  const { says, refuses, home, dataDir } = await commandsAt(t);
  const archive = join(home, 'Old one.tar');
  await writeFile(archive, tarOf(SERVER_FILES));
  await says(['import'], /^No uploads\.\n$/);
  await refuses(['import', join(home, 'none.tar')], /Cannot read or write .*none\.tar \(ENOENT\)/);
  await says(['import', archive], /paper 1\.21\.8[^]*World lobby \(active\)[^]*Nothing was created/, 'n\n');
  await says(['import'], /^No uploads\.\n$/);
  await says(
    ['import', archive, '--name', 'New one', '--ram', '1G', '--yes'],
    /Not taken over: [^]*Created new-one\. Join /,
  );
  t.true(existsSync(join(dataDir, 'servers/new-one/server.properties')));
  await writeFile(archive, 'no archive');
  await refuses(['import', archive, '--yes'], /zip/);
});

test('an export has what a start elsewhere needs; a world of an archive becomes one more of a server', async (t) => {
  const { says, refuses, home, dataDir, create } = await commandsAt(t);
  await create('castle');
  await plant(join(dataDir, 'servers/castle'), { 'world/level.dat': 'level' });
  const file = join(home, 'castle.zip');
  await says(['export', 'castle', file], /^Saved .*castle\.zip \(.+\)\.\n$/);
  t.is((await readFile(file)).subarray(0, 2).toString(), 'PK');
  await refuses(['export', 'castle', file], /already exists.*--force/);
  await says(['export', 'castle', file, '--force', '--json'], /"bytes": ?[0-9]+/);

  const world = join(home, 'islands.tar');
  await writeFile(world, tarOf({ 'islands/level.dat': 'islands', 'islands/region/r.0.0.mca': 'region' }));
  await says(['worlds', 'add', 'castle', world], /^castle has 2 worlds now\.\n$/);
  t.is(await readFile(join(dataDir, 'servers/castle/islands/level.dat'), 'utf8'), 'islands');
  await refuses(['worlds', 'add', 'castle', world], /islands/);
  await says(['import'], /^No uploads\.\n$/);
});
