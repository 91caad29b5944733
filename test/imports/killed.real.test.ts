import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { tarOf } from '../support/server-archive.ts';
import { type Service, startService } from '../support/service.ts';
import { treeOf } from '../support/tree.ts';

/** Enough files that unpacking takes long enough to be seen. */
const FILES: Record<string, string> = {
  'server.properties': 'level-name=lobby\n',
  'lobby/level.dat': 'level',
  ...Object.fromEntries(Array.from({ length: 400 }, (_, nth) => [`lobby/region/r.${nth}.mca`, `region ${nth}`])),
};
const NAMES = Object.keys(FILES).sort();

/** Steps of a confirmation, as seen from outside. */
const STEPS: Record<string, (folder: string, root: string) => boolean> = {
  'the upload is stored': () => true,
  'unpacking has begun': (folder) => existsSync(join(folder, 'tree')),
  'some files are unpacked': (folder) =>
    existsSync(join(folder, 'tree')) && readdirSync(join(folder, 'tree')).length > 0,
  'the server is noted': (folder) => !existsSync(folder) || noted(folder),
  'the files are in place': (_folder, root) => existsSync(root),
  'the import is gone': (folder) => !existsSync(folder),
};

function noted(folder: string): boolean {
  try {
    return (JSON.parse(readFileSync(join(folder, 'import.json'), 'utf8')) as { serverId: string }).serverId !== '';
  } catch {
    return false;
  }
}

async function files(root: string): Promise<string[]> {
  const tree = (await treeOf(root)) as Record<string, unknown>;
  return Object.keys(tree)
    .filter((name) => NAMES.includes(name))
    .sort();
}

async function upload({ baseUrl, apiKey }: Service): Promise<string> {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/octet-stream' };
  const body = Uint8Array.from(tarOf(FILES));
  const answer = await fetch(`${baseUrl}/v1/imports?name=lobby.tar`, { method: 'POST', headers, body });
  return ((await answer.json()) as { id: string }).id;
}

for (const [step, isReached] of Object.entries(STEPS))
  test(`killed once ${step}: there is the whole server, or none and the import can be confirmed`, async (t) => {
    const service = await startService(t);
    const id = await upload(service);
    const folder = join(service.dataDir, 'imports', id);
    const root = join(service.dataDir, 'servers/lobby');
    const body = { type: 'sandbox', version: '1.21.4', ramMb: 128 };
    const confirmed = service.call('POST', `/v1/imports/${id}:confirm`, body).catch(() => undefined);
    while (!isReached(folder, root)) await setImmediate();
    await service.kill();
    await confirmed;
    await service.start();
    const { servers } = await service.call<{ servers: { id: string }[] }>('GET', '/v1/servers');
    const left = existsSync(join(service.dataDir, 'imports')) ? readdirSync(join(service.dataDir, 'imports')) : [];
    if (servers.length === 0) {
      t.false(existsSync(root), 'no files without a server');
      t.deepEqual(left, [id]);
      t.deepEqual(readdirSync(folder).sort(), ['archive', 'import.json']);
      await service.call('POST', `/v1/imports/${id}:confirm`, body);
    } else t.deepEqual(left, [], 'a server ends its import');
    t.deepEqual(
      (await service.call<{ servers: { id: string }[] }>('GET', '/v1/servers')).servers.map((each) => each.id),
      ['lobby'],
    );
    t.deepEqual(await files(root), NAMES);
    t.false(existsSync(folder));
  });
