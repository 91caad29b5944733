import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import process from 'node:process';
import { stripVTControlCharacters } from 'node:util';

// Runs the tests: `npm test` (embedded parts only) or `npm run test:all` (`--all`: every real part, such as Docker and browsers, too).
// Passes on what ava prints. The last line is `N passed, N failed, N skipped`; the exit status is 0 only if tests ran and none failed.
// `--record` stores how long each file of this run took in test/support/durations.json, by which later runs order the files.

const ROOT = join(import.meta.dirname, '../..');
const DURATIONS = join(import.meta.dirname, 'durations.json');
const RECORDED = join(ROOT, 'node_modules/.cache/test-durations.jsonl');

const options = new Set(process.argv.slice(2));
const all = options.has('--all');
const record = options.has('--record');
const began = performance.now();
const counts = { passed: 0, failed: 0, skipped: 0 };

/** Counts a line of ava by its mark. Each test has one mark, and each file that ended badly has one. */
function count(line: string): void {
  if (line.startsWith('  ✔ ')) counts.passed++;
  else if (line.startsWith('  - [skip] ')) counts.skipped++;
  else if (/^ {2}(✘ |◌ |- \[todo\] |Uncaught exception in |Unhandled rejection in )/.test(line)) counts.failed++;
}

/** Replaces the durations of the files that ran, and drops those of files that no longer exist. */
function storeDurations(): void {
  const known = JSON.parse(readFileSync(DURATIONS, 'utf8')) as Record<string, number>;
  const lines = existsSync(RECORDED) ? readFileSync(RECORDED, 'utf8').trim().split('\n') : [];
  const recorded = Object.fromEntries(lines.map((line) => JSON.parse(line) as [file: string, ms: number]));
  const durations = Object.entries({ ...known, ...recorded }).filter(([file]) => existsSync(join(ROOT, file)));
  durations.sort(([, one], [, other]) => other - one);
  writeFileSync(DURATIONS, `${JSON.stringify(Object.fromEntries(durations), undefined, 2)}\n`);
}

rmSync(RECORDED, { force: true });
const ava = spawn(process.execPath, [join(ROOT, 'node_modules/ava/entrypoints/cli.js')], {
  cwd: ROOT,
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, ...(all && { TEST_REAL: '1' }), ...(record && { TEST_DURATIONS: RECORDED }) },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ava.kill(signal));
for await (const line of createInterface({ input: ava.stdout })) {
  console.log(line);
  count(stripVTControlCharacters(line));
}
if (ava.exitCode === null && ava.signalCode === null) await new Promise((resolve) => ava.once('exit', resolve));
if (ava.exitCode !== 0 && counts.failed === 0) counts.failed = 1;
if (record) storeDurations();

const minutes = ((performance.now() - began) / 60_000).toFixed(1);
const leftOut =
  'It left out what needs real parts (Docker, browsers, PostgreSQL, MariaDB, S3, other clients, kill loops).';
console.log(
  all
    ? `\nTook ${minutes} min. A skipped test needs a part that this machine does not have.`
    : `\nTook ${minutes} min. ${leftOut}\nTo run these as well: npm run test:all`,
);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.passed > 0 && counts.failed === 0 ? 0 : 1;
