import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openTree } from '../../src/backups/tree.ts';
import { treeOf } from '../support/tree.ts';

async function folder(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'dormouse-tree-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

for (const [what, syncs] of [
  ['at once', true],
  ['file by file where the system has no call for all', false],
] as const)
  test(`a tree is put on disk ${what}, after all of it was made`, async (t) => {
    const path = await folder(t);
    let asked: object | undefined;
    const syncAll = async (given: string) => {
      t.is(given, path);
      asked = await treeOf(path);
      return syncs;
    };
    await using tree = await openTree({ path, owner: undefined }, syncAll);
    await tree.folder(['a']);
    await tree.folder(['a', 'b']);
    for (const names of [['a', 'b', 'file'], ['a', 'other'], ['top']]) {
      await using file = await tree.file(names, 0o640);
      await file.writeFile('x');
    }
    t.is(asked, undefined);
    await tree.finish();
    t.deepEqual(Object.keys(asked ?? {}).sort(), ['a', 'a/b', 'a/b/file', 'a/other', 'top']);
  });
