import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import test from 'ava';
import { runsAlone } from './needs.ts';

/**
 * The number of a suite's tests that run at a time. All of them at once would each hold a store and its servers in
 * memory.
 */
const AT_A_TIME = 16;

const require = createRequire(import.meta.url);
const TESTS = join(import.meta.dirname, '..');

/**
 * Loads the test files of a room into this worker. The service is compiled once for all of them, which halves their
 * time. `atATime` is smaller for tests that start processes. A file that `runsAlone` has a worker of its own.
 * Every other file must leave the process as it found it, and tests of one suite have different titles.
 */
export function suite(room: string, atATime = AT_A_TIME): void {
  limitTests(atATime);
  for (const file of filesOf(room)) require(join(TESTS, file));
}

/**
 * Returns the files of a room that share a worker, as paths below `test/`. `.` is the folder `test` itself, without its
 * rooms.
 */
export function filesOf(room: string): string[] {
  const files = globSync(room === '.' ? '*.test.ts' : `${room}/**/*.test.ts`, { cwd: TESTS });
  return files.filter((file) => !runsAlone(file)).toSorted();
}

function limitTests(atATime: number): void {
  let free = atATime;
  const waiting: (() => void)[] = [];
  test.beforeEach('wait for a turn', async () => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  });
  test.afterEach.always('pass the turn on', () => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  });
}
