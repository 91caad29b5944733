import { openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startWatchdog, withActivity } from '../../src/kernel/watchdog.ts';

/** A process with a stuck event loop, until its watchdog reports that in the file named by its first argument. */

const path = process.argv[2]!;
const logFd = openSync(path, 'a');
const DEADLINE_MS = 240_000;
/** Long, because on a busy machine both threads seldom run. */
const ANSWER_MS = 30_000;
const SPIN_MS = 40_000;
/** Longer than the time between two beats of the watchdog. */
const BEAT_MS = 50;

const isTold = () => readFileSync(path, 'utf8').includes('ListThings');

function spinUntilTold(): void {
  const end = performance.now() + SPIN_MS;
  while (!isTold() && performance.now() < end);
}

// Keeps the process running until the report: the watchdog alone does not.
const waiting = setTimeout(() => {}, DEADLINE_MS);
startWatchdog({
  stuckMs: 200,
  answerMs: ANSWER_MS,
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
    // On a busy machine, the watchdog may report this period before the activity begins, or get no answer in time. It
    // reports each period once, so the next one begins after a beat.
    while (!isTold() && performance.now() < DEADLINE_MS) {
      await delay(BEAT_MS);
      spinUntilTold();
    }
  },
);
