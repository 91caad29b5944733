import { fstatSync, openSync } from 'node:fs';
import { setImmediate as immediate } from 'node:timers/promises';
import { doing } from '../../src/kernel/doing.ts';
import { startWatchdog } from '../../src/kernel/watchdog.ts';

/** A process whose loop is stuck until its watchdog has written so to the file that it is given. */

const tellTo = openSync(process.argv[2]!, 'a');
const DEADLINE_MS = 60_000;

function spinUntilTold(): void {
  const end = performance.now() + DEADLINE_MS;
  while (fstatSync(tellTo).size === 0 && performance.now() < end);
}

// Until it is told: the watchdog keeps no process from ending.
const waiting = setTimeout(() => {}, DEADLINE_MS);
startWatchdog({
  stuckMs: 200,
  tellTo,
  onStuck(stuck) {
    clearTimeout(waiting);
    process.send?.(stuck);
  },
});
await doing(
  () => 'ListThings req-1',
  async () => {
    await immediate();
    spinUntilTold();
  },
);
