import { CORES } from '../../src/game/cores.ts';
import { join, normalize, win32 } from 'node:path';
import test from 'ava';
import * as fc from '../support/property.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { fitOf, folderFor, foldersOf, isModPath, pick } from '../../src/mods/choice.ts';
import { packPath, readPackIndex } from '../../src/mods/pack-index.ts';
import type { ModVersion } from '../../src/mods/registries/registry.ts';
import { resolveMods } from '../../src/mods/resolution.ts';
import type { ServerModRow } from '../../src/mods/rows.ts';

const hostile = fc
  .array(
    fc.constantFrom(
      '..',
      '.',
      '',
      '/',
      '\\',
      'mods',
      'a.jar',
      'C:',
      '\0',
      ' ',
      '%2e%2e',
      '.dormouse-x',
      'é',
      '\n',
      '\uD800',
    ),
    {
      maxLength: 8,
    },
  )
  .chain((words) => fc.constantFrom('', '/', '\\').map((separator) => words.join(separator)));

test('a pack’s path stays below the server’s folder on every platform, or is refused', (t) => {
  fc.assert(
    fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (path) => {
      const safe = packPath(path);
      if (safe === undefined) return;
      t.is(safe, path.replaceAll('\\', '/'));
      for (const joined of [join('/root', safe), normalize(`/root/${safe}`)])
        if (!joined.startsWith('/root/')) t.fail(safe);
      if (!win32.join('C:\\root', safe).startsWith('C:\\root\\')) t.fail(safe);
      if (/\p{Cc}/u.test(safe) || safe.startsWith('.dormouse-')) t.fail(safe);
    }),
    { numRuns: 2_000 },
  );
  for (const path of ['mods/a.jar', 'config/sub dir/ünï.json', '..a/b..', 'server.properties'])
    t.is(packPath(path), path);
  t.is(packPath('config\\sub dir\\a.toml'), 'config/sub dir/a.toml');
  for (const path of [
    '',
    '/',
    '..',
    'a/..',
    'a/../b',
    './a',
    'a//b',
    '/a',
    'a/',
    '\\a',
    'a\\..\\b',
    'C:\\x',
    '.dormouse-tmp\\a',
    'C:/x',
    'a:b',
    'a\0',
    '.dormouse-mods.json',
    '.rcon-cli.env',
    'x/'.repeat(70) + 'x',
    'x'.repeat(256),
  ])
    t.is(packPath(path), undefined, JSON.stringify(path));
});

test('a pack index is read completely or refused with FAILED_PRECONDITION', (t) => {
  const sums = { sha512: 'a'.repeat(128), sha1: 'b'.repeat(40) };
  const file = { path: 'mods/a.jar', hashes: sums, downloads: ['https://cdn.modrinth.com/a'], fileSize: 1 };
  const index = {
    formatVersion: 1,
    game: 'minecraft',
    name: 'P',
    files: [file],
    dependencies: { minecraft: '1.21', forge: '52' },
  };
  t.like(readPackIndex(JSON.stringify(index)), { type: 'forge', minecraftVersion: '1.21', loaderVersion: '52' });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc
          .constantFrom(...Object.keys(index))
          .chain((key) => fc.jsonValue().map((value) => JSON.stringify({ ...index, [key]: value }))),
      ),
      (text) => {
        try {
          for (const { path } of readPackIndex(text).files) t.is(packPath(path), path);
        } catch (error) {
          if (!(error instanceof StatusError) || error.code !== 'FAILED_PRECONDITION') throw error;
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('only a jar directly in the mods or plugins folder has a valid mod path', (t) => {
  fc.assert(
    fc.property(
      fc.oneof(
        hostile,
        hostile.map((path) => `mods/${path}.jar`),
      ),
      (path) => {
        if (isModPath(path)) t.regex(path, /^(?:mods|plugins)\/[^/\\]+\.jar$/i);
      },
    ),
  );
  for (const path of ['mods/a.jar', 'plugins/My Plugin-1.0+b.JAR']) t.true(isModPath(path));
  for (const path of [
    'a.jar',
    'mods/.jar',
    'mods/..jar',
    'mods/a/b.jar',
    'mods/../a.jar',
    'world/a.jar',
    'mods/a.sh',
    `mods/${'x'.repeat(250)}.jar`,
  ])
    t.false(isModPath(path), path);
});

test('every core either has a folder for its mods or returns MODS_NOT_SUPPORTED', (t) => {
  for (const type of CORES) {
    if (['vanilla', 'sandbox', 'custom', 'velocity'].includes(type)) {
      t.is(t.throws<StatusError>(() => foldersOf({ type })).reason, 'MODS_NOT_SUPPORTED');
      continue;
    }
    const host = { type, version: '1.21' };
    for (const loader of fitOf(host).loaders) t.truthy(folderFor(host, { loaders: [loader] }), `${type} ${loader}`);
  }
});

test('the newest version of the most stable channel is chosen, unless another is named', (t) => {
  const make = (versionId: string, channel: ModVersion['channel'], number = versionId) =>
    ({ versionId, channel, number }) as ModVersion;
  const all = [make('a', 'alpha', '3'), make('b', 'beta', '2'), make('r2', 'release', '2'), make('r1', 'release', '1')];
  const chosen = (spec: string, of = all) => pick(of, spec)?.versionId;
  t.deepEqual(
    ['', 'release', 'beta', 'alpha'].map((spec) => chosen(spec)),
    ['r2', 'r2', 'b', 'a'],
  );
  t.deepEqual([chosen('', all.slice(0, 2)), chosen('', all.slice(0, 1)), chosen('', [])], ['b', 'a', undefined]);
  t.deepEqual(
    ['r1', '1', '2', 'none'].map((spec) => chosen(spec)),
    ['r1', 'r1', 'b', undefined],
  );
});

test('more than 256 mods fail with TOO_MANY_MODS and the limit', async (t) => {
  const server = { id: 'abc', type: 'fabric', version: '1.21.4' };
  const kept = Array.from({ length: 257 }, (_, n) => ({
    source: 'modrinth',
    projectId: `p${n}`,
    name: '',
    versionSpec: '',
    path: `mods/${n}.jar`,
    requires: '[]',
  })) as unknown as ServerModRow[];
  const { signal } = new AbortController();
  const resolve = (wishes: ServerModRow[]) => resolveMods(server, wishes, kept, () => t.fail(), signal);
  t.is((await resolve(kept.slice(1))).length, 256);
  const error = await t.throwsAsync(resolve(kept), { instanceOf: StatusError });
  t.deepEqual(
    [error.code, error.reason, error.options.metadata],
    ['RESOURCE_EXHAUSTED', 'TOO_MANY_MODS', { limit: '256' }],
  );
});
