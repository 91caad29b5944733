import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openJail } from '../../src/jail/jail.ts';
import type { StatusError } from '../../src/kernel/status.ts';
import { cage, write, refused } from './cage.ts';

test('the jail replaces a file as a whole or leaves it unchanged', async (t) => {
  const { jail, root, put, see } = await cage(t);
  put('run.sh', 'old');
  chmodSync(join(root, 'run.sh'), 0o750);
  {
    await using begun = await jail.replace('run.sh');
    await begun.write(Buffer.from('half of the n'));
    t.is(see('run.sh'), 'old');
  }
  t.is(see('run.sh'), 'old');
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), [], 'no draft is left behind');
  await using one = await jail.replace('run.sh');
  await using two = await jail.replace('run.sh');
  await one.write(Buffer.from('one'));
  await two.write(Buffer.from('two, longer'));
  t.is((await two.commit()).replacedBytes, 3);
  t.is((await one.commit()).replacedBytes, 11);
  t.is(see('run.sh'), 'one');
  t.is(statSync(join(root, 'run.sh')).mode & 0o777, 0o750, 'the file keeps its mode');
  await refused(t, async () => jail.replace('run.sh', { exclusive: true }), ['PATH_EXISTS'], 'exclusive');
  await using late = await jail.replace('new', { exclusive: true });
  put('new', 'was quicker');
  await refused(t, () => late.commit(), ['PATH_EXISTS'], 'exclusive at the commit too');
});

test('when two operations race for a free name, one wins, the other gets PATH_EXISTS, and no file is lost', async (t) => {
  const { jail, root, put, see } = await cage(t);
  const outcomes = async (...works: Promise<unknown>[]) => {
    const ended = await Promise.allSettled(works);
    for (const end of ended) {
      if (end.status === 'rejected') t.is((end.reason as StatusError).reason, 'PATH_EXISTS');
    }
    return ended.map(({ status }) => status).toSorted();
  };
  const upload = async (content: string) => {
    await using replacement = await jail.replace('upload', { exclusive: true });
    await replacement.write(Buffer.from(content));
    await replacement.commit();
  };
  put('a', 'a');
  put('b', 'b');
  put('from-a/file', 'a');
  put('from-b/file', 'b');
  mkdirSync(join(root, 'empty-a'));
  mkdirSync(join(root, 'empty-b'));
  symlinkSync('a', join(root, 'link-a'));
  symlinkSync('b', join(root, 'link-b'));
  const one = ['fulfilled', 'rejected'];
  t.deepEqual(await outcomes(jail.rename('a', 'file'), jail.rename('b', 'file')), one, 'files');
  t.deepEqual(await outcomes(jail.rename('from-a', 'dir'), jail.rename('from-b', 'dir')), one, 'directories');
  t.deepEqual(await outcomes(jail.rename('empty-a', 'none'), jail.rename('empty-b', 'none')), one, 'empty directories');
  t.deepEqual(await outcomes(jail.rename('link-a', 'link'), jail.rename('link-b', 'link')), one, 'links');
  t.deepEqual(await outcomes(jail.rename('file', 'mixed'), jail.rename('dir', 'mixed')), one, 'a file and a directory');
  const all = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const files = all.filter((name) => lstatSync(join(root, name)).isFile());
  t.deepEqual(files.map(see).toSorted(), ['a', 'a', 'b', 'b']);
  t.deepEqual(await outcomes(upload('1'), upload('2')), one, 'uploads');
  t.is(statSync(join(root, 'upload')).nlink, 1, 'the upload has one name');
  t.deepEqual(await outcomes(jail.copy('upload', 'copied'), jail.copy('upload', 'copied')), one, 'copies');
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
});

test('leftovers of a killed process are removed at the next open, and an upload in progress is kept', async (t) => {
  const { jail, root, put } = await cage(t);
  put('.dormouse-tmp/0123456789ab-0123456789ab/world/level.dat', 'x');
  put('.dormouse-tmp/0123456789ab-aaaaaaaaaaaa', 'x');
  await using upload = await jail.replace('a');
  await upload.write(Buffer.from('x'));
  await (await openJail(root)).close();
  t.is(readdirSync(join(root, '.dormouse-tmp')).length, 1);
  await upload.commit();
  t.deepEqual(readdirSync(root).sort(), ['.dormouse-tmp', 'a']);
});

test('a link planted at .dormouse-tmp is replaced, not followed', async (t) => {
  const { jail, root, outside } = await cage(t);
  symlinkSync(outside, join(root, '.dormouse-tmp'));
  await (await openJail(root)).close();
  await write(jail, 'a', 'x');
  t.deepEqual(readdirSync(outside), ['secret']);
  t.false(lstatSync(join(root, '.dormouse-tmp')).isSymbolicLink());
});

test('a stage merges into existing files completely or not at all', async (t) => {
  const { jail, root, put, see } = await cage(t);
  put('world/level.dat', 'old');
  put('world/keep', 'kept');
  put('file', 'x');
  const staged = async (files: Record<string, string>, into: string) => {
    await using stage = await jail.stage();
    for (const [path, content] of Object.entries(files)) {
      await using file = await stage.create(path);
      await file.write(0, Buffer.from(content));
    }
    await stage.mergeInto(into);
  };
  await staged({ 'level.dat': 'new', 'region/r.0.0.mca': 'r' }, 'world');
  t.is(see('world/level.dat'), 'new');
  t.is(see('world/keep'), 'kept');
  t.is(see('world/region/r.0.0.mca'), 'r');
  await refused(t, () => staged({ a: 'x', 'file/x': 'x' }, ''), ['NOT_A_DIRECTORY'], 'a directory for a file');
  await refused(t, () => staged({ a: 'x', 'world/region': 'x' }, ''), ['NOT_A_FILE'], 'a file for a directory');
  t.false(existsSync(join(root, 'a')), 'no file of the stage was moved');
  t.deepEqual(readdirSync(join(root, '.dormouse-tmp')), []);
});
