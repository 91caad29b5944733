import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { fewAtATime } from '../support/few.ts';
import { plant, treeOf } from '../support/tree.ts';
import { headless } from './headless.ts';

const run = promisify(execFile);
const CHILD = join(import.meta.dirname, 'killed-child.ts');
/** Each test starts one or two processes. Running all at once would make all of them late. */
const takePlace = fewAtATime(3);

const child = (...given: string[]) => run(process.execPath, [CHILD, ...given], { timeout: 180_000 });
/** A process removes only temporary files that are older than itself. */
const nextProcess = (folder: string) => child(folder, 'look');
const rootOf = (folder: string) => join(folder, 'servers/lobby');

/** A folder of one server, played on after its backup. It is created once and copied for each test. */
const made = make();
/** The same folder after a restore of the backup. */
const restored = made.then(async ({ folder, ...trees }) => {
  const after = await mkdtemp(join(tmpdir(), 'dormouse-killed-'));
  await cp(folder, after, { recursive: true, preserveTimestamps: true });
  await headless(after, 'restore');
  return { folder: after, ...trees };
});

async function make() {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-killed-'));
  const region = randomBytes(3_000_000);
  await plant(rootOf(folder), { 'world/level.dat': 'backed up', 'world/region/r.mca': region, 'plugins/a.jar': 'a' });
  const saved = await treeOf(rootOf(folder));
  await headless(folder, 'setup');
  return { folder, saved, played: await treeOf(rootOf(folder)) };
}

test.after.always(async () => {
  for (const { folder } of [await made, await restored]) await rm(folder, { recursive: true, force: true });
});

async function copy(t: ExecutionContext, from = made): Promise<{ folder: string; saved: object; played: object }> {
  await takePlace(t);
  t.timeout(300_000);
  const { folder: original, saved, played } = await from;
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-killed-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await cp(original, folder, { recursive: true, preserveTimestamps: true });
  return { folder, saved, played };
}

async function killed(t: ExecutionContext, folder: string, what: string, step: string): Promise<void> {
  const error = await t.throwsAsync<Error & { signal?: string }>(child(folder, what, step));
  t.is(error?.signal, 'SIGKILL', error?.message);
}

/** Asserts that no temporary files or folders are left. */
async function tidy(t: ExecutionContext, folder: string, ...siblings: string[]): Promise<void> {
  t.deepEqual((await readdir(join(folder, 'servers'))).sort(), ['lobby', ...siblings].sort());
  const archives = await readdir(join(folder, 'backups/lobby'));
  t.deepEqual(
    archives.filter((name) => !name.endsWith('.tar.zst')),
    [],
  );
}

for (const step of ['asked', 'extracting', 'extracted', 'staged', 'cleared', 'swapped', 'noted', 'cleaned'])
  test(`a restore killed at ${step} is completed by the next start, and the previous files are kept`, async (t) => {
    const { folder, saved, played } = await copy(t);
    await killed(t, folder, 'restore', step);
    const said = await headless(folder, 'look');
    t.deepEqual(await treeOf(rootOf(folder)), saved);
    t.deepEqual(await treeOf(`${rootOf(folder)}.previous`), played);
    t.like(said, { state: 'hibernated', version: '1.20.4', maintained: { failure: null } });
    t.deepEqual(said.backups.map(({ kind, state, version }) => `${kind} ${state} ${version}`).sort(), [
      'manual ready 1.20.4',
      'previous ready 1.21.4',
    ]);
    await tidy(t, folder, 'lobby.previous');
  });

for (const step of ['staged', 'cleared', 'swapped', 'noted', 'cleaned'])
  test(`an undo killed at ${step} brings back exactly the files from before the restore`, async (t) => {
    const { folder, played } = await copy(t, restored);
    await killed(t, folder, 'undo', step);
    const said = await headless(folder, 'look');
    t.deepEqual(await treeOf(rootOf(folder)), played);
    t.like(said, { state: 'hibernated', version: '1.21.4', maintained: { failure: null } });
    t.deepEqual(
      said.backups.map(({ kind }) => kind),
      ['manual'],
    );
    await tidy(t, folder);
  });

for (const step of ['asked', 'kept', 'removed', 'cleaned'])
  test(`a world reset killed at ${step} ends with a backup and without the world`, async (t) => {
    const { folder } = await copy(t);
    await killed(t, folder, 'reset', step);
    const said = await headless(folder, 'look');
    t.deepEqual(Object.keys(await treeOf(rootOf(folder))).sort(), ['plugins', 'plugins/a.jar']);
    t.deepEqual(said.backups.map(({ kind, state }) => `${kind} ${state}`).sort(), ['manual ready', 'reset ready']);
    await tidy(t, folder);
  });

for (const step of ['stopping', 'stopped', 'swapped'])
  test(`a restore of a running server killed at ${step} is completed by the next start, and the server runs again`, async (t) => {
    const { folder } = await copy(t);
    await killed(t, folder, 'restore-running', step);
    const said = await headless(folder, 'look');
    t.like(said, { state: 'running', version: '1.20.4', maintained: { failure: null } });
    t.is(await readFile(join(rootOf(folder), 'world/level.dat'), 'utf8'), 'backed up');
    t.false((await readdir(join(rootOf(folder)))).includes('world_nether'), 'the files of the played world are gone');
  });

for (const step of ['kept', 'swapped'])
  test(`a second restore killed at ${step} backs up the changes since the first and keeps the original files`, async (t) => {
    const { folder, saved, played } = await copy(t, restored);
    await plant(rootOf(folder), { 'world/level.dat': 'mended' });
    await killed(t, folder, 'restore', step);
    const said = await headless(folder, 'look');
    t.deepEqual(await treeOf(rootOf(folder)), saved);
    t.deepEqual(await treeOf(`${rootOf(folder)}.previous`), played);
    t.deepEqual(said.backups.map(({ kind, state }) => `${kind} ${state}`).sort(), [
      'manual ready',
      'previous ready',
      'restore ready',
    ]);
    await tidy(t, folder, 'lobby.previous');
  });

for (const step of ['asked', 'removed', 'cleaned'])
  test(`a world deletion killed at ${step} removes the whole world and no other files`, async (t) => {
    const { folder } = await copy(t);
    await killed(t, folder, 'delete', step);
    const said = await headless(folder, 'look');
    t.deepEqual(Object.keys(await treeOf(rootOf(folder))).sort(), ['plugins', 'plugins/a.jar']);
    t.like(said, { state: 'hibernated', maintained: { failure: null } });
    await tidy(t, folder);
  });

for (const step of ['begun', 'saved', 'archiving', 'archived'])
  test(`a backup killed at ${step} has failed with a reason, and the server’s files are unchanged`, async (t) => {
    const { folder, played } = await copy(t);
    await killed(t, folder, 'backup', step);
    const said = await headless(folder, 'look');
    t.deepEqual(await treeOf(rootOf(folder)), played);
    t.deepEqual(
      said.backups.map(({ state }) => state),
      ['failed', 'ready'],
    );
    t.regex(said.backups[0]?.error ?? '', /restarted/);
    t.is(said.state, 'hibernated');
    await tidy(t, folder);
    t.is((await readdir(join(folder, 'backups/lobby'))).length, 1, 'the failed backup leaves no file');
  });

test('the next start removes leftovers of kills in and beside the server folders', async (t) => {
  const { folder, played } = await copy(t, restored);
  const left = { '.dormouse-tmp/0123456789ab-upload': 'half', '.dormouse-tmp/0123456789ab-tree/world/r.mca': 'half' };
  await plant(rootOf(folder), left);
  await plant(`${rootOf(folder)}.previous`, left);
  await plant(`${rootOf(folder)}.trash`, { '0/a': 'a' });
  await plant(rootOf(folder), { 'server.properties.0123456789ab.tmp': 'half of it' });
  await plant(join(folder, 'servers/gone.previous'), { a: 'whose server is not known is for an operator' });
  await nextProcess(folder);
  t.deepEqual((await readdir(join(folder, 'servers'))).sort(), ['gone.previous', 'lobby', 'lobby.previous']);
  t.deepEqual(
    (await readdir(rootOf(folder))).filter((name) => name.endsWith('.tmp')),
    [],
  );
  for (const root of [rootOf(folder), `${rootOf(folder)}.previous`])
    t.deepEqual(await readdir(join(root, '.dormouse-tmp')), [], root);
  await rm(join(`${rootOf(folder)}.previous`, '.dormouse-tmp'), { recursive: true });
  t.deepEqual(await treeOf(`${rootOf(folder)}.previous`), played, 'a listed `previous` is kept');

  // An unlisted `previous` folder cannot be restored, so it is removed.
  const { folder: other } = await copy(t);
  await plant(`${rootOf(other)}.previous`, { 'world/level.dat': 'left behind' });
  await nextProcess(other);
  await tidy(t, other);
});
