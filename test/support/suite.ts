import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import test from 'ava';

/** Tests of a suite that run at a time. All of them at once would each hold a store and its servers in memory. */
const AT_A_TIME = 16;

const require = createRequire(import.meta.url);
const TESTS = join(import.meta.dirname, '..');

/**
 * Loads the test files of these folders of `test/` into this worker, so that the service is compiled once for all of them, which
 * halves their time. Files named `*.alone.test.ts` and `*.real.test.ts` are left out: they have a worker each.
 * A file among them must leave the process as it found it, and tests of one suite have different titles.
 */
export function suite(...folders: string[]): void {
  limitTests();
  for (const folder of folders) for (const file of filesOf(folder)) require(join(TESTS, file));
}

/** The files of a folder that share a worker, as paths below `test/`. */
export function filesOf(folder: string): string[] {
  const files = globSync([`${folder}/**/*.test.ts`, `${folder}.test.ts`], { cwd: TESTS });
  return files.filter((file) => !/\.(alone|real)\.test\.ts$/.test(basename(file))).toSorted();
}

function limitTests(): void {
  let free = AT_A_TIME;
  const waiting: (() => void)[] = [];
  test.beforeEach('waits for its turn', async () => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  });
  test.afterEach.always('the next test runs', () => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  });
}
