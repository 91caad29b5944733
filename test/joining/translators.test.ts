import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { Routing } from '../../src/joining/routing.ts';
import { Translators } from '../../src/joining/translators.ts';
import { createLog } from '../../src/kernel/log.ts';
import { listRoutes } from '../../src/servers/rows.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { plant } from '../support/tree.ts';
import { world } from '../support/world.ts';

const PROTOCOL = 767;
const VERSION = '1.21.1';

test('a sleeping Fabric or Paper server allows only its own protocol unless a translator is installed', async (t) => {
  const w = await world(t);
  const { servers, clock, dataDir } = w;
  await w.create('fabric', { type: 'fabric', version: VERSION });
  await w.create('paper', { type: 'paper', version: VERSION });
  await w.create('mine', { type: 'custom', version: VERSION });
  const root = (id: string) => join(dataDir, 'servers', id);
  await plant(root('paper'), { 'plugins/ViaVersion-5.2.1.jar': '', 'plugins/LuckPerms.jar': '' });
  // Names that resemble a translator's, of jars that translate nothing.
  for (const name of ['Trivia-1.4.jar', 'via_romana-2.0.jar', 'aviation.jar', 'Viaduct.jar'])
    await plant(root('fabric'), { [`mods/${name}`]: '' });
  await plant(root('mine'), { 'server.jar': '' });
  const routing = new Routing({
    servers,
    clock,
    log: createLog({ level: 'silent' }),
    publicHost: 'play.example',
    sleepers: await listRoutes(w.store),
    joinPolicy: OPEN_POLICY,
    translators: new Translators(dataDir),
  });
  t.teardown(() => routing.close());
  const only = (id: string) => routing.lookup(`${id}.play.example`)?.protocol;
  const becomes = (id: string, expected: number | null) =>
    w.until(async () => {
      await clock.advance(15_000);
      return only(id) === expected;
    });
  t.is(only('fabric'), null, 'all versions are allowed until the files are read');
  await becomes('fabric', PROTOCOL);
  t.deepEqual([only('paper'), only('mine')], [null, null]);

  await plant(root('fabric'), { 'mods/viafabric-0.4.17.jar': '' });
  await becomes('fabric', null);
  await rm(join(root('paper'), 'plugins/ViaVersion-5.2.1.jar'));
  await plant(root('paper'), { 'plugins/ViaVersion/config.yml': '', 'plugins/ViaVersion.jar.disabled': '' });
  await becomes('paper', PROTOCOL);
  await servers.patch('paper', { clientVersions: 'any' });
  t.is(only('paper'), null, 'the owner’s setting comes first');
  await servers.patch('paper', { clientVersions: 'auto' });
  t.is(only('paper'), PROTOCOL);
  t.deepEqual(w.engine.boots, [], 'reading the files wakes no server');
});
