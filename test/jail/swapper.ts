/** A hostile plugin: swaps a directory for a link to the outside and back as fast as it can, until `ended` is set. */
import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

const { directory, outside, ended } = workerData as { directory: string; outside: string; ended: Int32Array };
while (Atomics.load(ended, 0) === 0) {
  renameSync(directory, `${directory}.aside`);
  inItsPlace(() => symlinkSync(outside, directory));
  unlinkSync(directory);
  inItsPlace(() => renameSync(`${directory}.aside`, directory));
  // Long enough for a call to succeed now and then.
  Atomics.wait(ended, 0, 0, 0.2);
}

/** Puts an entry in the directory's place. Removes the directory if a call that creates parents has recreated it. */
function inItsPlace(put: () => void): void {
  for (;;) {
    try {
      put();
      return;
    } catch (error) {
      if (!['EEXIST', 'ENOTEMPTY'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
    try {
      rmSync(directory, { recursive: true, force: true });
    } catch {
      // A call has just created an entry in it: the next round removes it.
    }
  }
}
