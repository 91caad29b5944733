import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { startService } from '../support/service.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

test('a service is backed up while it runs, and its servers, keys and people are there on another machine', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'service-backup-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const dormouse = async (dataDir: string, ...args: string[]) => {
    const env = { PATH: process.env['PATH'], ...COMPILE_CACHE, DATA_DIR: dataDir };
    // Where no .env is.
    return (await promisify(execFile)(process.execPath, [MAIN, ...args], { env, cwd: folder })).stdout;
  };
  const first = await startService(t);
  await first.create('castle', '1.21.4', { motd: 'of stone' });
  const archive = join(folder, 'service.tar.gz');
  t.true((await dormouse(first.dataDir, '--backup-service', archive)).includes(`${archive} holds the database`));
  await first.create('later', '1.21.4');
  const second = await startService(t, {}, ['src/main.ts'], async (dataDir) => {
    t.regex(await dormouse(dataDir, '--restore-service', archive), /^Restored as it was at 20/);
    return first.apiKey;
  });
  const { servers } = await second.call<{ servers: { id: string; motd: string; state: string }[] }>(
    'GET',
    '/v1/servers',
  );
  t.deepEqual(
    servers.map(({ id, motd, state }) => ({ id, motd, state })),
    [{ id: 'castle', motd: 'of stone', state: 'hibernated' }],
  );
});
