import { StatusError } from './status.ts';

/** Returns the error for a call whose caller disconnected before the answer. */
export function callerGone(cause?: unknown): StatusError {
  return new StatusError('CANCELLED', 'CALLER_GONE', 'The caller disconnected.', { cause });
}

/** Runs `work`. If `work` fails after `signal` has fired, rejects with CANCELLED CALLER_GONE instead of its error. */
export async function unlessGone<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted ? callerGone() : error;
  }
}
