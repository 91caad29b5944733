import { globSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

// For the threads that are started from here on. Each loads a thousand files and then lives for seconds: with the little room for
// what is new that V8 begins with, a tenth of all its work is to collect what is not garbage yet. Several threads that collect
// the garbage of one have nothing to gain where all cores are busy, and wait for each other.
setFlagsFromString('--single-threaded-gc');
setFlagsFromString('--min-semi-space-size=16');
setFlagsFromString('--max-semi-space-size=32');

/**
 * Files that take long, longest first, by hand: of many games, containers, browsers or kills. One that is not in the list costs
 * time and nothing else.
 */
const LONG = [
  'flows/stack',
  'clients/clients',
  'docs/papers',
  'flows/image-alone',
  'flows/crash-money',
  'flows/swarm',
  'sandbox/play',
  'web/panel/pressed',
  'flows/recovery',
  'web/browser',
  'cli/service',
  'flows/join',
  'flows/join-container',
  'flows/standby',
  'files/extract',
  'flows/crash',
  'flows/databases',
  'engines/swarm',
  'operators/pages',
  'flows/compose-around',
  'flows/waiting-line',
  'conformance/swarm',
  'flows/life',
  'files/browser-pages',
  'backups/killed',
  'flows/quota',
  'sandbox/image',
  'conformance/engine',
  'flows/operations',
  'flows/players',
  'flows/proxy-outlives',
  'sftp/openssh',
  'flows/engine-away',
  'flows/backups',
  'flows/settings',
  'files/listing',
  'billing/small-wallet',
  'engines/docker',
  'people/grants/killed',
  'jail/jail',
].map((name) => `test/${name}.test.ts`);
/** So many short files follow each long one: not all that is long goes on at once, and nothing long is left for the end. */
const BETWEEN = 3;

const files = globSync('test/**/*.test.ts', { cwd: import.meta.dirname });
const missing = LONG.filter((file) => !files.includes(file));
if (missing.length > 0) throw new Error(`ava.config.js names files that are not there: ${missing.join(', ')}`);
const short = files.filter((file) => !LONG.includes(file)).sort();
const order = LONG.flatMap((file, n) => [file, ...short.slice(n * BETWEEN, (n + 1) * BETWEEN)]);
order.push(...short.slice(LONG.length * BETWEEN));

const rank = new Map(order.map((file, n) => [`${import.meta.dirname}/${file}`, n]));

export default {
  // A machine of two cores has nothing to give to more; fewer would wait for containers together.
  concurrency: 4,
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  require: ['./test/support/before-each-file.ts'],
  sortTestFiles: (one, other) => (rank.get(one) ?? 0) - (rank.get(other) ?? 0),
  // Longer than a test waits for what never comes true (test/support/until.ts): that says what it is.
  timeout: '5m',
};
