/** A hostile plugin: swaps a directory for a link to the outside and back, as fast as it can, until it is told to end. */
import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

const { directory, outside, ended } = workerData as { directory: string; outside: string; ended: Int32Array };
while (Atomics.load(ended, 0) === 0) {
  renameSync(directory, `${directory}.aside`);
  inItsPlace(() => symlinkSync(outside, directory));
  unlinkSync(directory);
  inItsPlace(() => renameSync(`${directory}.aside`, directory));
  // Long enough for a call to get through now and then.
  Atomics.wait(ended, 0, 0, 0.2);
}

/** Puts something where the directory was. A call that makes parents may have made the directory anew: that goes first. */
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
      // Something was made in it meanwhile: the next round removes it.
    }
  }
}
