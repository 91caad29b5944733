import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openJail } from '../../src/jail/jail.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { createWorkerPool } from '../../src/kernel/workers/pool.ts';
import { readPackList, readPlaced, writePlaced } from '../../src/mods/files.ts';

const SUM = 'a'.repeat(128);
/** The most files while one pack replaces another: for each, those named by its index and those in its archive. */
const MOST_OF_PACKS = 2 * (5_000 + 100_000);

async function bench(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-test-'));
  const root = join(folder, 'servers/abc');
  await mkdir(root, { recursive: true });
  const jail = await openJail(root, { secrets: 'open' });
  const workers = createWorkerPool();
  t.teardown(async () => {
    await jail[Symbol.asyncDispose]();
    await workers.close();
    await rm(folder, { recursive: true, force: true });
  });
  const file = (name: string) => join(root, name);
  const caller = { tenant: 'ann', signal: new AbortController().signal };
  return { jail, file, listed: () => readPackList(jail, workers, caller) };
}

function listOf(count: number, sum: string) {
  return new Map(Array.from({ length: count }, (_, n) => [`mods/${n}`, sum]));
}

function textOf(list: ReadonlyMap<string, string>): string {
  return JSON.stringify({ files: Object.fromEntries(list) });
}

test('the longest list of placed mods is read back as it was written', async (t) => {
  const { jail, file } = await bench(t);
  const name = (n: number) => `mods/${String(n).padStart(250, 'x')}`;
  const longest = new Map(Array.from({ length: 2 * 256 }, (_, n) => [name(n), SUM]));
  await writePlaced(jail, '.dormouse-mods.json', longest);
  t.deepEqual(await readPlaced(jail, '.dormouse-mods.json'), longest);
  await writePlaced(jail, '.dormouse-mods.json', new Map());
  await t.throwsAsync(readFile(file('.dormouse-mods.json')), { code: 'ENOENT' });
});

test('an invalid mod list written by the game is read as empty', async (t) => {
  const { jail, file } = await bench(t);
  for (const text of [
    textOf(listOf(100_000, '')),
    textOf(listOf(20_000, '')),
    `{"files":${'['.repeat(100_000)}`,
    '{"files":{"mods/a":1}}',
    `{"files":{"mods/a":"${'b'.repeat(200)}"}}`,
    '{"files":["mods/a"]}',
    'null',
    '{',
  ]) {
    await writeFile(file('.dormouse-mods.json'), text);
    t.deepEqual(await readPlaced(jail, '.dormouse-mods.json'), new Map(), text.slice(0, 40));
  }
});

test('the file list of the two largest packs is read completely by a worker', async (t) => {
  const { jail, listed } = await bench(t);
  t.deepEqual(await listed(), new Map(), 'there is no list yet');
  const packs = listOf(MOST_OF_PACKS, SUM);
  await writePlaced(jail, '.dormouse-pack.json', packs);
  t.deepEqual(await listed(), packs);
});

test('an invalid pack list written by the game is read as empty', async (t) => {
  const { file, listed } = await bench(t);
  for (const text of [
    textOf(listOf(MOST_OF_PACKS + 1, '')),
    textOf(listOf(400_000, '')),
    '{"files":{"mods/a":1}}',
    '[]',
  ]) {
    await writeFile(file('.dormouse-pack.json'), text);
    t.deepEqual(await listed(), new Map(), text.slice(0, 40));
  }
});

test('a pack list too large to read back is not written, and the previous one stays', async (t) => {
  const { jail, listed } = await bench(t);
  const before = new Map([['mods/a.jar', SUM]]);
  await writePlaced(jail, '.dormouse-pack.json', before);
  const error = await t.throwsAsync(writePlaced(jail, '.dormouse-pack.json', listOf(300_000, SUM)), {
    instanceOf: StatusError,
  });
  t.is(error.reason, 'MODPACK_INVALID');
  t.deepEqual(await listed(), before);
});
