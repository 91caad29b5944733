import process from 'node:process';
import '../../src/quick-imports.js';

// For every thread of tests (`require` in ava.config.js). Types are stripped in place, so that lines are as written; with
// source maps on, as the test runner has them, each of a thousand files of packages would have its own map read and parsed.
process.setSourceMapsEnabled(false);
