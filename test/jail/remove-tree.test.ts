import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { removeTree } from '../../src/jail/remove-tree.ts';

function folder(t: ExecutionContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'dormouse-tree-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Counts the open descriptors of this process below the folder. */
function openBelow(dir: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(dir);
    } catch {
      return false;
    }
  }).length;
}

test('removeTree deletes a folder with its contents, a link without its target, and ignores a missing path', async (t) => {
  const dir = folder(t);
  mkdirSync(join(dir, 'outside'));
  writeFileSync(join(dir, 'outside/kept'), 'x');
  mkdirSync(join(dir, 'tree/locked/in'), { recursive: true });
  writeFileSync(join(dir, 'tree/file'), 'x');
  symlinkSync(join(dir, 'outside'), join(dir, 'tree/link'));
  symlinkSync(join(dir, 'outside'), join(dir, 'link'));
  writeFileSync(join(dir, 'file'), 'x');
  chmodSync(join(dir, 'tree/locked'), 0);
  for (const path of ['tree', 'link', 'file', 'none', 'none/in/none']) await removeTree(join(dir, path));
  t.deepEqual(readdirSync(dir), ['outside']);
  t.true(existsSync(join(dir, 'outside/kept')));
});

test('removeTree deletes deep and wide folders with few open descriptors and no leftovers', async (t) => {
  const dir = folder(t);
  const deep = 'for i in $(seq 300); do mkdir dddddddddd && cd dddddddddd && : > f || exit 1; done';
  const wide = 'for i in $(seq 60); do mkdir -p wide/$i/a wide/$i/b; : > wide/$i/a/f; done';
  execFileSync('sh', ['-c', `mkdir tree && cd tree && (${wide}) && (${deep})`], { cwd: dir });
  const over = new AbortController();
  let most = 0;
  const watching = (async () => {
    while (!over.signal.aborted) {
      most = Math.max(most, openBelow(dir));
      // Resolving a link to a deep folder costs the kernel much, so not after every turn of the event loop.
      await delay(5);
    }
  })();
  await removeTree(join(dir, 'tree'));
  over.abort();
  await watching;
  t.deepEqual(readdirSync(dir), []);
  t.true(most > 2 && most < 64, `${most} open descriptors`);
  t.is(openBelow(dir), 0);
});
