import process from 'node:process';
import type { Log } from './log.ts';
import { withTimeout } from './timeout.ts';

export interface StrayErrorsOptions {
  log: Pick<Log, 'error'>;
  /** Lets go of everything. */
  close: () => Promise<unknown>;
  /** How long `close` may take. Default: 5 s. */
  closeMs?: number;
}

/** Whatever has not closed by then is repaired by the next start, as after a power cut. */
const CLOSE_MS = 5_000;

/**
 * The last to hear of errors that nobody has taken: without it each would end the process, with a bare stack.
 * - A rejection: the process goes on. Whoever needs a result awaits it, so nobody relied on this one, and what was in progress has
 *   let go of its locks as with any error.
 * - A throw, out of a timer or a socket's event: nobody knows what it left half done, and to go on would be to guess. The process
 *   closes and ends with 1; what is stored is whole at any instant, and whatever supervises the process starts it anew.
 */
export function hearStrayErrors({ log, close, closeMs = CLOSE_MS }: StrayErrorsOptions): void {
  process.on('unhandledRejection', (err) =>
    log.error(
      { err },
      'something in the background failed, and nobody took its error: the service goes on; report this',
    ),
  );
  let isEnding = false;
  process.on('uncaughtException', (err) => {
    // Closing has failed in its turn.
    if (isEnding) process.exit(1);
    isEnding = true;
    log.error(
      { err },
      'an error left something half done: the service ends, to be started anew; games run on; report this',
    );
    void end(close, closeMs);
  });
}

async function end(close: () => Promise<unknown>, closeMs: number): Promise<void> {
  await withTimeout(close(), closeMs).catch(() => {});
  process.exit(1);
}
