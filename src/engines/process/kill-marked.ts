import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { send } from './signals.ts';
import { processTable } from './table.ts';

/** Time limit for reading this machine's processes. */
const LIMIT_MS = 30_000;
const RETRY_MS = 1_000;

/**
 * Kills all processes whose environment contains `NAME=value`. Tries again while this machine's processes cannot be
 * read, because the next game of the server would share its world with them. Never rejects.
 */
export async function killMarked(mark: string, log: Logger): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    try {
      for (const pid of await processTable.withEnvironment(mark)) send(pid, 'SIGKILL');
      return;
    } catch (err) {
      log.warn({ err }, 'the child processes of an ended game could not be killed');
      if (performance.now() > end) return;
      await sleep(RETRY_MS);
    }
  }
}
