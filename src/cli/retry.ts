import { setTimeout as delay } from 'node:timers/promises';
import { CommandError, isAway } from './errors.ts';
import { detail } from './report.ts';

const LEAST_MS = 1000;
const MOST_TRIES = 6;
const MOST_DELAY_S = 60;

/**
 * Repeats an idempotent attempt until it succeeds: after a lost connection, or if the service sends a time to wait.
 * Throws other errors, and the last failure.
 */
export async function retried<Result>(signal: AbortSignal, attempt: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      const ms = waitMs(error, tries);
      if (ms === undefined || tries >= MOST_TRIES) throw error;
      await delay(ms, undefined, { signal });
    }
  }
}

/** Returns undefined if waiting does not help. */
function waitMs(error: unknown, tries: number): number | undefined {
  if (!(error instanceof CommandError)) return undefined;
  const said = detail(error.status.details, 'RetryInfo')?.['retryDelay'];
  const seconds = typeof said === 'string' ? Number.parseFloat(said) : Number.NaN;
  if (seconds <= MOST_DELAY_S) return seconds * 1000;
  return isAway(error) ? LEAST_MS * 2 ** (tries - 1) : undefined;
}
