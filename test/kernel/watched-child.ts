import { openSync, readFileSync } from 'node:fs';
import { setImmediate as immediate } from 'node:timers/promises';
import { startWatchdog, withActivity } from '../../src/kernel/watchdog.ts';

/** A process whose loop is stuck until its watchdog has written so to the file that it is given. */

const path = process.argv[2]!;
const logFd = openSync(path, 'a');
const DEADLINE_MS = 60_000;

function spinUntilTold(): void {
  const end = performance.now() + DEADLINE_MS;
  // A busy machine may have stopped the loop earlier, with nothing in progress.
  while (!readFileSync(path, 'utf8').includes('ListThings') && performance.now() < end);
}

// Until it is told: the watchdog keeps no process from ending.
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
