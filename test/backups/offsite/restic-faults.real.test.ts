import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { MIB } from '../../../src/kernel/units.ts';
import { fewAtATime } from '../../support/few.ts';
import { isHere } from '../../support/needs.ts';
import { type OnRestic, restic, resticChild, resticFolder, resticPlace, startRest } from '../../support/restic.ts';
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

/** Runs `restic prune`, and kills it at this many changes of the repository. Returns false if it ended before. */
async function pruneKilled(on: OnRestic & { folder: string }, changes: number): Promise<boolean> {
  let seen = 0;
  const watcher = watch(join(on.folder, 'repository'), { recursive: true }, () => {
    if (++seen === changes) prune.kill('SIGKILL');
  });
  const prune = resticChild(on, 'prune', '--max-unused', '0');
  const [, signal] = (await once(prune, 'exit')) as [number | null, string | null];
  watcher.close();
  return signal === 'SIGKILL';
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

const BACKENDS = [
  {
    need: 's3',
    start: startS3,
    on: (endpoint: string) => ({ location: `restic:s3:${endpoint}/${BUCKET}/cut`, resticEnvironment: S3_ACCESS }),
  },
  { need: 'rclone', start: startRest, on: (endpoint: string) => ({ location: `restic:rest:${endpoint}/cut/` }) },
] as const;

for (const { need, start, on: at } of BACKENDS)
  test.runIf(isHere('restic') && isHere(need))(
    `a line to a store on ${need} that is cut in the middle of uploads and of restores loses nothing`,
    async (t) => {
      const backend = await start();
      t.teardown(() => backend.remove());
      const line = await badLine(t, backend);
      const on: OnRestic = { ...(await resticFolder(t)), ...at(line.endpoint) };
      const { root, next, stored } = await server(t, on);
      const saved = await treeOf(root);
      let cuts = 0;
      line.fault = ({ method, url = '' }) =>
        /\/data\/./.test(url) && ++cuts % 3 === 1
          ? method === 'GET'
            ? { cutReceived: 2 * MIB }
            : { cutSent: 2 * MIB }
          : undefined;
      await resticPlace(on).passed();
      t.like((await next('setup')).backups, [{ kind: 'manual', state: 'ready', location: on.location }]);
      t.is(await stored(), 1);
      const sent = cuts;
      t.true(sent > 3, `${sent} requests`);
      await plant(root, { 'world/level.dat': 'played since' });
      t.like(await next('restore'), { state: 'hibernated', maintained: { failure: null } });
      t.true(cuts > sent);
      t.deepEqual(await treeOf(root), saved);
      line.fault = () => undefined;
      await next('remove');
      t.is(await stored(), 0);
      await restic(on, 'check', '--no-lock');
    },
  );

test.runIf(isHere('restic'))(
  'a prune that is killed at any point loses no backup, and the next one ends',
  async (t) => {
    const on = await resticFolder(t);
    const { root, next } = await server(t, on);
    const saved = await treeOf(root);
    await resticPlace(on).passed();
    t.like((await next('setup')).backups, [{ state: 'ready' }]);
    for (let changes = 1, killed = true; killed; changes *= 2) {
      // What prune works on: packs that are half in use.
      await plant(join(on.folder, 'other'), { one: randomBytes(6 * MIB), [`two-${changes}`]: randomBytes(6 * MIB) });
      await restic(on, 'backup', '--host', 'elsewhere', join(on.folder, 'other'));
      await restic(on, 'forget', '--host', 'elsewhere', '--keep-last', '1');
      killed = await pruneKilled(on, changes);
      t.log(`${changes} changes: ${killed ? 'killed' : 'ended'}`);
      await plant(root, { 'world/level.dat': 'played since' });
      t.like(await next('restore'), { state: 'hibernated', maintained: { failure: null } });
      t.deepEqual(await treeOf(root), saved);
      await resticPlace(on).store(on.location).compact(new AbortController().signal);
    }
    await restic(on, 'check', '--read-data');
  },
);
