import { lstat, mkdir, mkdtemp, readFile, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readIfThere, sweepDrafts, writeAtomic } from '../../src/kernel/atomic-file.ts';

async function folder(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'dormouse-atomic-'));
  t.teardown(() => rm(path, { recursive: true }));
  return path;
}

test('writeAtomic replaces a file as a whole with the given mode, from one buffer or from pieces', async (t) => {
  const dir = await folder(t);
  const path = join(dir, 'file');
  t.is(await readIfThere(path), undefined);
  await writeAtomic(path, 'first, and longer than what follows');
  t.is((await lstat(path)).mode & 0o777, 0o600);
  await writeAtomic(path, [Buffer.from('in '), Buffer.from('pieces')], { mode: 0o644 });
  t.is((await readIfThere(path))?.toString(), 'in pieces');
  t.is((await lstat(path)).mode & 0o777, 0o644);
  t.deepEqual(await readdir(dir), ['file']);
});

test('writeAtomic keeps the old file and leaves no draft if its content fails', async (t) => {
  const dir = await folder(t);
  const path = join(dir, 'file');
  await writeFile(path, 'old');
  async function* breaking() {
    yield Buffer.from('new');
    throw new Error('broken off');
  }
  await t.throwsAsync(writeAtomic(path, breaking()), { message: 'broken off' });
  t.is(await readFile(path, 'utf8'), 'old');
  t.deepEqual(await readdir(dir), ['file']);
});

test('writeAtomic replaces a link without following it and refuses an existing draft', async (t) => {
  const dir = await folder(t);
  const [path, target, draft] = [join(dir, 'file'), join(dir, 'target'), join(dir, 'draft')];
  await writeFile(target, 'target');
  await symlink(target, path);
  await writeAtomic(path, 'new');
  t.false((await lstat(path)).isSymbolicLink());
  await symlink(target, draft);
  await t.throwsAsync(writeAtomic(path, 'newer', { draft }), { code: 'EEXIST' });
  t.is(await readFile(target, 'utf8'), 'target');
  t.is(await readFile(path, 'utf8'), 'new');
  t.true((await lstat(draft)).isSymbolicLink());
});

test('a durable writeAtomic creates missing directories, and a plain one rejects', async (t) => {
  const path = join(await folder(t), 'a', 'b', 'file');
  await t.throwsAsync(writeAtomic(path, 'new'), { code: 'ENOENT' });
  await writeAtomic(path, Buffer.from('new'), { durable: true });
  t.is(await readFile(path, 'utf8'), 'new');
});

test('readIfThere rejects for a directory instead of reporting a missing file', async (t) => {
  const path = join(await folder(t), 'folder');
  await mkdir(path);
  await t.throwsAsync(readIfThere(path), { code: 'EISDIR' });
});

test('sweepDrafts removes only old drafts of the given files', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-drafts-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const names = {
    old: 'server.properties.0123456789ab.tmp',
    new: 'server.properties.ba9876543210.tmp',
    notes: 'notes.0123456789ab.tmp',
    short: 'server.properties.0123.tmp',
    whole: 'server.properties',
    folder: 'server.properties.aaaaaaaaaaaa.tmp',
    link: 'server.properties.bbbbbbbbbbbb.tmp',
  };
  for (const name of [names.old, names.new, names.notes, names.short, names.whole])
    await writeFile(join(dir, name), '');
  await mkdir(join(dir, names.folder));
  await symlink(names.whole, join(dir, names.link));
  for (const name of Object.values(names)) if (name !== names.new) await utimes(join(dir, name), 1, 1);
  await sweepDrafts(dir, (name) => name === 'server.properties');
  const { old, ...rest } = names;
  t.deepEqual((await readdir(dir)).toSorted(), Object.values(rest).toSorted(), `without ${old}`);
  await sweepDrafts(join(dir, 'nowhere'), () => true);
});
