import { closeSync, constants, mkdirSync, mkdtempSync, openSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { BOUNDS, addSizes, searchBelow } from '../../src/files/below.ts';
import * as fc from '../support/property.ts';
import { filesApi } from './files-api.ts';

type Listed = { entries: { name: string; isDir: boolean; size: string }[]; total: number; truncated: boolean };

async function castle(t: ExecutionContext) {
  const it = await filesApi(t);
  const list = async (query: string) => (await it.ok('GET', `/v1/servers/abc/files?${query}`)) as unknown as Listed;
  return { ...it, list };
}

const names = ({ entries }: Listed) => entries.map(({ name }) => name);

test('a recursive search finds names in subfolders, as relative paths in order, and never behind a link', async (t) => {
  const { put, root, list } = await castle(t);
  for (const path of ['maps/map10.yml', 'maps/map2.yml', 'maps/deep/Map.txt', 'other/none', '.dormouse-map'])
    put(path, '12345');
  symlinkSync('maps', join(root, 'map-link'));
  symlinkSync('/etc', join(root, 'other/etc'));
  const found = await list('recursive=true&contains=map&sort=natural');
  t.deepEqual(names(found), ['maps', 'maps/deep/Map.txt', 'maps/map2.yml', 'maps/map10.yml']);
  t.like(found, { total: 4, truncated: false });
  t.like(found.entries[0], { isDir: true, size: '0' });
  t.like(found.entries[1], { isDir: false, size: '5' });
  t.deepEqual(names(await list('recursive=true&contains=map&path=maps&sort=natural&limit=1&offset=1')), ['map2.yml']);
  t.deepEqual(names(await list('recursive=true&contains=passwd')), []);
  t.deepEqual(names(await list('recursive=true&contains=map&sizes=true&sort=size&descending=true&limit=1')), ['maps']);
  t.is((await list('recursive=true&contains=map&sizes=true')).entries[0]?.size, '15');
});

test('sizes of folders are those of all files in them, on demand only, and order the folders', async (t) => {
  const { put, root, list } = await castle(t);
  put('small/deep/deeper/file', 'x'.repeat(10));
  put('large/a', 'x'.repeat(700));
  put('large/b/c', 'x'.repeat(300));
  put('file', 'x'.repeat(50));
  put('.dormouse-tmp/x', 'x'.repeat(5_000));
  symlinkSync('../large', join(root, 'small/link'));
  const sizes = ({ entries }: Listed) => entries.map(({ name, size }) => [name, size]);
  const sized = await list('sizes=true&sort=size&descending=true');
  t.deepEqual(sizes(sized), [
    ['large', '1000'],
    ['file', '50'],
    ['small', '10'],
  ]);
  t.false(sized.truncated);
  t.deepEqual(sizes(await list('')), [
    ['file', '50'],
    ['large', '0'],
    ['small', '0'],
  ]);
  t.deepEqual(sizes(await list('sizes=true&path=small')), [
    ['deep', '10'],
    ['link', '0'],
  ]);
});

test('a search of a folder that is too large finds 1000 entries and says that more are missing', async (t) => {
  const { put, list } = await castle(t);
  for (let nth = 0; nth < 1_001; nth++) put(`many/part/file-${nth}`, '');
  t.like(await list('recursive=true&contains=file'), { total: 1_000, truncated: true });
  t.like(await list('recursive=true&contains=file-7'), { total: 111, truncated: false });
});

test('a search and a count stop at each limit, report it, and otherwise find exactly what is there', async (t) => {
  const top = mkdtempSync(join(tmpdir(), 'dormouse-below-'));
  t.teardown(() => rm(top, { recursive: true }));
  const path = fc.array(fc.constantFrom('a', 'ab', 'B', 'c'), { minLength: 1, maxLength: 4 });
  const limits = fc.record({ visited: fc.nat(12), found: fc.nat(6), ms: fc.nat(12) });
  let nth = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(path, { maxLength: 8 }), limits, fc.boolean(), async (paths, limit, sizes) => {
      const root = join(top, String(nth++));
      mkdirSync(root);
      const all = new Map<string, number | undefined>();
      for (const parts of paths) {
        const file = `${parts.join('/')}.txt`;
        for (let depth = 1; depth < parts.length; depth++) all.set(parts.slice(0, depth).join('/'), undefined);
        mkdirSync(join(root, dirname(file)), { recursive: true });
        writeFileSync(join(root, file), 'x'.repeat(parts.length));
        all.set(file, parts.length);
      }
      const sizeOf = (name: string) =>
        all.get(name) ?? [...all].reduce((sum, [each, size = 0]) => sum + (each.startsWith(`${name}/`) ? size : 0), 0);
      const wanted = [...all.keys()].filter((name) => name.split('/').at(-1)?.includes('a')).sort();
      const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY);
      let reads = 0;
      // Each look at this clock takes a millisecond.
      const bounds = { ...limit, now: () => reads++ };
      const search = searchBelow(fd, { guarded: false, contains: 'A', sizes }, bounds);
      const found = search.found.map(({ name }) => name).sort();
      t.true(found.length <= limit.found && reads <= Math.min(limit.visited, limit.ms) + 2);
      t.true(found.every((name) => wanted.includes(name)));
      if (search.truncated) {
        const isLimited = all.size > limit.visited || all.size >= limit.ms || wanted.length > limit.found;
        t.true(isLimited);
      } else {
        t.deepEqual(found, wanted);
        for (const { name, isDir, sizeBytes } of search.found) t.is(sizeBytes, isDir && !sizes ? 0 : sizeOf(name));
      }
      const folders = [...all].flatMap(([name, size]) => {
        if (name.includes('/') || size !== undefined) return [];
        return [{ name, isDir: true, sizeBytes: 0, modifiedAt: 0 }];
      });
      reads = 0;
      const isComplete = addSizes(fd, false, folders, bounds);
      for (const { name, sizeBytes } of folders) {
        if (isComplete) t.is(sizeBytes, sizeOf(name));
        else t.true(sizeBytes <= sizeOf(name));
      }
      closeSync(fd);
    }),
    { numRuns: 100 },
  );
  t.like(BOUNDS, { visited: 100_000, found: 1_000, ms: 3_000 });
});
