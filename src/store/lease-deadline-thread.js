import { writeSync } from 'node:fs';
import { uptime } from 'node:os';
import { workerData } from 'node:worker_threads';

/**
 * The thread of `lease-deadline.ts`. Written in JavaScript, because stripping types would take more memory than the
 * rest of the thread.
 */

/** @type {import('./lease-deadline.ts').DeadlineData} */
const { held, limitMs, logFd } = workerData;
const LOOK_MS = 100;

const looking = setInterval(() => {
  const silentMs = Math.round(uptime() * 1_000) - Number(Atomics.load(held, 0));
  if (silentMs < limitMs) return;
  clearInterval(looking);
  try {
    writeSync(
      logFd,
      `The lease was not renewed for ${silentMs} ms. This process exits, because a standby may take over.\n`,
    );
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}, LOOK_MS);
