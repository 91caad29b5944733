/** A hostile plugin: swaps a directory for a link to the outside and back, as fast as it can, until it is told to end. */
import { renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

const { directory, outside, ended } = workerData as { directory: string; outside: string; ended: Int32Array };
while (Atomics.load(ended, 0) === 0) {
  renameSync(directory, `${directory}.aside`);
  symlinkSync(outside, directory);
  unlinkSync(directory);
  renameSync(`${directory}.aside`, directory);
  // Long enough for a call to get through now and then.
  Atomics.wait(ended, 0, 0, 0.2);
}
