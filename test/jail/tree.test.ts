import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { JailFile } from '../../src/jail/jail.ts';
import { until } from '../support/until.ts';
import { cage, write, names, EVERY, refused } from './cage.ts';

test('a tree too deep to copy can still be removed', async (t) => {
  const { jail, root } = await cage(t);
  const script = 'for i in $(seq 300); do mkdir dddddddddd && cd dddddddddd && : > f || exit 1; done';
  execFileSync('sh', ['-c', script], { cwd: root });
  await refused(t, () => jail.copy('dddddddddd', 'x'), ['TREE_TOO_DEEP'], 'copied');
  await jail.remove('dddddddddd');
  t.deepEqual(readdirSync(root), ['.dormouse-tmp']);
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
});

test('a folder at the depth limit can be created and walked, and moves or copies below it are refused', async (t) => {
  const { jail, root } = await cage(t);
  const path = (name: string, levels: number) => Array.from({ length: levels }, () => name).join('/');
  await jail.mkdir(path('d', 64));
  let met = 0;
  for await (const _ of jail.tree('')) met += 1;
  t.is(met, 64);
  await jail.mkdir('e/e');
  await refused(t, () => jail.rename('e', `${path('d', 63)}/e`), ['TREE_TOO_DEEP'], 'moved');
  await refused(t, () => jail.copy('e', `${path('d', 63)}/e`), ['TREE_TOO_DEEP'], 'copied');
  await jail.rename('e', `${path('d', 62)}/e`);
  // The tree is not deep, but its path would be too long.
  const long = 'l'.repeat(240);
  await jail.mkdir(path(long, 15));
  await jail.mkdir(`m/${path(long, 15)}`);
  await refused(t, () => jail.rename(long, `m/${path(long, 15)}/x`), ['TREE_TOO_DEEP'], 'moved');
  await jail.rename(long, 'm/x');
  t.deepEqual(readdirSync(join(root, 'm')).sort(), [long, 'x'].sort());
});

const asRoot = test.runIf(process.getuid?.() === 0);

asRoot('folders that a plugin locked are removed too; leftovers do not block the files', async (t) => {
  const { root, put } = await cage(t);
  put('.dormouse-tmp/0123456789ab-aaaaaaaaaaaa/file', 'root’s');
  const nobody = 65_534;
  for (const path of ['', '.dormouse-tmp']) chownSync(join(root, path), nobody, nobody);
  chmodSync(join(root, '..'), 0o755);
  const script = join(import.meta.dirname, 'unprivileged.ts');
  const said = execFileSync(process.execPath, [script, root, String(nobody)], { encoding: 'utf8' });
  t.deepEqual(JSON.parse(said), {
    left: [['.dormouse-tmp', 'uploaded'], ['0123456789ab-aaaaaaaaaaaa']],
    warnings: ['could not remove unfinished files of an earlier run'],
  });
});

test('names that are not UTF-8 can be listed, copied and removed', async (t) => {
  const { jail, root } = await cage(t);
  const name = Buffer.concat([Buffer.from(`${root}/d/`), Buffer.from([0x61, 0xff, 0x62])]);
  mkdirSync(join(root, 'd'));
  writeFileSync(name, 'bytes');
  t.deepEqual(await names(jail, 'd'), ['a\ufffdb']);
  t.is(await jail.copy('d', 'e'), 5);
  await jail.remove('d');
  t.false(existsSync(join(root, 'd')));
});

test('files found by a tree walk can be opened while the walk moves on to other directories', async (t) => {
  const { jail, put } = await cage(t);
  const paths = Array.from({ length: 600 }, (_, n) => (n < 300 ? `many/${n}` : `d${n}/inside/${n}`));
  for (const path of paths) put(path, path);
  const files: { path: string; opening: Promise<JailFile> }[] = [];
  for await (const entry of jail.tree('')) {
    if (entry.kind === 'file') files.push({ path: entry.path, opening: entry.open() });
  }
  for (const { path, opening } of files) {
    await using file = await opening;
    t.is((await file.read(0, 100)).toString(), path);
  }
  t.is(files.length, paths.length);
});

test('every jail operation closes its descriptors, even on errors', async (t) => {
  const { jail, root, put } = await cage(t);
  put('there', 'x');
  put('dir/a', 'x');
  symlinkSync('/etc', join(root, 'link'));
  const ours = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(root);
      } catch {
        return false;
      }
    }).length;
  const before = ours();
  const paths = ['dir/a', 'dir', 'none', 'none/x', 'there/x', 'link', 'link/x', '.rcon-cli.env', '..', 'new'];
  for (const work of Object.values(EVERY)) for (const path of paths) await work(jail, path).catch(() => {});
  for await (const _ of jail.tree('')) break;
  for await (const _ of jail.entries('')) break;
  await write(jail, 'last', 'x');
  (await jail.open('last')).stream().destroy();
  // A stream closes its descriptor asynchronously, behind other file work.
  await until(() => ours() <= before);
  t.is(ours(), before);
});
