import { openSync, readFileSync } from 'node:fs';
import { setImmediate as immediate } from 'node:timers/promises';
import { startWatchdog, withActivity } from '../../src/kernel/watchdog.ts';

/** A process with a stuck event loop, until its watchdog reports that in the file named by its first argument. */

const path = process.argv[2]!;
const logFd = openSync(path, 'a');
const DEADLINE_MS = 60_000;

function spinUntilTold(): void {
  const end = performance.now() + DEADLINE_MS;
  // On a busy machine, an earlier report without an activity may exist.
  while (!readFileSync(path, 'utf8').includes('ListThings') && performance.now() < end);
}

// Keeps the process running until the report: the watchdog alone does not.
const waiting = setTimeout(() => {}, DEADLINE_MS);
startWatchdog({
  stuckMs: 200,
  logFd,
  onStuck(stuck) {
    if (stuck.activity === '') return;
    clearTimeout(waiting);
    process.send?.(stuck);
  },
});
await withActivity(
  () => 'ListThings req-1',
  async () => {
    await immediate();
    spinUntilTold();
  },
);
