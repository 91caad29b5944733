import process from 'node:process';
import { lookForParts } from './test/support/needs.ts';

/** A run that names test files runs them as they are, with the parts that this machine has. */
const named = process.argv.slice(2).some((argument) => argument.includes('.test.ts'));
const { present, missing } = named || process.env.TEST_REAL ? await lookForParts() : { present: [], missing: [] };
if (!named && missing.length > 0 && process.env.CI) throw new Error(`CI must have every part. Missing: ${missing.join(', ')}`);

export default {
  concurrency: 4,
  environmentVariables: { TEST_PARTS: present.join(' ') },
  extensions: ['ts'],
  files: named ? ['test/**/*.test.ts'] : ['test/suites/*.ts', 'test/**/*.alone.test.ts', ...(process.env.TEST_REAL ? ['test/**/*.real.test.ts'] : [])],
  require: ['./test/support/before-each-file.ts'],
  timeout: '5m',
};
