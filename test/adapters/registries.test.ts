import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { systemClock } from '../../src/adapters/clock.ts';
import { createCurseForge } from '../../src/adapters/curseforge.ts';
import { createModrinth } from '../../src/adapters/modrinth.ts';
import { createVanillaDownloads } from '../../src/adapters/vanilla-downloads.ts';
import { chooseVersion } from '../../src/hosting/mod-choice.ts';
import { findPack } from '../../src/hosting/packs.ts';
import { EngineError, type ModFile } from '../../src/ports.ts';
import type { StatusError } from '../../src/status.ts';
import { modrinth, sum } from '../support/modrinth.ts';

const never = new AbortController().signal;

/** Answers by path; what it was asked, with the key that came along. */
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

test('a file is what its registry vouches for, or an error at its end: too short, too long, another', async (t) => {
  const registry = await modrinth(t);
  const content = Buffer.alloc(200_000, 7);
  registry.project('A', [{ id: 'a1', content }]);
  const adapter = createModrinth({ baseUrl: registry.url, clock: systemClock });
  const { file } = await adapter.version('A', 'a1');
  t.deepEqual(await bytesOf(adapter.download(file, never)), content);
  const wrong: Partial<ModFile>[] = [
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

test('F-09 no answer without end is read, and no name of a project leads anywhere else', async (t) => {
  let sent = 0;
  const endless = (reply: ServerResponse) => {
    const more = () => {
      while (!reply.destroyed && reply.write(Buffer.alloc(1 << 20, 0x20))) sent += 1;
    };
    reply.on('drain', more);
    more();
  };
  const { url, asked } = await serve(t, { '/v2/project/endless': endless });
  const adapter = createModrinth({ baseUrl: url, clock: systemClock });
  t.is((await t.throwsAsync<StatusError>(adapter.project('endless'))).reason, 'REGISTRY_UNAVAILABLE');
  t.true(sent < 100);
  for (const id of ['..', '.', ''])
    t.is((await t.throwsAsync<StatusError>(adapter.project(id))).reason, 'MOD_NOT_FOUND');
  await t.throwsAsync(adapter.project('../../admin?x=1#'));
  t.is(asked.at(-1)?.url, '/v2/project/..%2F..%2Fadmin%3Fx%3D1%23');
});

test('P-09 CurseForge: versions by loader, sums, and the plain word where authors disallow distribution', async (t) => {
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
  const adapter = createCurseForge({ baseUrl: url, apiKey: 'geheim', clock: systemClock });
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
    [disallowed.reason, /disallowed its distribution/.test(disallowed.message)],
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

/** A registry of one pack of many versions, the newest first, among mods that are called the same. */
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

test('CurseForge: all versions are found, not the first fifty, and a pack though a mod is called the same', async (t) => {
  const { url, asked } = await serve(t, manyFiles(120));
  const adapter = createCurseForge({ baseUrl: url, apiKey: 'geheim', clock: systemClock });
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

test('Mojang’s server is fetched once, checked, and whole or not there', async (t) => {
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
  t.regex(await problem('1.21'), /^core_unavailable: .*not what its registry vouches for/);
  t.regex(await problem('1.0'), /offers no server/);
  t.regex(await problem('9.9'), /There is no Minecraft 9\.9/);
  t.regex(await problem('0.1'), /none of its own/);
  t.deepEqual(
    (await readdir(cores)).filter((name) => name.endsWith('.jar')),
    ['vanilla-1.21.1.jar'],
  );
});
