/**
 * Loaded before a service (`NODE_OPTIONS`). On SIGUSR2 it writes the longest delay of the event loop since the last
 * signal, in ms.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

const file = process.env['LOOP_DELAY_FILE'];

if (file !== undefined && isMainThread) {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.draft`, String(delays.max / 1e6));
    renameSync(`${file}.draft`, file);
    delays.reset();
  });
}
