import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { EngineError } from '../engine.ts';
import { processTable } from './table.ts';

/** Time limit for reading this machine's processes. */
const READ_LIMIT_MS = 30_000;
const RETRY_MS = 1_000;

/** Sends a signal to a process, or to a group if the number is negative. Does nothing if it has ended. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Kills all processes whose environment contains `NAME=value`. Tries again while this machine's processes cannot be
 * read, because the next game of the server would share its world with them. Never rejects.
 */
export async function killMarked(mark: string, log: Logger): Promise<void> {
  const end = performance.now() + READ_LIMIT_MS;
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

/** Returns whether a process leads a process group. Only the first process of each game does. */
export function leadsGroup(pid: number): boolean {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}

/** Returns the error for a process that does not end after SIGKILL. */
export function unkillable(): EngineError {
  return new EngineError('unknown', 'The system cannot end the process of the server.', {
    suggestion: 'Ask the operator to check the machine; its disk may not respond.',
  });
}
