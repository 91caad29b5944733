import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { modrinth, mrpack, sum } from '../support/modrinth.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

test('a Fabric server gets its mods and modpack without Java or Docker, and a killed install is completed', async (t) => {
  const registry = await modrinth(t);
  const service = await startService(t, { MODRINTH_URL: registry.url, MINECRAFT_EULA: 'accept' });
  const dir = async (id: string) =>
    (await readdir(join(service.dataDir, 'servers', id, 'mods')).catch(() => [])).length;
  const create = (name: string, fields: object) => service.call('POST', '/v1/servers', { name, ramMb: 512, ...fields });

  registry.project('FabricApi', [{ id: 'fa1' }]);
  registry.project('Lithium', [{ id: 'l1', requires: [{ project_id: 'FabricApi' }] }]);
  await create('fab', { type: 'fabric', version: '1.21.1' });
  await service.call('POST', '/v1/servers/fab/mods', { projectId: 'Lithium' });
  t.is(await readFile(join(service.dataDir, 'servers/fab/mods/lithium-l1.jar'), 'utf8'), 'jar of Lithium l1');
  t.is(await dir('fab'), 2);
  const box = await service.create('box', '1.20.4');
  const refused = service.call('POST', `/v1/servers/${box.id}/mods`, { projectId: 'Lithium' });
  await t.throwsAsync(refused, { message: /A server of type sandbox doesn’t support mods or plugins/ });
  const none = service.call('GET', '/v1/mods/search?source=curseforge&query=jei');
  await t.throwsAsync(none, { message: /501 .*CurseForge|501 .*curseforge are not available/ });

  const content = Buffer.alloc(100_000, 1);
  registry.project('Held', [{ id: 'h1', content }]);
  const downloads = [`${registry.url}/data/Held/versions/h1/held-h1.jar`];
  const hashes = { sha512: sum(content), sha1: sum(content, 'sha1') };
  const files = [{ path: 'mods/held.jar', hashes, downloads, fileSize: content.length }];
  const pack = await mrpack({ dependencies: { minecraft: '1.21.1', 'fabric-loader': '0.16.9' }, files });
  registry.project('Pack', [{ id: 'p1', content: pack, filename: 'p.mrpack' }], { project_type: 'modpack' });
  const held: unknown[] = [];
  registry.disturb('/data/Held', (reply) => void held.push(reply));
  const packed = { type: 'fabric', modpackPlatform: 'modrinth', modpackRef: 'pack' };
  t.is((await create('packed', packed)).state, 'installing');
  await until(() => held.length > 0);
  await service.kill();
  t.is(await dir('packed'), 0);
  await service.start();
  const { version } = (await service.reach('packed', 'hibernated')) as unknown as { version: string };
  t.deepEqual([version, await dir('packed')], ['1.21.1', 1]);
  // The downloads of the killed service are removed.
  const left = (await readdir(join(service.dataDir, 'servers/packed'))).filter((name) => /mrpack/.test(name));
  t.deepEqual(left, []);
});
