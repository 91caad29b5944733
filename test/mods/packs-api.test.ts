import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { unlimitedDisk } from '../../src/jail/space.ts';
import { createPackInstaller } from '../../src/mods/packs.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { openModRegistries } from '../../src/mods/open.ts';
import { fakeDisk } from '../fakes/disk.ts';
import { mrpack, sum, zipOf } from '../support/modrinth.ts';
import { until } from '../support/until.ts';
import { type Bench, bench, status } from './bench.ts';

/** The entry of a file in a pack's index. */
function inPack({ registry }: Bench, path: string, fields: object = {}): object {
  const content = Buffer.from(`content of ${path}`);
  registry.project(`File${path}`.replaceAll(/\W/g, '_'), [
    { id: path.replaceAll(/\W/g, '_'), content, filename: 'f.jar' },
  ]);
  const name = path.replaceAll(/\W/g, '_');
  const downloads = [`${registry.url}/data/File${name}/versions/${name}/f.jar`];
  return {
    path,
    hashes: { sha512: sum(content), sha1: sum(content, 'sha1') },
    downloads,
    fileSize: content.length,
    ...fields,
  };
}

const PACK = { project_type: 'modpack' };

const DEPENDENCIES = { minecraft: '1.20.1', 'fabric-loader': '0.16.9' };

test('a pack installs its server files, overrides, loader and version, and the next version replaces them', async (t) => {
  const it = await bench(t, { type: 'vanilla', version: '1.21.1' });
  const first = await mrpack(
    {
      dependencies: DEPENDENCIES,
      files: [
        inPack(it, 'mods/both.jar'),
        inPack(it, 'mods/old.jar', { env: { client: 'required', server: 'optional' } }),
        inPack(it, 'mods/client.jar', { env: { client: 'required', server: 'unsupported' } }),
      ],
    },
    {
      'overrides/config/a.txt': 'a',
      'overrides/config/b.txt': 'b',
      'server-overrides/config/b.txt': 'server',
      'client-overrides/c.txt': 'c',
    },
  );
  const second = await mrpack({
    dependencies: { ...DEPENDENCIES, minecraft: '1.21' },
    files: [inPack(it, 'mods/both.jar')],
  });
  it.registry.project('Pack', [{ id: 'pk1', content: first, gameVersions: ['1.20.1'], filename: 'p.mrpack' }], PACK);
  const asked = await it.ok('POST', '/v1/servers/abc:setModpack', { platform: 'modrinth', ref: 'Pack' });
  t.deepEqual(
    [asked['state'], asked['type'], asked['version'], asked['modpackVersion']],
    ['installing', 'fabric', '1.20.1', 'pk1'],
  );
  const { row } = (await it.reach('abc', 'hibernated'))!;
  t.deepEqual([row.type, row.version, row.modpackRef, row.modpackVersion], ['fabric', '1.20.1', 'pack', 'pk1']);
  t.deepEqual(
    [await it.dir('mods'), await it.dir('config')],
    [
      ['both.jar', 'old.jar'],
      ['a.txt', 'b.txt'],
    ],
  );
  t.is(await readFile(it.file('config/b.txt'), 'utf8'), 'server');
  await t.throwsAsync(access(it.file('.dormouse-pack.mrpack')));
  t.deepEqual(JSON.parse(await readFile(it.file('.dormouse-loader.json'), 'utf8')), {
    core: 'fabric',
    version: '1.20.1',
    loader: '0.16.9',
  });
  it.registry.project('Pack', [{ id: 'pk2', content: second, gameVersions: ['1.21'], filename: 'p.mrpack' }], PACK);
  await it.ok('POST', '/v1/servers/abc:setModpack', { platform: 'modrinth', ref: 'pack' });
  const again = (await it.reach('abc', 'hibernated'))!;
  t.deepEqual([again.row.version, await it.dir('mods')], ['1.21', ['both.jar']]);
});

test('a pack exported on Windows installs despite backslashes in its paths and a byte order mark', async (t) => {
  const it = await bench(t);
  const index = { formatVersion: 1, game: 'minecraft', versionId: '1', name: 'P', dependencies: DEPENDENCIES };
  const text = `\uFEFF${JSON.stringify({ ...index, files: [inPack(it, 'mods\\one.jar')] })}`;
  // Use a placeholder of the same length, because no packer for Linux writes a backslash.
  const zip = await zipOf({ 'modrinth.index.json': text, 'overrides+config+a.toml': 'a=1' });
  const content = Buffer.from(zip.toString('latin1').replaceAll('overrides+config+', 'overrides\\config\\'), 'latin1');
  it.registry.project('Pack', [{ id: 'pk1', content, gameVersions: ['1.20.1'], filename: 'p.mrpack' }], PACK);
  await it.ok('POST', '/v1/servers/abc:setModpack', { platform: 'modrinth', ref: 'Pack' });
  const { context } = (await it.reach('abc', 'hibernated'))!;
  t.is(context.installFailure, null);
  t.deepEqual([await it.dir('mods'), await it.dir('config')], [['one.jar'], ['a.toml']]);
});

test('a new pack version removes the old one’s files, except changed files and world data', async (t) => {
  const it = await bench(t);
  const first = await mrpack(
    { dependencies: DEPENDENCIES },
    {
      'overrides/mods/old.jar': 'old',
      'overrides/mods/both.jar': 'first',
      'overrides/config/changed.txt': 'theirs',
      'overrides/config/plain.txt': 'plain',
      'overrides/world/level.dat': 'level',
      'overrides/world/region/r.0.0.mca': 'land',
      'server-overrides/world/datapacks/pack.zip': 'datapack',
    },
  );
  const second = await mrpack({ dependencies: DEPENDENCIES }, { 'overrides/mods/both.jar': 'second' });
  const file = { filename: 'p.mrpack' };
  const set = async () => {
    await it.during(it.ok('POST', '/v1/servers/abc:setModpack', { platform: 'modrinth', ref: 'Pack' }));
    await it.reach('abc', 'hibernated');
  };
  it.registry.project('Pack', [{ id: 'pk1', content: first, ...file }], PACK);
  await set();
  await writeFile(it.file('config/changed.txt'), 'mine');
  await writeFile(it.file('mods/own.jar'), 'own');
  it.registry.project('Pack', [{ id: 'pk2', content: second, ...file }], PACK);
  await set();
  t.deepEqual([await it.dir('mods'), await it.dir('config')], [['both.jar', 'own.jar'], ['changed.txt']]);
  t.is(await readFile(it.file('mods/both.jar'), 'utf8'), 'second');
  t.deepEqual([await it.dir('world/region'), await it.dir('world/datapacks')], [['r.0.0.mca'], []]);
});

test('SetModpack backs up an existing world first, and refuses packs that it cannot install', async (t) => {
  const it = await bench(t);
  it.registry.project(
    'Pack',
    [{ id: 'pk1', content: await mrpack({ dependencies: DEPENDENCIES }), filename: 'p.mrpack' }],
    PACK,
  );
  it.registry.project('Lithium', [{ id: 'l1' }]);
  const set = (body: object) => it.refused(':setModpack', body);
  t.regex(await set({ platform: 'modrinth', ref: 'Lithium' }), /^MODPACK_INVALID: Lithium is a mod/);
  t.regex(await set({ platform: 'modrinth', ref: 'Pack', version: 'none' }), /^MODPACK_NOT_FOUND/);
  t.regex(await set({ platform: 'modrinth', ref: 'gone' }), /^MOD_NOT_FOUND/);
  t.regex(await set({ platform: 'modrinth', ref: 'https://evil.example/x' }), /^INVALID_FIELD: ref/);
  t.regex(await set({ platform: 'ftp', ref: 'x' }), /^INVALID_FIELD: platform/);
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  t.regex(await set({ platform: 'modrinth', ref: 'Pack' }), /^SERVER_RUNNING/);
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  await mkdir(it.file('world'));
  await writeFile(it.file('world/level.dat'), 'level');
  await it.during(it.ok('POST', '/v1/servers/abc:setModpack', { platform: 'modrinth', ref: 'Pack' }));
  await it.reach('abc', 'hibernated');
  const { backups } = (await it.ok('GET', '/v1/servers/abc/backups')) as { backups: { kind: string; state: string }[] };
  t.deepEqual(
    backups.map(({ kind, state }) => [kind, state]),
    [['install', 'ready']],
  );
});

test('a failed pack install reports its reason and adds no mods, and RetryInstall installs the pack later', async (t) => {
  const it = await bench(t);
  const good = await mrpack({ dependencies: DEPENDENCIES, files: [inPack(it, 'mods/a.jar')] });
  const file = { ...inPack(it, 'mods/a.jar') } as Record<string, unknown>;
  const bad = async (fields: object, more = {}) =>
    await mrpack({ dependencies: DEPENDENCIES, files: [{ ...file, ...fields }] }, more);
  const cases: [Buffer, string, RegExp][] = [
    [await bad({ path: '../evil.jar' }), 'modpack_invalid', /contains a path outside the server/],
    [await bad({ path: 'mods\\..\\..\\evil.jar' }), 'modpack_invalid', /a path outside the server/],
    [await bad({ path: '/etc/evil' }), 'modpack_invalid', /a path outside the server/],
    [await bad({ path: 'C:/evil' }), 'modpack_invalid', /a path outside the server/],
    [await bad({}, { 'overrides/.rcon-cli.env': 'x' }), 'modpack_invalid', /a path outside the server/],
    [
      await bad({ hashes: { sha512: 'b'.repeat(128), sha1: 'b'.repeat(40) } }),
      'download_failed',
      /does not match the size or checksum/,
    ],
    [await bad({ downloads: ['http://169.254.169.254/latest'] }), 'download_failed', /does not belong to it/],
    [await mrpack({ dependencies: { minecraft: '1.21', rift: '1' } }), 'core_unavailable', /rift/],
    [await mrpack({ dependencies: {} }), 'modpack_invalid', /no Minecraft version/],
    [await mrpack({ formatVersion: 2, dependencies: DEPENDENCIES }), 'modpack_invalid', /invalid index/],
    [Buffer.from('no zip'), 'modpack_invalid', /./],
  ];
  for (const [index, [content]] of cases.entries())
    it.registry.project('Bad', [{ id: `bad${index}`, content, filename: 'p.mrpack' }], PACK);
  for (const [index, [, code, message]] of cases.entries()) {
    await it.ok('POST', '/v1/servers/abc:setModpack', { platform: 'modrinth', ref: 'Bad', version: `bad${index}` });
    const { context } = (await it.reach('abc', 'install_failed'))!;
    t.is(context.installFailure?.code, code, `${index} ${context.installFailure?.summary}`);
    t.regex(context.installFailure?.summary ?? '', message);
    t.deepEqual(await it.dir('mods'), []);
  }
  it.registry.project('Good', [{ id: 'g1', content: good, filename: 'p.mrpack' }], PACK);
  it.registry.disturb('/data/Good', ...Array.from({ length: 5 }, () => status(500)));
  await it.ok('POST', '/v1/servers/abc:setModpack', { platform: 'modrinth', ref: 'Good' });
  const away = (await it.reach('abc', 'install_failed'))!;
  t.is(away.context.installFailure?.code, 'download_failed');
  await it.ok('POST', '/v1/servers/abc:retryInstall');
  await it.reach('abc', 'hibernated');
  t.deepEqual(await it.dir('mods'), ['a.jar']);
  const { entries } = (await it.ok('GET', '/v1/servers/abc/diagnostics')) as { entries: { kind: string }[] };
  t.true(entries.length >= 5 && entries.every(({ kind }) => kind === 'install'));
});

test('a pack’s version is chosen before the image installs it, and stays at later starts', async (t) => {
  const it = await bench(t, undefined, undefined, true);
  const version = { gameVersions: ['1.16.4', '1.16.5'], loaders: ['forge'] };
  it.registry.project('Pack', [{ id: 'pk1', ...version, gameVersions: ['1.12.2'] }], PACK);
  it.registry.project('Pack', [{ id: 'pk2', ...version }]);
  await it.create('packed', { type: 'fabric', version: '', modpackPlatform: 'modrinth', modpackRef: 'pack' });
  const settled = { type: 'forge', version: '1.16.5', modpackVersion: 'pk2' };
  t.like((await it.reach('packed', 'hibernated'))?.row, settled);
  it.registry.project('Pack', [{ id: 'pk3', ...version }]);
  await it.command('packed', 'START');
  t.like((await it.reach('packed', 'running'))?.row, settled);
  for (const { image, env } of it.engine.specs)
    t.like(
      { image, ...env },
      { image: 'itzg/minecraft-server:java8', MODRINTH_MODPACK: 'pack', MODRINTH_VERSION: 'pk2' },
    );
  t.is(it.engine.specs.length, 2);
  await it.create('gone', { type: 'fabric', version: '', modpackPlatform: 'modrinth', modpackRef: 'none' });
  const { context } = (await it.reach('gone', 'install_failed'))!;
  t.is(context.installFailure?.code, 'download_failed');
  t.false(it.engine.installs.includes('gone'));
});

const LEFT_BY_THE_IMAGE: [string, object, Record<string, string>, object, object][] = [
  [
    'CurseForge',
    { type: 'fabric', modpackPlatform: 'curseforge', modpackRef: 'all-the-mods-10' },
    {
      '.install-curseforge.env':
        'MODPACK_NAME="All the Mods 10"\nMODPACK_VERSION="5.4"\nVERSION="1.20.1"\nTYPE="FORGE"\n',
      '.curseforge-manifest.json':
        '{"slug":"all-the-mods-10","modId":925200,"fileId":6789,"minecraftVersion":"1.20.1"}',
    },
    { type: 'forge', version: '1.20.1', modpackVersion: '6789' },
    { CF_SLUG: 'all-the-mods-10', CF_FILE_ID: '6789' },
  ],
  [
    'FTB',
    { type: 'fabric', modpackPlatform: 'ftb', modpackRef: '126' },
    {
      '.ftb-installed': '126=12345\n',
      'version.json': '{"targets":[{"name":"minecraft","version":"1.20.1"},{"name":"forge","version":"47.4.0"}]}',
    },
    { type: 'forge', version: '1.20.1', modpackVersion: '12345' },
    { FTB_MODPACK_ID: '126', FTB_MODPACK_VERSION_ID: '12345' },
  ],
  [
    'nonsense',
    { type: 'fabric', modpackPlatform: 'curseforge', modpackRef: 'all-the-mods-10' },
    {
      '.install-curseforge.env': 'VERSION="$(id)"\nTYPE="../../x"\nMODPACK_VERSION\n',
      '.curseforge-manifest.json': '{"fileId":"6789;id","minecraftVersion":["1"]}',
    },
    { type: 'fabric', version: '', modpackVersion: '' },
    { CF_SLUG: 'all-the-mods-10' },
  ],
];

for (const [title, fields, files, made, env] of LEFT_BY_THE_IMAGE) {
  test(`the pack version chosen by the image is read from its files and kept: ${title}`, async (t) => {
    const it = await bench(t, undefined, undefined, true);
    it.engine.script('packed', {});
    await it.create('packed', { version: '', ...fields });
    await it.until(() => it.engine.installs.length === 1);
    for (const [path, text] of Object.entries(files)) await writeFile(join(it.dataDir, 'servers/packed', path), text);
    it.engine.crash('packed', { code: 0 });
    t.like((await it.reach('packed', 'hibernated'))?.row, made);
    await it.command('packed', 'START');
    await it.reach('packed', 'running');
    t.like(it.engine.specs.at(-1)?.env, env);
    if (title !== 'nonsense') t.is(it.engine.specs.at(-1)?.image, 'itzg/minecraft-server:java17');
  });
}

test('STOP cancels a pack install, and an install interrupted by a kill of the service resumes on its own', async (t) => {
  const it = await bench(t);
  const content = await mrpack({ dependencies: DEPENDENCIES, files: [inPack(it, 'mods/a.jar')] });
  it.registry.project('Pack', [{ id: 'pk1', content, filename: 'p.mrpack' }], PACK);
  let held = 0;
  const hold = () => void held++;
  it.registry.disturb('/data/File', hold);
  await it.ok('POST', '/v1/servers/abc:setModpack', { platform: 'modrinth', ref: 'Pack' });
  await it.until(() => held === 1);
  t.regex(await it.refused('/mods', { projectId: 'x' }), /^SERVER_INSTALLING/);
  await it.ok('POST', '/v1/servers/abc:stop');
  const { context } = (await it.reach('abc', 'install_failed'))!;
  t.deepEqual([context.installFailure?.code, await it.dir('mods')], ['cancelled', []]);
  it.registry.disturb('/data/File', hold);
  await it.ok('POST', '/v1/servers/abc:retryInstall');
  await it.until(() => held === 2);
  await it.killAndRestart();
  await it.reach('abc', 'hibernated');
  t.deepEqual(await it.dir('mods'), ['a.jar']);
});

test('an install that ends long after its stop removes no files of the next install', async (t) => {
  const it = await bench(t);
  const content = await mrpack({ dependencies: DEPENDENCIES, files: [inPack(it, 'mods/a.jar')] });
  it.registry.project('Pack', [{ id: 'pk1', content, filename: 'p.mrpack' }], PACK);
  await mkdir(it.file(''), { recursive: true });
  const settings = { modrinthUrl: it.registry.url, curseforgeUrl: '', curseforgeApiKey: '' };
  const registries = openModRegistries(settings, it.clock);
  const installPack = createPackInstaller(
    { dataDir: it.dataDir, owner: undefined, disk: unlimitedDisk, lock: it.lock },
    registries,
    createWorkerPool(),
  );
  const { row } = (await it.servers.get('abc'))!;
  // The installation does not notice the stop, as when a slow disk keeps it busy.
  const install = () =>
    installPack(
      { ...row, modpackPlatform: 'modrinth', modpackRef: 'Pack', modpackVersion: 'pk1' },
      { signal: new AbortController().signal, progress: () => {} },
    );
  const held: ServerResponse[] = [];
  const hold = (reply: ServerResponse) => void held.push(reply);
  it.registry.disturb('/data/File', hold, hold);
  const isHeld = (count: number) => ({ what: `download ${count}`, withinMs: 30_000 });
  const first = install();
  await until(isHeld(1), () => held.length === 1);
  const second = install();
  // The second installation must wait for the first. If it does not, its download begins now.
  await until({ withinMs: 500 }, () => held.length === 2).catch(() => {});
  held[0]?.end('content of mods/a.jar');
  await first;
  await until(isHeld(2), () => held.length === 2);
  held[1]?.end('content of mods/a.jar');
  await second;
  t.deepEqual(await it.dir('mods'), ['a.jar']);
});

test('mods and packs that exceed the disk quota are refused, and removed files free their space', async (t) => {
  const disk = fakeDisk(1_000);
  const it = await bench(t, undefined, disk);
  it.registry.project('Big', [{ id: 'b1', content: Buffer.alloc(1_001) }]);
  it.registry.project('Fits', [
    { id: 'f1', content: Buffer.alloc(600) },
    { id: 'f2', content: Buffer.alloc(300) },
  ]);
  t.regex(await it.refused('/mods', { projectId: 'Big' }), /^DISK_QUOTA_EXCEEDED/);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Fits', versionSpec: 'f1' });
  t.deepEqual([disk.usedBytes, disk.openBytes], [600, 0]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Fits' });
  t.deepEqual([await it.dir('mods'), disk.openBytes, disk.freedTimes], [['fits-f2.jar'], 0, 1]);
  disk.usedBytes = 0;
  const dependencies = DEPENDENCIES;
  const bomb = await mrpack({ dependencies }, { 'overrides/big.txt': 'x'.repeat(5_000) });
  it.registry.project('Pack', [{ id: 'pk1', content: bomb, filename: 'p.mrpack' }], PACK);
  await it.ok('POST', '/v1/servers/abc:setModpack', { platform: 'modrinth', ref: 'Pack' });
  const { context } = (await it.reach('abc', 'install_failed'))!;
  t.deepEqual([context.installFailure?.code, disk.usedBytes, disk.openBytes], ['disk_full', 0, 0]);
});
