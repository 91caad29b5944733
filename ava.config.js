import { globSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { lookForParts, runsAlone } from './test/support/needs.ts';

// Most test code runs a few times only, so V8's optimizing compiler and small young generation cost more than they save: with these
// flags, which the workers' isolates read when they start, the suites take 8 to 20 % less CPU time.
for (const flag of ['--no-opt', '--always-sparkplug', '--min-semi-space-size=32', '--max-semi-space-size=32']) {
  setFlagsFromString(flag);
}

// A run that names test files runs just these, with the real parts of this machine. `npm run test:all` sets TEST_REAL.
const named = process.argv.slice(2).some((argument) => argument.includes('.test.ts'));
const real = named || Boolean(process.env.TEST_REAL);
const { present, missing } = real ? await lookForParts() : { present: [], missing: [] };
if (process.env.TEST_REAL && process.env.CI && missing.length > 0) {
  throw new Error(`In CI every part must be present. Missing: ${missing.join('; ')}`);
}

/**
 * How long each file took when `npm test -- --record` or `npm run test:all -- --record` ran it last, in ms. New files and the longest ones
 * start first.
 */
const durations = JSON.parse(readFileSync(new URL('test/support/durations.json', import.meta.url), 'utf8'));
const durationOf = (file) => durations[file.slice(import.meta.dirname.length + 1)] ?? Number.MAX_SAFE_INTEGER;

const alone = globSync('**/*.test.ts', { cwd: `${import.meta.dirname}/test`, exclude: ['node_modules/**'] })
  .filter((file) => runsAlone(file, real) && (real || !file.endsWith('.real.test.ts')))
  // `npm run test:sources` runs it: it needs the internet.
  .filter((file) => !file.endsWith('sources.real.test.ts'))
  .map((file) => `test/${file}`);

export default {
  // Two cores have no time for more; with fewer, tests that wait for containers would leave the cores idle.
  concurrency: 4,
  environmentVariables: {
    TEST_PARTS: present.join(' '),
    TEST_THOROUGH: real ? 'yes' : 'no',
    TEST_RUNS: process.env.TEST_RUNS ?? (real ? '1' : '0.25'),
  },
  extensions: ['ts'],
  files: named ? ['test/**/*.test.ts'] : ['test/suites/*.ts', ...alone],
  require: ['./test/support/before-each-file.ts'],
  sortTestFiles: (one, other) => durationOf(other) - durationOf(one),
  // Longer than any test waits for an event (test/support/until.ts), so that the test itself fails and names the event.
  timeout: '5m',
};
