import { copyFile, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { type VersionShape } from '../support/modrinth.ts';
import { bench, listed, status } from './bench.ts';

test('adding a mod installs its dependencies, and removing it removes those that only it needed', async (t) => {
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

test('adding a mod returns an empty object, and a dry run returns the changes it would make', async (t) => {
  const it = await bench(t);
  it.registry.project('FabricApi', [{ id: 'fa1' }]);
  it.registry.project('Lithium', [{ id: 'l1', requires: [{ project_id: 'FabricApi' }] }]);
  const changes = [
    { name: 'Lithium', projectId: 'Lithium', source: 'modrinth', from: '', to: 'l1' },
    { name: 'FabricApi', projectId: 'FabricApi', source: 'modrinth', from: '', to: 'fa1' },
  ];
  const add = (dryRun: boolean) => it.ok('POST', '/v1/servers/abc/mods', { projectId: 'lithium', dryRun });
  t.deepEqual(await add(true), { changes });
  t.deepEqual(await listed(it), []);
  t.deepEqual(await add(false), {});
  t.deepEqual(await listed(it), ['Lithium l1', 'FabricApi fa1 dependency']);
  t.deepEqual(await add(true), { changes: [] });
});

test('an update of the server names its mods without a version for the new software', async (t) => {
  const it = await bench(t);
  it.registry.project('FabricApi', [{ id: 'fa1' }, { id: 'fa2', gameVersions: ['26.1'] }]);
  it.registry.project('Lithium', [{ id: 'l1', requires: [{ project_id: 'FabricApi' }] }]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Lithium' });
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'FabricApi' });
  const namedFor = async (body: object) => {
    const { update } = await it.ok('POST', '/v1/servers/abc:updateVersion', { ...body, dryRun: true });
    return (update as { modsWithoutVersion: string[] }).modsWithoutVersion;
  };
  t.deepEqual(await namedFor({ version: '26.1' }), ['Lithium']);
  t.deepEqual(await namedFor({ type: 'vanilla' }), ['FabricApi', 'Lithium']);
  const { version } = await it.ok('GET', '/v1/servers/abc');
  t.deepEqual(await namedFor({ version }), [], 'a build of the same version');
});

test('an update lists its changes in a dry run, applies them, and leaves pinned versions alone', async (t) => {
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
    { name: 'Lithium', projectId: 'Lithium', source: 'modrinth', from: 'l1', to: 'l2' },
    { name: 'FabricApi', projectId: 'FabricApi', source: 'modrinth', from: '', to: 'fa1' },
  ];
  t.deepEqual(await it.ok('POST', '/v1/servers/abc/mods:update', { dryRun: true }), { changes });
  t.deepEqual(await it.dir('mods'), ['lithium-l1.jar', 'pinned-1.0.jar']);
  t.deepEqual(await it.ok('POST', '/v1/servers/abc/mods:update', { projectIds: ['Pinned'] }), { changes: [] });
  t.deepEqual(await it.ok('POST', '/v1/servers/abc/mods:update', {}), { changes });
  t.deepEqual(await it.dir('mods'), ['fabricapi-fa1.jar', 'lithium-l2.jar', 'pinned-1.0.jar']);
  t.regex(await it.refused('/mods:update', { projectIds: ['Other'] }), /^MOD_NOT_INSTALLED/);
});

test('a mod that cannot be installed is refused with a reason and leaves the server unchanged', async (t) => {
  const it = await bench(t);
  const cases: [string, VersionShape[], RegExp][] = [
    [
      'Forgy',
      [{ id: 'x1', loaders: ['forge'] }],
      /^MOD_WRONG_LOADER: Forgy does not support fabric\. Supported: forge\.$/,
    ],
    [
      'Old',
      [{ id: 'x2', gameVersions: ['1.19'] }],
      /^MOD_WRONG_MINECRAFT_VERSION: Old does not support Minecraft 1\.21\.1 on fabric.*1\.19/,
    ],
    ['Needy', [{ id: 'x3', requires: [{ project_id: 'Gone' }] }], /^MOD_DEPENDENCY_MISSING: Needy needs .*Gone/],
    [
      'Needy2',
      [{ id: 'x4', requires: [{ project_id: 'Forgy' }] }],
      /^MOD_DEPENDENCY_MISSING: Needy2 needs .*Forgy does not support fabric/,
    ],
    ['Damaged', [{ id: 'x5', sha512: 'a'.repeat(128) }], /^CHECKSUM_MISMATCH/],
    ['Elsewhere', [{ id: 'x6', url: 'https://evil.example/x.jar' }], /^DOWNLOAD_REFUSED: .*evil\.example/],
    ['Inside', [{ id: 'x7', url: 'http://169.254.169.254/x.jar' }], /^DOWNLOAD_REFUSED/],
    ['Local', [{ id: 'x8', url: 'file:///etc/passwd' }], /^DOWNLOAD_REFUSED/],
    ['Climber', [{ id: 'x9', filename: '../../evil.jar' }], /^DOWNLOAD_REFUSED: The file of Climber is not a jar/],
    ['Script', [{ id: 'xa', filename: 'run.sh' }], /^DOWNLOAD_REFUSED/],
    ['Empty', [], /^MOD_VERSION_NOT_FOUND: Empty has no versions/],
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

test('a registry that limits or fails a request is retried, and a lasting failure returns REGISTRY_UNAVAILABLE', async (t) => {
  const it = await bench(t);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  it.registry.disturb('/v2/project/Lithium', status(429, { 'retry-after': '3' }), status(502));
  it.registry.disturb('/data', status(503), (reply) => {
    // Breaks off halfway.
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
  t.regex(await it.refused('/mods', { projectId: 'Lithium' }), /^REGISTRY_UNAVAILABLE: .*invalid response/);
});

test('mod downloads refuse redirects to foreign addresses and too many redirects', async (t) => {
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

test('plugins go into Paper’s folder, the sandbox refuses mods, and an existing file is not overwritten', async (t) => {
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

test('the next start repairs damaged and half-removed mods, and keeps jars added by hand', async (t) => {
  const it = await bench(t);
  it.registry.project('Lithium', [{ id: 'l1' }]);
  it.registry.project('Other', [{ id: 'o1' }]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Lithium' });
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Other' });
  // As after a kill between the write and the file changes: the row is deleted, but the file and its list entry remain.
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
  // A mod added while the game runs is placed at once; the game loads it at its next start.
  it.registry.project('Late', [{ id: 'l9' }]);
  await it.ok('POST', '/v1/servers/abc/mods', { projectId: 'Late' });
  t.true((await it.dir('mods')).includes('late-l9.jar'));
});

test('a restore brings back the mods of its backup, and undoing it brings back the later ones', async (t) => {
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
  // A backup extracts like any other archive, without its mod lists.
  await mkdir(it.file('in'));
  await copyFile(join(it.dataDir, `backups/abc/${id}.tar.zst`), it.file('in/a.tar.zst'));
  await it.ok('POST', '/v1/servers/abc/file:extract', { path: 'in/a.tar.zst', to: '' });
});

test('adding a mod is refused if a restore replaces the files during its download', async (t) => {
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

test('a mod search returns projects that run on servers, and refuses invalid filters', async (t) => {
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
  for (const [limit, most] of [
    ['0', '20'],
    ['500', '100'],
  ] as const) {
    await it.ok('GET', `/v1/mods/search?query=lith&limit=${limit}`);
    t.is(new URL(it.registry.asked.at(-1) ?? '', 'http://x').searchParams.get('limit'), most);
  }
  for (const bad of ['kind=shader', 'limit=-1', 'source=ftp', 'loader=A', 'version=%0a'])
    t.is((await it.call('GET', `/v1/mods/search?${bad}`)).reason, 'INVALID_FIELD', bad);
});

test('a mods folder that is a link receives no mods and does not prevent a start', async (t) => {
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

test('an account with too many mod searches is rate-limited, while another can still search', async (t) => {
  const it = await bench(t);
  const search = (n: number, key = it.key) => it.call('GET', `/v1/mods/search?query=m${n % 3}`, { key });
  for (let n = 0; n < 60; n++) await search(n);
  t.like(await search(0), { status: 429, reason: 'RATE_LIMITED' });
  t.is((await search(0, await it.stranger())).status, 200);
});
