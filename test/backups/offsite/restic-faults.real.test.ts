import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { MIB } from '../../../src/kernel/units.ts';
import { fewAtATime } from '../../support/few.ts';
import { isHere } from '../../support/needs.ts';
import { type OnRestic, restic, resticFolder, resticPlace } from '../../support/restic.ts';
import { BUCKET, S3_ACCESS, badLine, startS3 } from '../../support/s3.ts';
import { plant, treeOf } from '../../support/tree.ts';
import { headless } from '../headless.ts';

const run = promisify(execFile);
const CHILD = join(import.meta.dirname, '../killed-child.ts');
const takePlace = fewAtATime(2);

/** Plants a server, and returns a function that runs a process on it, which kills itself at a step if one is given. */
async function server(t: ExecutionContext, on: OnRestic) {
  await takePlace(t);
  t.timeout(300_000);
  const root = join(on.dataDir, 'servers/lobby');
  await plant(root, { 'world/level.dat': 'backed up', 'world/region/r.mca': randomBytes(60 * MIB) });
  const env = { ...process.env, TEST_RESTIC: JSON.stringify(on) };
  const child = (...given: string[]) => run(process.execPath, [CHILD, on.dataDir, ...given], { timeout: 180_000, env });
  return {
    root,
    child,
    killed: async (what: string, step: string) =>
      t.is((await t.throwsAsync<Error & { signal?: string }>(child(what, step)))?.signal, 'SIGKILL'),
    next: (what: string) => headless(on.dataDir, what, '', resticPlace(on)),
    /** The number of snapshots in the repository. */
    stored: async () => (JSON.parse(await restic(on, 'snapshots', '--json', '--no-lock')) as object[]).length,
  };
}

for (const step of ['upload-begun', 'part-sent', 'upload-completed', 'upload-stored'])
  test.runIf(isHere('restic'))(
    `an upload into a repository killed at ${step} is completed by the next process, once`,
    async (t) => {
      const on = await resticFolder(t);
      const { root, killed, next, stored } = await server(t, on);
      const saved = await treeOf(root);
      await killed('setup', step);
      t.like((await next('look')).backups, [{ kind: 'manual', state: 'ready', location: on.location }]);
      t.deepEqual(await readdir(join(on.dataDir, 'backups/lobby')), [], 'the folder has no archive left');
      t.is(await stored(), 1);
      await plant(root, { 'world/level.dat': 'played since' });
      t.like(await next('restore'), { state: 'hibernated', maintained: { failure: null } });
      t.deepEqual(await treeOf(root), saved);
      await restic(on, 'check', '--no-lock', '--read-data');
    },
  );

test.runIf(isHere('restic'))('a killed removal from a repository is completed by the next process', async (t) => {
  const on = await resticFolder(t);
  const { child, killed, next, stored } = await server(t, on);
  await child('setup');
  await killed('remove', 'object-removed');
  t.deepEqual((await next('look')).backups, []);
  t.is(await stored(), 0);
});

test.runIf(isHere('restic') && isHere('s3'))(
  'a line to S3 that is cut in the middle of uploads and of restores loses nothing',
  async (t) => {
    const s3 = await startS3();
    t.teardown(() => s3.remove());
    const line = await badLine(t, s3);
    const location = `restic:s3:${line.endpoint}/${BUCKET}/cut`;
    const on = { ...(await resticFolder(t)), location, resticEnvironment: S3_ACCESS };
    const { root, next, stored } = await server(t, on);
    const saved = await treeOf(root);
    let cuts = 0;
    line.fault = ({ method, url = '' }) =>
      url.includes('/data/') && ++cuts % 3 === 1
        ? method === 'PUT'
          ? { cutSent: 2 * MIB }
          : { cutReceived: 2 * MIB }
        : undefined;
    await resticPlace(on).passed();
    t.like((await next('setup')).backups, [{ kind: 'manual', state: 'ready', location }]);
    t.is(await stored(), 1);
    const sent = cuts;
    t.true(sent > 3, `${sent} requests`);
    await plant(root, { 'world/level.dat': 'played since' });
    t.like(await next('restore'), { state: 'hibernated', maintained: { failure: null } });
    t.true(cuts > sent);
    t.deepEqual(await treeOf(root), saved);
  },
);
