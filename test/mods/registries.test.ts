import { once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
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
