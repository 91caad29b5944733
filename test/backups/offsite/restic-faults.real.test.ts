import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { MIB } from '../../../src/kernel/units.ts';
import { fewAtATime } from '../../support/few.ts';
import { isHere } from '../../support/needs.ts';
import { restic, resticFolder, resticPlace } from '../../support/restic.ts';
import { plant, treeOf } from '../../support/tree.ts';
import { headless } from '../headless.ts';

const run = promisify(execFile);
const CHILD = join(import.meta.dirname, '../killed-child.ts');
const takePlace = fewAtATime(2);

for (const step of ['upload-begun', 'part-sent', 'upload-completed', 'upload-stored'])
  test.runIf(isHere('restic'))(
    `an upload into a repository killed at ${step} is completed by the next process, once`,
    async (t) => {
      await takePlace(t);
      t.timeout(300_000);
      const on = await resticFolder(t);
      const root = join(on.dataDir, 'servers/lobby');
      await plant(root, { 'world/level.dat': 'backed up', 'world/region/r.mca': randomBytes(60 * MIB) });
      const saved = await treeOf(root);
      const env = { ...process.env, TEST_RESTIC: JSON.stringify(on) };
      const killed = run(process.execPath, [CHILD, on.dataDir, 'setup', step], { timeout: 180_000, env });
      t.is((await t.throwsAsync<Error & { signal?: string }>(killed))?.signal, 'SIGKILL');
      const next = (what: string) => headless(on.dataDir, what, '', resticPlace(on));
      t.like((await next('look')).backups, [{ kind: 'manual', state: 'ready', location: on.location }]);
      t.deepEqual(await readdir(join(on.dataDir, 'backups/lobby')), [], 'the folder has no archive left');
      t.is((JSON.parse(await restic(on, 'snapshots', '--json')) as object[]).length, 1);
      await plant(root, { 'world/level.dat': 'played since' });
      t.like(await next('restore'), { state: 'hibernated', maintained: { failure: null } });
      t.deepEqual(await treeOf(root), saved);
      await restic(on, 'unlock');
      await restic(on, 'check', '--read-data');
    },
  );
