import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { runHere } from './in-process.ts';
import { startStandIn } from './program.ts';

const FOUND = {
  id: 'imp_1',
  name: 'Old',
  type: 'paper',
  version: '1.21.8',
  ramMb: 4096,
  files: 2,
  sizeBytes: '2048',
  worlds: [{ name: 'lobby', active: true }],
  mods: [{ name: 'Vault', version: '1.7' }],
  leftOut: [{ path: 'eula.txt', reason: 'You agree to it yourself.' }],
};

test('an archive is uploaded, its findings are shown, and it becomes a server; an earlier import is resumed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-import-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const archive = join(folder, 'Old.zip');
  await writeFile(archive, 'zip');
  const made = { id: 'old', addr: 'old.localhost:25565' };
  const service = await startStandIn(t, ({ path }) => [200, path.endsWith(':confirm') ? made : FOUND]);
  const env = { DORMOUSE_URL: service.url, DORMOUSE_KEY: 'dmk_x', HOME: '/nonexistent' };
  const { out, err } = await runHere(['import', archive, '--ram', '2G', '--yes'], env);
  for (const part of ['Paper 1.21.8', 'World lobby (active)', 'Vault 1.7', 'Not taken over: eula.txt', 'Created old'])
    t.true(out.includes(part), out + err);
  await runHere(['import', 'imp_1', '--resume', '--yes'], env);
  t.deepEqual(
    service.asked.map(({ method, path }) => `${method} ${path.split('?', 1)[0]}`),
    ['POST /v1/imports', 'POST /v1/imports/imp_1:confirm', 'GET /v1/imports/imp_1', 'POST /v1/imports/imp_1:confirm'],
  );
});
