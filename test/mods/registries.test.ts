import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { EngineError, type GameSpec } from '../../src/engines/engine.ts';
import { commandFor } from '../../src/engines/process/command.ts';
import { createFabricDownloads } from '../../src/engines/process/fabric-downloads.ts';
import { createJavas } from '../../src/engines/process/java-homes.ts';
import { createVanillaDownloads } from '../../src/engines/process/vanilla-downloads.ts';
import type { RegistryFile } from '../../src/kernel/registry/http.ts';
import type { StatusError } from '../../src/kernel/status.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { chooseVersion } from '../../src/mods/choice.ts';
import { findPack } from '../../src/mods/packs.ts';
import { createCurseForge } from '../../src/mods/registries/curseforge.ts';
import { createModrinth } from '../../src/mods/registries/modrinth.ts';
import { openModRegistries } from '../../src/mods/open.ts';
import { fakeClock } from '../fakes/clock.ts';
import { modrinth, sum } from '../support/modrinth.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;

/** A server with answers by path. `asked` lists its requests with their API keys. */
async function serve(t: ExecutionContext, answers: Record<string, unknown>) {
  const asked: { url: string; key: unknown }[] = [];
  const server = createServer((request, reply) => {
    const url = request.url ?? '';
    asked.push({ url, key: request.headers['x-api-key'] });
    const answer = answers[url.split('?')[0] ?? ''];
    if (answer === undefined) reply.writeHead(404).end();
    else if (typeof answer === 'function')
      (answer as (reply: ServerResponse, url: URL) => void)(reply, new URL(url, 'http://x'));
    else reply.end(Buffer.isBuffer(answer) ? answer : JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

test('a download with a wrong size or checksum fails with CHECKSUM_MISMATCH', async (t) => {
  const registry = await modrinth(t);
  const content = Buffer.alloc(200_000, 7);
  registry.project('A', [{ id: 'a1', content }]);
  const adapter = createModrinth(registry.url, systemClock);
  const { file } = await adapter.version('A', 'a1');
  t.deepEqual(await bytesOf(adapter.download(file, never)), content);
  const wrong: Partial<RegistryFile>[] = [
    { sizeBytes: 199_999 },
    { sizeBytes: 200_001 },
    { sha512: '0'.repeat(128) },
    { sha512: '', sha1: '0'.repeat(40) },
    { sha512: '', sha1: '' },
  ];
  for (const fields of wrong) {
    const error = await t.throwsAsync<StatusError>(bytesOf(adapter.download({ ...file, ...fields }, never)));
    t.is(error.reason, 'CHECKSUM_MISMATCH', JSON.stringify(fields));
  }
  t.is(
    (await bytesOf(adapter.download({ ...file, urls: [`${registry.url}/data/none`, ...file.urls] }, never))).length,
    200_000,
  );
  const huge = await t.throwsAsync<StatusError>(bytesOf(adapter.download({ ...file, sizeBytes: 2 ** 40 }, never)));
  t.is(huge.reason, 'DOWNLOAD_REFUSED');
});

test('an endless registry response is cut off, and a project id cannot change the request path', async (t) => {
  let sent = 0;
  const endless = (reply: ServerResponse) => {
    const more = () => {
      while (!reply.destroyed && reply.write(Buffer.alloc(1 << 20, 0x20))) sent += 1;
    };
    reply.on('drain', more);
    more();
  };
  const { url, asked } = await serve(t, { '/v2/project/endless': endless });
  const adapter = createModrinth(url, systemClock);
  t.is((await t.throwsAsync<StatusError>(adapter.project('endless'))).reason, 'REGISTRY_UNAVAILABLE');
  t.true(sent < 100);
  for (const id of ['..', '.', ''])
    t.is((await t.throwsAsync<StatusError>(adapter.project(id))).reason, 'MOD_NOT_FOUND');
  await t.throwsAsync(adapter.project('../../admin?x=1#'));
  t.is(asked.at(-1)?.url, '/v2/project/..%2F..%2Fadmin%3Fx%3D1%23');
});

test('CurseForge filters versions by loader, checks file hashes, and reports disallowed distribution', async (t) => {
  const content = Buffer.from('jar');
  const file = (id: number, fields: object = {}) => ({
    id,
    modId: 238_222,
    displayName: `jei-${id}`,
    fileName: `jei-${id}.jar`,
    releaseType: 1,
    fileDate: `2025-01-0${id}T00:00:00Z`,
    fileLength: content.length,
    downloadUrl: null,
    hashes: [
      { value: sum(content, 'sha1').toUpperCase(), algo: 1 },
      { value: 'x', algo: 2 },
    ],
    gameVersions: ['1.21.1', 'Fabric', 'Server'],
    dependencies: [
      { modId: 306_612, relationType: 3 },
      { modId: 1, relationType: 2 },
    ],
    ...fields,
  });
  const mod = {
    id: 238_222,
    slug: 'jei',
    name: 'Just Enough Items',
    summary: 'Items.',
    classId: 6,
    downloadCount: 5e8,
    logo: null,
    authors: [{ name: 'mezz' }],
  };
  const { url, asked } = await serve(t, {
    '/v1/mods/search': { data: [mod] },
    '/v1/mods/238222': { data: mod },
    '/v1/mods/238222/files': { data: [file(1), file(2, { gameVersions: ['1.21.1', 'Forge'] }), file(3)] },
    '/files/jei-3.jar': content,
  });
  const adapter = createCurseForge(url, 'geheim', systemClock);
  t.like(await adapter.project('jei'), { projectId: '238222', slug: 'jei', kind: 'mod', author: 'mezz' });
  t.like(await adapter.project('238222'), { title: 'Just Enough Items' });
  const versions = await adapter.versions('238222', { loaders: ['fabric'], minecraftVersion: '1.21.1' });
  t.deepEqual(
    versions.map(({ versionId }) => versionId),
    ['3', '1'],
  );
  t.deepEqual(versions[0]?.requires, [{ projectId: '306612', versionId: '' }]);
  const disallowed = await t.throwsAsync<StatusError>(bytesOf(adapter.download(versions[0]!.file, never)));
  t.deepEqual(
    [disallowed.reason, /do not allow automatic downloads/.test(disallowed.message)],
    ['MOD_DISTRIBUTION_DISALLOWED', true],
  );
  const allowed = { ...versions[0]!.file, urls: [`${url}/files/jei-3.jar`] };
  t.deepEqual(await bytesOf(adapter.download(allowed, never)), content);
  t.true(asked.every(({ key }) => key === 'geheim'));
  t.like(await adapter.search({ query: 'jei', kind: 'mod', loader: 'fabric', minecraftVersion: '1.21.1', limit: 5 }), [
    { slug: 'jei' },
  ]);
  t.regex(
    asked.at(-1)?.url ?? '',
    /gameId=432.*searchFilter=jei.*classId=6&gameVersion=1\.21\.1&modLoaderType=4&index=0&pageSize=5$/,
  );
});

test('identical mod searches share one request for a minute', async (t) => {
  const registry = await modrinth(t);
  registry.project('Lithium', [{ id: 'l1' }]);
  const clock = fakeClock();
  const settings = { modrinthUrl: registry.url, curseforgeUrl: '', curseforgeApiKey: '' };
  const [adapter] = openModRegistries(settings, clock);
  const search = (query: string) =>
    adapter!.search({ query, kind: '', loader: '', minecraftVersion: '', limit: 5 }, never);
  const [first, second] = await Promise.all([search('lith'), search('lith')]);
  t.deepEqual(
    [first, second, await search('lith')].map(({ length }) => length),
    [1, 1, 1],
  );
  t.is(registry.asked.length, 1);
  await search('other');
  t.is(registry.asked.length, 2);
  await clock.advance(60_000);
  await search('lith');
  t.is(registry.asked.length, 3);
});

test('a registry’s Retry-After delays or refuses all requests to it until it is over', async (t) => {
  const registry = await modrinth(t);
  for (const id of ['A', 'B', 'C']) registry.project(id, [{ id: `${id}1` }]);
  const clock = fakeClock();
  const adapter = createModrinth(registry.url, clock);
  const tooOften = (seconds: number) => (reply: ServerResponse) =>
    void reply.writeHead(429, { 'retry-after': String(seconds) }).end();
  registry.disturb('/v2/project/A', tooOften(10));
  const first = adapter.project('A');
  await until(() => clock.pending() === 1);
  const second = adapter.project('B');
  await clock.advance(9_000);
  t.deepEqual(registry.asked, ['/v2/project/A']);
  await clock.advance(1_000);
  t.deepEqual([(await first).slug, (await second).slug], ['a', 'b']);

  registry.disturb('/v2/project/A', tooOften(120));
  const refusal = { message: /has received too many requests/ };
  await t.throwsAsync(adapter.project('A'), refusal);
  const asked = registry.asked.length;
  const error = await t.throwsAsync<StatusError>(adapter.project('C'), refusal);
  t.deepEqual(
    [error.reason, error.options.retryAfterSeconds, registry.asked.length],
    ['REGISTRY_UNAVAILABLE', 120, asked],
  );
  await clock.advance(120_000);
  t.is((await adapter.project('C')).slug, 'c');
});

test('a registry receives at most 16 requests at once', async (t) => {
  const held: (() => void)[] = [];
  let most = 0;
  const hold = (reply: ServerResponse) => {
    most = Math.max(
      most,
      held.push(() => void reply.writeHead(404).end()),
    );
  };
  const ids = Array.from({ length: 40 }, (_, nth) => `p${nth}`);
  const { url, asked } = await serve(t, Object.fromEntries(ids.map((id) => [`/v2/project/${id}`, hold])));
  const adapter = createModrinth(url, systemClock);
  const gone = new AbortController();
  const waiting = ids.map((id, nth) => t.throwsAsync(adapter.project(id, nth === 39 ? gone.signal : never)));
  await until(() => held.length >= 16);
  // Leave enough round trips for any further request to arrive.
  for (let trip = 0; trip < 5; trip++) await (await fetch(url)).text();
  t.is(held.length, 16);
  gone.abort();
  await waiting[39];
  for (let answered = 0; answered < 39; answered++) {
    await until(() => held.length > 0);
    held.shift()?.();
  }
  await Promise.all(waiting);
  t.deepEqual([most, asked.filter((each) => each.url.startsWith('/v2/')).length], [16, 39]);
});

test('a registry’s last allowed requests are reserved for project lookups, and searches are refused', async (t) => {
  const headers = { 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '99', 'x-ratelimit-reset': '20' };
  const none = (reply: ServerResponse) => void reply.writeHead(404, headers).end();
  const found = { hits: [], offset: 0, limit: 5, total_hits: 0 };
  const { url } = await serve(t, { '/v2/project/a': none, '/v2/search': found });
  const clock = fakeClock();
  const adapter = createModrinth(url, clock);
  const search = () => adapter.search({ query: '', kind: '', loader: '', minecraftVersion: '', limit: 5 });
  t.deepEqual(await search(), []);
  t.is((await t.throwsAsync<StatusError>(adapter.project('a'))).reason, 'MOD_NOT_FOUND');
  const error = await t.throwsAsync<StatusError>(search());
  t.deepEqual([error.reason, error.options.retryAfterSeconds], ['REGISTRY_UNAVAILABLE', 20]);
  t.is((await t.throwsAsync<StatusError>(adapter.project('a'))).reason, 'MOD_NOT_FOUND');
  await clock.advance(20_000);
  t.deepEqual(await search(), []);
});

/** A registry with one pack of many versions, newest first, and mods of the same name. */
function manyFiles(count: number): Record<string, unknown> {
  const mod = (id: number, slug: string, classId: number) => {
    return { id, slug, name: slug, summary: '', classId, downloadCount: 1, logo: null, authors: [] };
  };
  const files = Array.from({ length: count }, (_, nth) => ({
    id: 10_000 - nth,
    modId: 7,
    displayName: `pack ${count - nth}`,
    fileName: 'pack.zip',
    releaseType: 1,
    fileDate: new Date(1_700_000_000_000 - nth * 60_000).toISOString(),
    fileLength: 1,
    downloadUrl: null,
    hashes: [],
    gameVersions: ['1.20.1', 'Forge'],
    dependencies: [],
  }));
  const mods = [
    mod(1, 'pack', 6),
    ...Array.from({ length: 130 }, (_, nth) => mod(100 + nth, `m${nth}`, 6)),
    mod(7, 'pack', 4471),
  ];
  const page = (all: object[], reply: ServerResponse, { searchParams: query }: URL) => {
    const from = Number(query.get('index') ?? 0);
    const data = all.slice(from, from + Math.min(50, Number(query.get('pageSize') ?? 50)));
    reply.end(JSON.stringify({ data, pagination: { index: from, totalCount: all.length } }));
  };
  return {
    '/v1/mods/search': (reply: ServerResponse, url: URL) => {
      const [classId, slug] = [url.searchParams.get('classId'), url.searchParams.get('slug')];
      const found = mods.filter(
        (each) => (!classId || each.classId === Number(classId)) && (!slug || each.slug === slug),
      );
      page(found, reply, url);
    },
    '/v1/mods/7': { data: mod(7, 'pack', 4471) },
    '/v1/mods/7/files': (reply: ServerResponse, url: URL) => page(files, reply, url),
    ...Object.fromEntries(files.map((file) => [`/v1/mods/7/files/${file.id}`, { data: file }])),
  };
}

test('CurseForge returns all pages of versions, and finds a pack despite a mod of the same name', async (t) => {
  const { url, asked } = await serve(t, manyFiles(120));
  const adapter = createCurseForge(url, 'geheim', systemClock);
  const pack = (modpackVersion: string) =>
    findPack(adapter, { modpackRef: 'pack', modpackVersion, version: '' }, never);
  t.is((await pack('')).version.versionId, '10000');
  t.is((await pack('pack 3')).version.versionId, '9883');
  t.is((await adapter.versions('7', { minecraftVersion: '1.20.1' })).length, 120);
  asked.length = 0;
  t.is((await pack('9881')).version.number, 'pack 1');
  t.deepEqual(
    asked.map((each) => each.url.split('?')[0]),
    ['/v1/mods/search', '/v1/mods/7/files/9881'],
  );
  t.is((await t.throwsAsync<StatusError>(pack('5'))).reason, 'MODPACK_NOT_FOUND');
  const forge = { type: 'forge', version: '1.20.1' };
  const project = { projectId: '7', title: 'Pack' };
  t.is((await chooseVersion(adapter, project, '9882', forge, never)).number, 'pack 2');
  const why = async (host: typeof forge) =>
    (await t.throwsAsync<StatusError>(chooseVersion(adapter, project, '9882', host, never))).reason;
  t.is(await why({ ...forge, type: 'fabric' }), 'MOD_WRONG_LOADER');
  t.is(await why({ ...forge, version: '1.21' }), 'MOD_WRONG_MINECRAFT_VERSION');
  t.is((await adapter.project('pack', never, ['mod'])).projectId, '1');
  const query = { query: '', kind: 'mod', loader: '', minecraftVersion: '' } as const;
  t.is((await adapter.search({ ...query, limit: 100 })).length, 100);
  t.is((await adapter.search({ ...query, limit: 60 })).length, 60);
});

test('Fabric’s newest stable launcher is downloaded once and starts on Mojang’s server jar', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-cores-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const jar = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(1_000, 5)]);
  // The format of meta.fabricmc.net.
  const loader = (version: string, stable: boolean) => ({
    loader: { separator: '.', build: 1, maven: `net.fabricmc:fabric-loader:${version}`, version, stable },
    intermediary: { maven: 'net.fabricmc:intermediary:1.21.1', version: '1.21.1', stable: true },
  });
  const installer = { url: '', maven: 'net.fabricmc:fabric-installer:1.1.0', version: '1.1.0', stable: true };
  const { url, asked } = await serve(t, {
    '/v2/versions/installer': [{ ...installer, version: '1.2.0', stable: false }, installer],
    '/v2/versions/loader/1.21.1': [loader('0.17.0-beta', false), loader('0.16.14', true)],
    '/v2/versions/loader/1.21.1/0.16.14/1.1.0/server/jar': jar,
    '/v2/versions/loader/1.20': [loader('0.16.14', true)],
    '/v2/versions/loader/1.20/0.16.14/1.1.0/server/jar': Buffer.from('<html>'),
    '/v2/versions/loader/1.19': [loader('0.16.14', true)],
    '/v2/versions/loader/1.19/0.16.14/1.1.0/server/jar': Buffer.alloc(17 << 20),
    '/v2/versions/loader/1.7.10': [],
    '/v2/versions/loader/1.8': [loader('../../x', true)],
  });
  const cores = join(folder, 'cores');
  const vanilla: string[] = [];
  const fetchCore = createFabricDownloads({
    metaUrl: url,
    clock: systemClock,
    async fetchVanilla(coresDir, core, version) {
      vanilla.push(`${core} ${version}`);
      await mkdir(coresDir, { recursive: true });
      await writeFile(join(coresDir, `vanilla-${version}.jar`), 'vanilla');
    },
  });
  await fetchCore(cores, 'paper', '1.21.1', never);
  t.is(asked.length, 0);
  await Promise.all([1, 2].map(() => fetchCore(cores, 'fabric', '1.21.1', never)));
  t.deepEqual(await readFile(join(cores, 'fabric-1.21.1.jar')), jar);
  t.deepEqual([asked.length, vanilla[0]], [3, 'vanilla 1.21.1']);
  for (const [version, why] of Object.entries({
    '1.20': /not a jar/,
    '1.19': /invalid response/,
    '1.7.10': /no Fabric for Minecraft 1\.7\.10/,
    '1.8': /invalid response/,
    '9.9': /no Fabric/,
  })) {
    const failed = fetchCore(cores, 'fabric', version, never);
    const { code, suggestion } = await t.throwsAsync<EngineError>(failed, { instanceOf: EngineError, message: why });
    // An unreadable answer may be a temporary fault of the registry.
    t.is(code, /invalid response/.test(String(why)) ? 'download_failed' : 'core_unavailable', version);
    t.is(/another version/.test(suggestion), code === 'core_unavailable');
  }
  t.deepEqual(
    (await readdir(cores)).filter((name) => name.startsWith('fabric')),
    ['fabric-1.21.1.jar'],
  );

  const programs = { sandboxEntry: '', javas: createJavas({ command: '/bin/true' }), coresDir: cores };
  const spec = { core: 'fabric', version: '1.21.1', dataDir: folder, ramMb: 1_024 } as GameSpec;
  const { args } = await commandFor(spec, programs, never);
  const told = `-Dfabric.installer.server.gameJar=${join(cores, 'vanilla-1.21.1.jar')}`;
  t.deepEqual(args.slice(-4), [told, '-jar', join(cores, 'fabric-1.21.1.jar'), 'nogui']);
  await writeFile(join(folder, 'server.jar'), 'their own');
  t.false((await commandFor(spec, programs, never)).args.includes(told));
});

test('the Fabric launcher matches the pack’s loader version, and changes with the loader or game version', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-cores-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const jarOf = (loader: string) => Buffer.from(`PK\u0003\u0004 ${loader}`);
  const answers: Record<string, unknown> = {
    '/v2/versions/installer': [{ version: '1.1.0', stable: true }],
    '/v2/versions/loader/1.21.1': [{ loader: { version: '0.17.2', stable: true } }],
    '/v2/versions/loader/1.21.4': [{ loader: { version: '0.17.2', stable: true } }],
  };
  for (const [game, loader] of [
    ['1.21.1', '0.16.9'],
    ['1.21.1', '0.16.14'],
    ['1.21.1', '0.17.2'],
    ['1.21.4', '0.17.2'],
  ] as const) {
    answers[`/v2/versions/loader/${game}/${loader}/1.1.0/server/jar`] = jarOf(loader);
  }
  const { url } = await serve(t, answers);
  const cores = join(folder, 'cores');
  const fetchFabric = createFabricDownloads({
    metaUrl: url,
    clock: systemClock,
    fetchVanilla: async (coresDir, _, version) => {
      await mkdir(coresDir, { recursive: true });
      await writeFile(join(coresDir, `vanilla-${version}.jar`), 'vanilla');
    },
  });
  const programs = {
    sandboxEntry: '',
    javas: createJavas({ command: '/bin/true' }),
    coresDir: cores,
    fetchCore: fetchFabric.bind(undefined, cores),
  };
  const started = async (version: string) => {
    const { args } = await commandFor(
      { core: 'fabric', version, dataDir: folder, ramMb: 1_024 } as GameSpec,
      programs,
      never,
    );
    t.true(args.includes(`-Dfabric.installer.server.gameJar=${join(cores, `vanilla-${version}.jar`)}`));
    return (await readFile(args.at(-2)!)).toString().split(' ')[1];
  };
  const made = (loader: unknown, version = '1.21.1') =>
    writeFile(join(folder, '.dormouse-loader.json'), JSON.stringify({ core: 'fabric', version, loader }));
  t.is(await started('1.21.1'), '0.17.2', 'the newest loader if no pack names one');
  await made('0.16.9');
  t.is(await started('1.21.1'), '0.16.9');
  await made('0.16.14');
  t.is(await started('1.21.1'), '0.16.14');
  t.is(await started('1.21.4'), '0.17.2', 'a loader for another game version does not count');
  for (const bad of ['../../x', 7, '']) {
    await made(bad);
    t.is(await started('1.21.1'), '0.17.2');
  }
  await made('0.1.0');
  t.is(await started('1.21.1'), '0.17.2', 'the stored launcher if the right one is unavailable');
  await rm(join(cores, 'fabric-1.21.1.jar'));
  t.regex((await t.throwsAsync(started('1.21.1'))).message, /no Fabric 0\.1\.0 for Minecraft 1\.21\.1/);
});

test('Mojang’s server jar is downloaded once and checked, and a failed download leaves no file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-cores-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const jar = Buffer.alloc(300_000, 3);
  const answers: Record<string, unknown> = { '/server.jar': jar };
  const { url, asked } = await serve(t, answers);
  const server = { sha1: sum(jar, 'sha1'), size: jar.length, url: `${url}/server.jar` };
  answers['/manifest.json'] = {
    versions: [
      { id: '1.21.1', url: `${url}/1.21.1.json` },
      { id: '1.21', url: `${url}/1.21.json` },
      { id: '1.0', url: `${url}/1.0.json` },
      { id: '0.1', url: 'http://169.254.169.254/x' },
    ],
  };
  answers['/1.21.1.json'] = { downloads: { server } };
  answers['/1.21.json'] = { downloads: { server: { ...server, sha1: '0'.repeat(40) } } };
  answers['/1.0.json'] = { downloads: {} };
  const fetchCore = createVanillaDownloads({ manifestUrl: `${url}/manifest.json`, clock: systemClock });
  const cores = join(folder, 'cores');
  await fetchCore(cores, 'paper', '1.21.1', never);
  t.is(asked.length, 0);
  await Promise.all([1, 2, 3].map(() => fetchCore(cores, 'vanilla', '1.21.1', never)));
  t.is(asked.filter(({ url: path }) => path === '/server.jar').length, 1);
  t.deepEqual(await readFile(join(cores, 'vanilla-1.21.1.jar')), jar);
  const problem = async (version: string) => {
    const error = await t.throwsAsync<EngineError>(fetchCore(cores, 'vanilla', version, never), {
      instanceOf: EngineError,
    });
    return `${error.code}: ${error.message}`;
  };
  t.regex(await problem('1.21'), /^download_failed: .*does not match the size or checksum/);
  t.regex(await problem('1.0'), /offers no server/);
  t.regex(await problem('9.9'), /There is no Minecraft 9\.9/);
  t.regex(await problem('0.1'), /does not belong to it/);
  // No half download is left.
  t.deepEqual(await readdir(cores), ['vanilla-1.21.1.jar']);
});
