import { once } from 'node:events';
import { lstatSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ExecutionContext } from 'ava';
import type { Jail } from '../../src/jail/jail.ts';
import { readTree } from '../../src/jail/read-tree.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { until } from '../support/until.ts';
import { type Cage, each, read, write } from './cage.ts';

/**
 * Checks that no call escapes the jail while a hostile plugin keeps swapping a directory for a link. `seen` is the data
 * root as the plugin sees it.
 */
export async function swappedUnderCalls(
  t: ExecutionContext,
  { jail, root, outside, put }: Cage,
  { seen, calls }: { seen: string; calls: number },
): Promise<void> {
  t.timeout(300_000);
  put('there', 'x');
  put('dir/secret', 'INSIDE');
  put('dir/sub/secret', 'INSIDE');
  mkdirSync(join(outside, 'sub'));
  writeFileSync(join(outside, 'sub/secret'), 'OUTSIDE');
  const ended = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { directory: join(seen, 'dir'), outside, ended };
  const worker = new Worker(new URL('swapper.ts', import.meta.url), { workerData });
  const over = once(worker, 'exit');
  t.teardown(() => worker.terminate());
  // The race is real: a plain read by path ends up outside.
  const isFooled = async () => (await readFile(join(root, 'dir/secret'), 'utf8').catch(() => '')) === 'OUTSIDE';
  await until({ what: 'the swapping thread swaps', everyMs: 0 }, isFooled);
  const works: ((round: number) => Promise<unknown>)[] = [
    () => read(jail, 'dir/secret'),
    () => read(jail, 'dir/sub/secret'),
    async () => {
      await using file = await jail.open('dir/secret', { write: true });
      await file.write(0, Buffer.from('inside'));
    },
    async (round) => (await jail.open(`dir/new-${round}`, { write: true, create: true })).close(),
    async () => (await each(jail.tree('dir'))).map(({ path }) => path),
    () => jail.setAttributes('dir/secret', { mode: 0o600 }),
    (round) => (round % 20 === 5 ? write(jail, `dir/whole-${round}`, 'x') : jail.stat('dir/secret')),
    (round) => (round % 20 === 6 ? jail.mkdir(`dir/made-${round}`) : jail.stat('dir/sub')),
    (round) => (round % 20 === 7 ? jail.copy('dir/sub', `copy-${round}`) : read(jail, 'dir/sub/secret')),
    (round) => (round % 25 === 8 ? readWhole(jail) : jail.stat('dir/secret')),
    (round) => (round % 20 === 9 ? jail.remove(`dir/made-${round - 3}`) : jail.stat('dir/sub/secret')),
  ];
  let done = 0;
  const call = async (round: number): Promise<void> => {
    const content = await works[round % works.length]!(round).then(
      (value) => ((done += 1), value),
      (error: unknown) => {
        if (!(error instanceof StatusError)) throw error;
      },
    );
    if (typeof content === 'string') t.regex(content, /^inside$/i);
  };
  let round = 0;
  // While the swapping thread pauses mid-swap, call after call fails. At least a tenth must have reached the directory.
  const isEnough = () => round >= calls && done > calls / 10;
  const caller = async (): Promise<void> => {
    while (!isEnough()) await call(round++);
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  Atomics.store(ended, 0, 1);
  await over;
  t.log(`${done} of ${round} calls reached the directory itself`);
  t.deepEqual(
    new Set(readdirSync(outside, { recursive: true, encoding: 'utf8' })),
    new Set(['secret', 'sub', 'sub/secret']),
  );
  for (const path of ['secret', 'sub/secret']) {
    t.is(readFileSync(join(outside, path), 'utf8'), 'OUTSIDE');
    t.is(lstatSync(join(outside, path)).mode & 0o777, 0o644);
  }
}

/** Reads the files named `secret` as a backup does. Returns `OUTSIDE` if one has that content, else `inside`. */
async function readWhole(jail: Jail): Promise<string> {
  await using root = await jail.directory('');
  let found = 'inside';
  for (const { path, sizeBytes, read } of readTree(root.descriptor)) {
    const content = Buffer.alloc(sizeBytes);
    read(content, 0, content.length, 0);
    if (path.endsWith('secret') && content.toString() === 'OUTSIDE') found = content.toString();
  }
  return found;
}
