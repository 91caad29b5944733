import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { sweepDrafts } from '../../src/kernel/drafts.ts';

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
