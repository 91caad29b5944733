import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';
import test from 'ava';
import '../../src/quick-imports.js';

// Every worker loads this file first (`require` in ava.config.js). Node strips types in place, so lines are as written
// without source maps. Ava turns source maps on, which would read and parse the map of each of a thousand package
// files.
process.setSourceMapsEnabled(false);

const { TEST_DURATIONS } = process.env;
if (TEST_DURATIONS !== undefined && !isMainThread) {
  const began = performance.now();
  process.on('exit', () => {
    const file = test.meta.file.split('/test/').at(-1);
    appendFileSync(TEST_DURATIONS, `${JSON.stringify([`test/${file}`, Math.round(performance.now() - began)])}\n`);
  });
}
