import { spawnSync } from 'node:child_process';
import { appendFile, cp, link, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';

const ROOT = join(import.meta.dirname, '../..');
const BUNDLE = 'node_modules/.cache/dormouse-bundle/main.mjs';
const FROM_BUNDLE = 'this is the bundle';

/** Copies this program and links its packages, so that the copy can have its own bundle. */
async function copy(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-bundle-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const part of ['machines', 'migrations', 'proxy', 'src', 'package.json'])
    await cp(join(ROOT, part), join(folder, part), { recursive: true, preserveTimestamps: true });
  await mkdir(join(folder, 'node_modules/.cache'), { recursive: true });
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (name !== '.cache') await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  return folder;
}

/** Builds a bundle that prints a line to identify itself. */
async function make(folder: string): Promise<void> {
  const { status, stderr } = spawnSync(process.execPath, ['src/bundle.js'], { cwd: folder, encoding: 'utf8' });
  if (status !== 0 || stderr !== '') throw new Error(stderr);
  await appendFile(join(folder, BUNDLE), `process.stdout.write(${JSON.stringify(FROM_BUNDLE)});\n`);
}

/** Returns the output of `npm start -- --version`, and whether the bundle printed it. */
function version(folder: string): { said: string; isBundle: boolean } {
  const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'src/start.js'), '--version'], {
    encoding: 'utf8',
  });
  return { said: stdout.replace(FROM_BUNDLE, '').trim() + stderr, isBundle: stdout.includes(FROM_BUNDLE) };
}

test('the bundle runs only while its source files and packages are unchanged', async (t) => {
  const folder = await copy(t);
  const { said } = version(folder);
  t.regex(said, /^\d+\.\d+\.\d+$/);
  await make(folder);
  t.deepEqual(version(folder), { said, isBundle: true });
  await appendFile(join(folder, 'src/kernel/units.ts'), '\n');
  t.deepEqual(version(folder), { said, isBundle: false });
  await make(folder);
  t.true(version(folder).isBundle);
  await rm(join(folder, 'node_modules/.package-lock.json'));
  t.deepEqual(version(folder), { said, isBundle: false }, 'a change of packages disables the bundle');
});

test('the postinstall step removes only the parts of packages that no program reads', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-installed-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const DATA = 'minecraft-data/minecraft-data/data';
  const kept = [`${DATA}/bedrock/common/versions.json`, `${DATA}/pc/1.8/blocks.json`, '.cache/other/page.js.map'];
  const removed = [`${DATA}/bedrock/1.19.1/blocks.json`, 'typeorm/browser/index.js', 'ws/lib/index.js.map'];
  // An unfinished build of SQLite.
  const unfinished = 'sqlite3/build/Release/obj/sqlite3.o';
  for (const name of [...kept, ...removed, unfinished]) {
    const file = join(folder, 'node_modules', name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '{\n  "a": 1\n}\n');
  }
  const blocks = join(folder, 'node_modules', kept[1]!);
  await link(blocks, join(folder, 'of-another-copy.json'));
  await mkdir(join(folder, 'src'));
  await cp(join(ROOT, 'src/after-install.js'), join(folder, 'src/after-install.js'));
  await writeFile(join(folder, 'src/bundle.js'), '');
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const { status, stderr } = spawnSync(process.execPath, ['src/after-install.js'], { cwd: folder, encoding: 'utf8' });
  t.deepEqual([status, stderr], [0, '']);
  const left = await readdir(join(folder, 'node_modules'), { recursive: true, withFileTypes: true });
  const files = left.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  t.deepEqual(files.toSorted(), [...kept, unfinished].map((name) => join(folder, 'node_modules', name)).toSorted());
  t.is(await readFile(blocks, 'utf8'), '{"a":1}');
  t.is(await readFile(join(folder, 'of-another-copy.json'), 'utf8'), '{\n  "a": 1\n}\n');
});
