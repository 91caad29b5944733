import { tmpdir } from 'node:os';
import test from 'ava';
import { syncFileSystem } from '../../src/backups/archive.ts';

test('a file system is synced by a path on it, and a missing path returns false', async (t) => {
  t.true(await syncFileSystem(tmpdir()));
  t.false(await syncFileSystem('/nowhere/at/all'));
});
