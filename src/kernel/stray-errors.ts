import process from 'node:process';
import type { Log } from './log.ts';
import { withTimeout } from './timeout.ts';

/** The next start repairs resources that are not closed by then, as after a power failure. */
const CLOSE_MS = 5_000;

/**
 * Handles errors that no code has handled. Without it each would end the process with a bare stack.
 * - A rejection: the process continues. Code that needs a result awaits it, so no code relied on this one. The work in
 *   progress has released its locks as with any error.
 * - An exception from a timer or a socket's event: its work may be half done, and continuing would be a guess. The
 *   process closes and exits with 1. Stored data is consistent at any instant, and the supervisor restarts the process.
 */
export function hearStrayErrors({
  log,
  close,
  closeMs = CLOSE_MS,
}: {
  log: Log;
  /** Closes all resources. */
  close: () => Promise<unknown>;
  /** How long `close` may take. */
  closeMs?: number;
}): void {
  process.on('unhandledRejection', (err) =>
    log.error({ err }, 'A background task failed with an unhandled error. The service continues. Please report this.'),
  );
  let isEnding = false;
  process.on('uncaughtException', (err) => {
    // A further exception while closing.
    if (isEnding) process.exit(1);
    isEnding = true;
    log.error(
      { err },
      'An unexpected error may have left work unfinished. The service exits and needs a restart. ' +
        'Games keep running. Please report this.',
    );
    void end(close, closeMs);
  });
}

async function end(close: () => Promise<unknown>, closeMs: number): Promise<void> {
  await withTimeout(close(), closeMs).catch(() => {});
  process.exit(1);
}
