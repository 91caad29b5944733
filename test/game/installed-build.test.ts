import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type WorkerPool, createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { forgetBuild, noteBuild, notedBuild } from '../../src/game/installed-build.ts';

const PAPER = { type: 'paper', version: '1.21.8', modpackPlatform: '' };
const NOTE = '.dormouse-build.json';
const OWN = { tenant: 'acc_test' };

/** A data root with the given files. A name that ends in a slash is a folder. */
async function folder(t: ExecutionContext, files: Record<string, object | string>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'dormouse-build-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path.endsWith('/') ? path : dirname(path)), { recursive: true });
    if (path.endsWith('/')) continue;
    await writeFile(join(root, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return root;
}

const names = (...paths: string[]) => Object.fromEntries(paths.map((path) => [path, '']));

for (const [what, type, files, build] of [
  [
    'the manifest of Paper',
    'paper',
    { '.papermc-manifest.json': { project: 'paper', minecraftVersion: '1.21.8', build: 60 } },
    '60',
  ],
  [
    'the manifest of Folia',
    'folia',
    { '.papermc-manifest.json': { project: 'folia', minecraftVersion: '1.21.8', build: 6 } },
    '6',
  ],
  [
    'the manifest of Purpur',
    'purpur',
    { '.purpur-manifest.json': { minecraftVersion: '1.21.8', build: '2500' } },
    '2500',
  ],
  [
    'the manifest of Fabric',
    'fabric',
    {
      '.fabric-manifest.json': {
        origin: { '@type': 'versions', game: '1.21.8', loader: '0.16.14', installer: '1.0.3' },
      },
    },
    '0.16.14',
  ],
  [
    'the manifest of Quilt',
    'quilt',
    { '.quilt-manifest.json': { minecraftVersion: '1.21.8', loaderVersion: '0.29.2-beta.3' } },
    '0.29.2-beta.3',
  ],
  [
    'the manifest of Forge',
    'forge',
    {
      '.forge-manifest.json': { minecraftVersion: '1.21.8', forgeVersion: '58.1.0' },
      ...names('libraries/net/minecraftforge/forge/1.21.8-58.0.1/'),
    },
    '58.1.0',
  ],
  [
    'the manifest of NeoForge',
    'neoforge',
    { '.neoforge-manifest.json': { minecraftVersion: '1.21.8', forgeVersion: '21.8.52' } },
    '21.8.52',
  ],
  ['the jar of Paper', 'paper', names('paper-1.21.8-60.jar', 'paper-1.21.4-232.jar'), '60'],
  ['the newest jar of Leaf', 'leaf', names('leaf-1.21.8-9.jar', 'leaf-1.21.8-60.jar'), '60'],
  ['the jar of Purpur', 'purpur', names('purpur-1.21.8-2500.jar'), '2500'],
  ['the launcher of Fabric', 'fabric', names('fabric-server-mc.1.21.8-loader.0.16.14-launcher.1.0.3.jar'), '0.16.14'],
  ['the launcher of Quilt', 'quilt', names('quilt-server-1.21.8-0.29.1-launcher.jar'), '0.29.1'],
  ['the library of Forge', 'forge', names('libraries/net/minecraftforge/forge/1.21.8-58.1.0/'), '58.1.0'],
  ['the library of NeoForge', 'neoforge', names('libraries/net/neoforged/neoforge/21.8.52/'), '21.8.52'],
] as const) {
  test(`the build is read from ${what} and noted for that type and version only`, async (t) => {
    const root = await folder(t, files);
    const row = { ...PAPER, type };
    t.is(await notedBuild(root, row), undefined);
    await noteBuild(root, row, OWN);
    t.is(await notedBuild(root, row), build);
    t.is(await notedBuild(root, { ...row, version: '1.21.9' }), undefined);
    t.is(await notedBuild(root, { ...row, type: type === 'paper' ? 'folia' : 'paper' }), undefined);
    t.is(await notedBuild(root, { ...row, modpackPlatform: 'modrinth' }), undefined);
    await forgetBuild(root);
    await forgetBuild(root);
    t.is(await notedBuild(root, row), undefined);
  });
}

for (const [what, type, files] of [
  [
    'names that a shell would read',
    'paper',
    names(
      'paper-1.21.8-$(id).jar',
      'paper-1.21.8-1 2.jar',
      'paper-1.21.8-1;x.jar',
      'paper-1.21.8-.jar',
      'paper-1.21.8-1\n.jar',
      `paper-1.21.8-${'9'.repeat(60)}.jar`,
      'paper-1.21.8-60.jar/',
    ),
  ],
  ['a version that only begins alike', 'paper', names('paper-1.21.80-60.jar', 'paper-1x21x8-60.jar')],
  [
    'several loaders',
    'neoforge',
    names('libraries/net/neoforged/neoforge/21.8.52/', 'libraries/net/neoforged/neoforge/21.8.9/'),
  ],
  [
    'loaders with shell in their names',
    'fabric',
    names('fabric-server-mc.1.21.8-loader.0.1`id`-launcher.1.jar', 'fabric-server-mc.1.21.8-loader.0.1.jar'),
  ],
  [
    'a manifest of another project',
    'paper',
    { '.papermc-manifest.json': { project: 'folia', minecraftVersion: '1.21.8', build: 6 } },
  ],
  [
    'a manifest of another version',
    'paper',
    { '.papermc-manifest.json': { project: 'paper', minecraftVersion: '1.21.4', build: 6 } },
  ],
  ['a manifest that lies', 'purpur', { '.purpur-manifest.json': { minecraftVersion: '1.21.8', build: '1; reboot' } }],
  ['an invalid manifest', 'purpur', { '.purpur-manifest.json': '{' }],
  ['a core whose version is its build', 'vanilla', names('minecraft_server.1.21.8.jar')],
  ['an empty folder', 'forge', {}],
] as const) {
  test(`no build is noted from ${what}`, async (t) => {
    const root = await folder(t, files);
    await noteBuild(root, { ...PAPER, type }, OWN);
    t.false((await readdir(root)).includes(NOTE));
  });
}

test('a long manifest is parsed in a worker, and an unparsable one is ignored', async (t) => {
  t.timeout(120_000);
  const pool = createWorkerPool();
  t.teardown(() => pool.close());
  let jobs = 0;
  const workers: Pick<WorkerPool, 'run'> = {
    run: (...given) => {
      jobs++;
      return pool.run(...given);
    },
  };
  const noted = async (manifest: object | string) => {
    const root = await folder(t, { '.papermc-manifest.json': manifest });
    await noteBuild(root, PAPER, { ...OWN, workers });
    return await notedBuild(root, PAPER);
  };
  const said = { project: 'paper', minecraftVersion: '1.21.8', build: 60 };
  t.is(await noted(said), '60');
  t.is(jobs, 0);
  t.is(await noted({ ...said, files: Array.from({ length: 10_000 }, (_, n) => `libraries/${n}.jar`) }), '60');
  t.is(jobs, 1);
  const depth = 8 * 1_048_576;
  t.is(await noted(`${'['.repeat(depth)}${']'.repeat(depth)}`), undefined);
  t.is(await noted(`{"build":60,`.repeat(100_000)), undefined);
  t.is(jobs, 3);
});

test('a forged build note is validated, links are not followed, and a missing folder has no note', async (t) => {
  const said = (build: unknown) => folder(t, { [NOTE]: { ...PAPER, build } });
  t.is(await notedBuild(await said('60'), PAPER), '60');
  for (const bad of ['60; reboot', 'latest', '', '6'.repeat(70), 60, null]) {
    t.is(await notedBuild(await said(bad), PAPER), undefined);
  }
  t.is(await notedBuild(await folder(t, { [NOTE]: '[' }), PAPER), undefined);
  const long = { ...PAPER, build: '60', more: 'x'.repeat(8_192) };
  t.is(await notedBuild(await folder(t, { [NOTE]: long }), PAPER), undefined, 'an oversized note is not read');
  const linked = await folder(t, {});
  await symlink(join(await said('60'), NOTE), join(linked, NOTE));
  t.is(await notedBuild(linked, PAPER), undefined);
  const away = await folder(t, { 'neoforge/21.8.52/': '' });
  await mkdir(join(linked, 'libraries/net'), { recursive: true });
  await symlink(away, join(linked, 'libraries/net/neoforged'));
  await noteBuild(linked, { ...PAPER, type: 'neoforge' }, OWN);
  t.is(await notedBuild(linked, { ...PAPER, type: 'neoforge' }), undefined);
  t.is(await notedBuild(join(linked, 'missing'), PAPER), undefined);
  await forgetBuild(join(linked, 'missing'));
});
