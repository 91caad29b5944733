import { access, copyFile, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { type Disk, unlimitedDisk } from '../../src/jail/space.ts';
import { type Mods, createMods } from '../../src/mods/mods.ts';
import { createPackInstaller } from '../../src/mods/packs.ts';
import { openModRegistries } from '../../src/mods/registries/registries.ts';
import { fakeDisk } from '../fakes/disk.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { type Modrinth, type VersionShape, modrinth, mrpack, sum } from '../support/modrinth.ts';

interface Bench extends ApiUnderTest {
  registry: Modrinth;
  mods: () => Mods;
  /** Names in a folder of the server. */
  dir: (folder: string) => Promise<string[]>;
  file: (path: string) => string;
  refused: (path: string, body: object) => Promise<string>;
}

/** A server `abc` of a type, on a service whose registry is a local Modrinth. `byImage`: packs are left to the game image. */
async function bench(
  t: ExecutionContext,
  fields: object = { type: 'fabric', version: '1.21.1' },
  disk: Disk = unlimitedDisk,
  byImage = false,
): Promise<Bench> {
  const registry = await modrinth(t);
  let mods: Mods | undefined;
  const it = await api(t, {
    world: {
      content: ({ store, clock, dataDir, lock }) => {
        const settings = { modrinthUrl: registry.url, curseforgeUrl: registry.url, curseforgeApiKey: '' };
        const registries = openModRegistries(settings, clock);
        const options = { registries, disk, dataDir, owner: undefined };
        mods = createMods({ ...options, store, lock });
        return byImage ? { mods } : { mods, installPack: createPackInstaller(options) };
      },
    },
    mods: () => mods!,
  });
  await it.create('abc', fields);
  const file = (path: string) => join(it.dataDir, 'servers', 'abc', path);
  return {
    ...it,
    // Downloads take real time, however fast the clock goes.
    async reach(id, state) {
      for (const end = Date.now() + 120_000; Date.now() < end; await delay(2)) {
        const now = await it.servers.get(id);
        if ((now?.state ?? 'gone') === state) return now;
        await it.clock.advance(50);
      }
      throw new Error(`${id} is ${(await it.servers.get(id))?.state}, not ${state}`);
    },
    registry,
    file,
    mods: () => mods!,
    dir: async (folder) => (await readdir(file(folder)).catch(() => [])).toSorted((a, b) => (a < b ? -1 : 1)),
    refused: async (path, body) => {
      const { json, reason } = await it.during(it.call('POST', `/v1/servers/abc${path}`, { body }));
      return `${reason}: ${String(json['message'])}`;
    },
  };
}

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (reply: ServerResponse) =>
    void reply.writeHead(code, headers).end();

async function listed({ ok }: ApiUnderTest): Promise<string[]> {
  const { mods } = (await ok('GET', '/v1/servers/abc/mods')) as { mods: Record<string, unknown>[] };
  return mods.map(
    (mod) => `${String(mod['projectId'])} ${String(mod['version'])}${mod['dependency'] ? ' dependency' : ''}`,
  );
}

test('a mod comes with what it needs, checked, into the folder of its core; it goes with what only it needed', async (t) => {
  const it = await bench(t);
  it.registry.project('FabricApi', [{ id: 'fa1' }]);
  it.registry.project('Base', [{ id: 'b1', requires: [{ project_id: null, version_id: 'fa1' }] }]);
  it.registry.project('Lithium', [
    { id: 'l1', gameVersions: ['1.20.1'] },
    { id: 'l2', requires: [{ project_id: 'FabricApi' }, { project_id: 'Base' }] },
    { id: 'l3', type: 'beta' },
    { id: 'l4', loaders: ['neoforge'] },
  ]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'lithium' });
  t.deepEqual(await listed(it), ['Lithium l2', 'Base b1 dependency', 'FabricApi fa1 dependency']);
  t.deepEqual(await it.dir('mods'), ['base-b1.jar', 'fabricapi-fa1.jar', 'lithium-l2.jar']);
  t.is(await readFile(it.file('mods/lithium-l2.jar'), 'utf8'), 'jar of Lithium l2');
  t.regex(
    await it.refused('/mods:remove', { projectId: 'FabricApi' }),
    /^MOD_REQUIRED: FabricApi is needed by Lithium, Base;/,
  );
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'FabricApi' });
  await it.ok('POST', '/v1/servers/abc/mods:remove', { projectId: 'Lithium' });
  t.deepEqual(await listed(it), ['FabricApi fa1']);
  t.deepEqual(await it.dir('mods'), ['fabricapi-fa1.jar']);
  const { entries } = (await it.ok('GET', '/v1/servers/abc/audit')) as {
    entries: { action: string; detail: string }[];
  };
  t.deepEqual(entries.map(({ action }) => action).slice(0, 3), ['mod.remove', 'mod.add', 'mod.add']);
});

test('an update tells what would change, changes it, leaves pinned versions alone, and follows the server’s version', async (t) => {
  const it = await bench(t);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  it.registry.project('Pinned', [{ id: 'p1', number: '1.0' }]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Lithium', versionSpec: 'beta' });
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Pinned', versionSpec: '1.0' });
  t.deepEqual(await it.ok('POST', '/v1/servers/abc/mods:update', {}), { changes: [] });
  it.registry.project('FabricApi', [{ id: 'fa1' }]);
  it.registry.project('Lithium', [{ id: 'l2', type: 'beta', requires: [{ project_id: 'FabricApi' }] }]);
  it.registry.project('Pinned', [{ id: 'p2', number: '2.0' }]);
  const changes = [
    { projectId: 'Lithium', source: 'modrinth', from: 'l1', to: 'l2' },
    { projectId: 'FabricApi', source: 'modrinth', from: '', to: 'fa1' },
  ];
  t.deepEqual(await it.ok('POST', '/v1/servers/abc/mods:update', { dryRun: true }), { changes });
  t.deepEqual(await it.dir('mods'), ['lithium-l1.jar', 'pinned-1.0.jar']);
  t.deepEqual(await it.ok('POST', '/v1/servers/abc/mods:update', { projectIds: ['Pinned'] }), { changes: [] });
  t.deepEqual(await it.ok('POST', '/v1/servers/abc/mods:update', {}), { changes });
  t.deepEqual(await it.dir('mods'), ['fabricapi-fa1.jar', 'lithium-l2.jar', 'pinned-1.0.jar']);
  t.regex(await it.refused('/mods:update', { projectIds: ['Other'] }), /^MOD_NOT_INSTALLED/);
});

test('P-09 what cannot be had leaves everything as it was, with a sentence that says why', async (t) => {
  const it = await bench(t);
  const cases: [string, VersionShape[], RegExp][] = [
    ['Forgy', [{ id: 'x1', loaders: ['forge'] }], /^MOD_WRONG_LOADER: Forgy is not made for fabric, but for forge\.$/],
    [
      'Old',
      [{ id: 'x2', gameVersions: ['1.19'] }],
      /^MOD_WRONG_MINECRAFT_VERSION: .*no Old for Minecraft 1\.21\.1 on fabric.*1\.19/,
    ],
    ['Needy', [{ id: 'x3', requires: [{ project_id: 'Gone' }] }], /^MOD_DEPENDENCY_MISSING: Needy needs .*Gone/],
    [
      'Needy2',
      [{ id: 'x4', requires: [{ project_id: 'Forgy' }] }],
      /^MOD_DEPENDENCY_MISSING: Needy2 needs .*Forgy is not made/,
    ],
    ['Damaged', [{ id: 'x5', sha512: 'a'.repeat(128) }], /^CHECKSUM_MISMATCH/],
    ['Elsewhere', [{ id: 'x6', url: 'https://evil.example/x.jar' }], /^DOWNLOAD_REFUSED: .*evil\.example/],
    ['Inside', [{ id: 'x7', url: 'http://169.254.169.254/x.jar' }], /^DOWNLOAD_REFUSED/],
    ['Local', [{ id: 'x8', url: 'file:///etc/passwd' }], /^DOWNLOAD_REFUSED/],
    ['Climber', [{ id: 'x9', filename: '../../evil.jar' }], /^DOWNLOAD_REFUSED: The file of Climber is no jar/],
    ['Script', [{ id: 'xa', filename: 'run.sh' }], /^DOWNLOAD_REFUSED/],
    ['Empty', [], /^MOD_VERSION_NOT_FOUND: Empty has no version at all/],
  ];
  for (const [id, versions] of cases) it.registry.project(id, versions);
  for (const [projectId, , message] of cases) t.regex(await it.refused('/mods', { projectId }), message, projectId);
  t.regex(await it.refused('/mods', { projectId: 'removed' }), /^MOD_NOT_FOUND/);
  t.regex(
    await it.refused('/mods', { projectId: 'Old', versionSpec: '9.9' }),
    /^MOD_VERSION_NOT_FOUND: Old has no version "9\.9"/,
  );
  t.regex(await it.refused('/mods', { projectId: 'x', source: 'curseforge' }), /^NOT_SUPPORTED/);
  for (const projectId of ['', '..', 'a/b', 'x'.repeat(65), 'a?b'])
    t.regex(await it.refused('/mods', { projectId }), /^INVALID_FIELD/);
  t.deepEqual([await listed(it), await it.dir('mods')], [[], []]);
});

test('P-09 a registry that is asked too often, or stumbles, is asked again; one that is away is told of', async (t) => {
  const it = await bench(t);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  it.registry.disturb('/v2/project/Lithium', status(429, { 'retry-after': '3' }), status(502));
  it.registry.disturb('/data', status(503), (reply) => {
    // Breaks off in the middle.
    reply.writeHead(200, { 'content-length': '100' }).write('jar');
    setImmediate(() => reply.destroy());
  });
  const before = it.clock.now();
  await it.during(it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Lithium' }));
  t.true(it.clock.now() - before >= 3_000);
  t.deepEqual(await it.dir('mods'), ['lithium-l1.jar']);
  it.registry.disturb('/v2/search', ...Array.from({ length: 9 }, () => status(500)));
  const answer = await it.during(it.call('GET', '/v1/mods/search?query=x'));
  t.deepEqual([answer.status, answer.reason], [503, 'REGISTRY_UNAVAILABLE']);
  it.registry.disturb('/v2/project', (reply) => void reply.end('{"id": 5}'));
  t.regex(await it.refused('/mods', { projectId: 'Lithium' }), /^REGISTRY_UNAVAILABLE: .*not understood/);
});

test('F-09 redirects lead only to where the registry’s files lie', async (t) => {
  const it = await bench(t);
  it.registry.project('Moved', [{ id: 'm1' }]);
  const to = (location: string) => status(302, { location });
  for (const location of [
    'http://127.0.0.1:1/x',
    'http://[::ffff:7f00:1]/x',
    'https://cdn.modrinth.com:8443/x',
    'https://u:p@cdn.modrinth.com/x',
    'gopher://x',
  ]) {
    it.registry.disturb('/data', to(location));
    t.regex(await it.refused('/mods', { projectId: 'Moved' }), /^DOWNLOAD_REFUSED/, location);
  }
  it.registry.disturb('/data', ...Array.from({ length: 9 }, () => to('/data/again')));
  t.regex(await it.refused('/mods', { projectId: 'Moved' }), /redirects too often/);
});

test('plugins go where Paper looks for them; cores that take nothing say so; a file of another’s is not touched', async (t) => {
  const it = await bench(t, { type: 'paper', version: '1.21.1' });
  await it.create('sand', { type: 'sandbox' });
  it.registry.project('LuckPerms', [
    { id: 'lp1', loaders: ['bukkit', 'paper', 'fabric'], filename: 'LuckPerms-Bukkit 5.jar' },
  ]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'LuckPerms' });
  t.deepEqual([await it.dir('plugins'), await it.dir('mods')], [['LuckPerms-Bukkit 5.jar'], []]);
  const sandbox = await it.call('POST', '/v1/servers/sand/mods', { body: { projectId: 'LuckPerms' } });
  t.is(sandbox.reason, 'MODS_NOT_SUPPORTED');
  await writeFile(it.file('plugins/own-1.jar'), 'mine');
  it.registry.project('Own', [{ id: 'o1', number: '1', loaders: ['paper'] }]);
  t.regex(await it.refused('/mods', { projectId: 'Own' }), /^MOD_FILE_EXISTS/);
  t.is(await readFile(it.file('plugins/own-1.jar'), 'utf8'), 'mine');
});

test('what was cut short, or taken away by hand, is put right by the next start', async (t) => {
  const it = await bench(t);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  it.registry.project('Other', [{ id: 'o1' }]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Lithium' });
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Other' });
  // As killed between the write and the files: the wish has gone, its file and the list have not.
  await it.store.write(async (tx) => void (await tx.run(`DELETE FROM "server_mods" WHERE "projectId" = 'Other'`)));
  const list = it.file('.dormouse-mods.json');
  const { files } = JSON.parse(await readFile(list, 'utf8')) as { files: Record<string, string> };
  await writeFile(
    list,
    JSON.stringify({ files: { ...files, 'mods/lithium-l1.jar': '', 'world/level.dat': 'x', '../../x': 'x' } }),
  );
  await writeFile(it.file('mods/lithium-l1.jar'), 'half');
  await writeFile(it.file('mods/by-hand.jar'), 'mine');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  t.deepEqual(await it.dir('mods'), ['by-hand.jar', 'lithium-l1.jar']);
  t.is(await readFile(it.file('mods/lithium-l1.jar'), 'utf8'), 'jar of Lithium l1');
  // An awake game keeps what it has open; the next start has the new set.
  it.registry.project('Late', [{ id: 'l9' }]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Late' });
  t.true((await it.dir('mods')).includes('late-l9.jar'));
});

test('R-06 a restore brings back the mods that went with the files, its undoing those of before, and the next start adds none', async (t) => {
  const it = await bench(t);
  const state = async () => [await listed(it), await it.dir('mods')];
  const restore = (id: string) => it.ok('POST', `/v1/servers/abc/backups/${id}:restore`);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Lithium' });
  const { id } = (await it.ok('POST', '/v1/servers/abc/backups')) as { id: string };
  const ready = await it.services.backups.finished({ serverId: 'abc', id }, new AbortController().signal);
  t.is(ready.state, 'ready', ready.error);
  it.registry.project('Lithium', [{ id: 'l2' }]);
  it.registry.project('Other', [{ id: 'o1' }]);
  await it.ok('POST', '/v1/servers/abc/mods:update', {});
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Other' });
  const [old, played] = [
    [['Lithium l1'], ['lithium-l1.jar']],
    [
      ['Lithium l2', 'Other o1'],
      ['lithium-l2.jar', 'other-o1.jar'],
    ],
  ];
  t.deepEqual(await state(), played);
  await restore(id);
  t.deepEqual(await state(), old);
  await restore('previous');
  t.deepEqual(await state(), played);
  await restore(id);
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  t.deepEqual(await state(), old);
  // A backup is an archive like any other: its lists are not put into another folder.
  await mkdir(it.file('in'));
  await copyFile(join(it.dataDir, `backups/abc/${id}.tar.zst`), it.file('in/a.tar.zst'));
  await it.ok('POST', '/v1/servers/abc/file:extract', { path: 'in/a.tar.zst', to: '' });
});

test('a change of mods into whose downloads a restore comes is refused, and changes nothing', async (t) => {
  const it = await bench(t);
  const { id } = (await it.ok('POST', '/v1/servers/abc/backups')) as { id: string };
  await it.services.backups.finished({ serverId: 'abc', id }, new AbortController().signal);
  const content = Buffer.from('a jar');
  it.registry.project('Lithium', [{ id: 'l1', content }]);
  const held = Promise.withResolvers<ServerResponse>();
  it.registry.disturb('/data/Lithium', (reply) => held.resolve(reply));
  const adding = it.refused('/mods', { projectId: 'Lithium' });
  const reply = await held.promise;
  await it.ok('POST', `/v1/servers/abc/backups/${id}:restore`);
  reply.end(content);
  t.regex(await adding, /^FILES_REPLACED: /);
  t.deepEqual([await listed(it), await it.dir('mods')], [[], []]);
});

test('a search asks for what runs on servers, and shows what the registry says', async (t) => {
  const it = await bench(t);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  const path = '/v1/mods/search?query=lith&kind=plugin&version=1.21.1&limit=5';
  const { projects } = (await it.ok('GET', path)) as { projects: object[] };
  t.deepEqual(projects, [
    {
      projectId: 'Lithium',
      slug: 'lithium',
      source: 'modrinth',
      kind: 'mod',
      name: 'Lithium',
      description: 'What Lithium does.',
      author: 'someone',
      downloads: '1234',
      iconUrl: '',
    },
  ]);
  const facets = JSON.parse(
    new URL(it.registry.asked.at(-1) ?? '', 'http://x').searchParams.get('facets') ?? '',
  ) as unknown;
  t.deepEqual(facets, [
    ['project_type:mod', 'project_type:plugin'],
    ['bukkit', 'spigot', 'paper', 'purpur', 'folia', 'sponge'].map((loader) => `categories:${loader}`),
    ['versions:1.21.1'],
    ['server_side:required', 'server_side:optional', 'server_side:unknown'],
  ]);
  for (const bad of ['kind=shader', 'limit=101', 'source=ftp', 'loader=A', 'version=%0a'])
    t.is((await it.call('GET', `/v1/mods/search?${bad}`)).reason, 'INVALID_FIELD', bad);
});

/** A file as a pack's index names it. */
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

test('a pack brings its files for servers, its overrides, its loader and its version; the next one takes them along', async (t) => {
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

test('what a pack lays over the folder gives way to the next one, but for what has changed since and for worlds', async (t) => {
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

test('SetModpack makes a backup first where there is a world, and refuses what it cannot install', async (t) => {
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

test('P-09 a pack that cannot be installed says why, leaves the server as it was, and RetryInstall mends it', async (t) => {
  const it = await bench(t);
  const good = await mrpack({ dependencies: DEPENDENCIES, files: [inPack(it, 'mods/a.jar')] });
  const file = { ...inPack(it, 'mods/a.jar') } as Record<string, unknown>;
  const bad = async (fields: object, more = {}) =>
    await mrpack({ dependencies: DEPENDENCIES, files: [{ ...file, ...fields }] }, more);
  const cases: [Buffer, string, RegExp][] = [
    [await bad({ path: '../evil.jar' }), 'modpack_invalid', /does not stay within the server/],
    [await bad({ path: 'mods\\..\\..\\evil.jar' }), 'modpack_invalid', /does not stay within/],
    [await bad({ path: '/etc/evil' }), 'modpack_invalid', /does not stay within/],
    [await bad({ path: 'C:/evil' }), 'modpack_invalid', /does not stay within/],
    [await bad({}, { 'overrides/.rcon-cli.env': 'x' }), 'modpack_invalid', /does not stay within/],
    [
      await bad({ hashes: { sha512: 'b'.repeat(128), sha1: 'b'.repeat(40) } }),
      'download_failed',
      /not what its registry vouches for/,
    ],
    [await bad({ downloads: ['http://169.254.169.254/latest'] }), 'download_failed', /none of its own/],
    [await mrpack({ dependencies: { minecraft: '1.21', rift: '1' } }), 'core_unavailable', /rift/],
    [await mrpack({ dependencies: {} }), 'modpack_invalid', /no version of Minecraft/],
    [await mrpack({ formatVersion: 2, dependencies: DEPENDENCIES }), 'modpack_invalid', /not understood/],
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

test('which version of a pack it is to be is settled before the image installs it, and stays at later starts', async (t) => {
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
  test(`what the image has chosen of a pack is read from what it leaves behind, and kept: ${title}`, async (t) => {
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

test('STOP calls an install off; one that is killed in the middle goes on by itself', async (t) => {
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

test('Q-02 neither mods nor a pack take more of the disk than the quota leaves; what goes is given back', async (t) => {
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

test('a folder of mods that is a link leads nowhere, and keeps no start from happening', async (t) => {
  const it = await bench(t);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  const elsewhere = join(it.dataDir, 'elsewhere');
  await mkdir(elsewhere);
  await mkdir(it.file(''), { recursive: true });
  await symlink(elsewhere, it.file('mods'));
  t.regex(await it.refused('/mods', { projectId: 'Lithium' }), /^(?:NOT_A_DIRECTORY|PATH_IS_LINK): mods/);
  t.deepEqual([await listed(it), await readdir(elsewhere)], [[], []]);
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
});
