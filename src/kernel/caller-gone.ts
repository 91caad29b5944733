import { StatusError } from './status.ts';

/** The caller disconnected before the answer. */
export function callerGone(cause?: unknown): StatusError {
  return new StatusError('CANCELLED', 'CALLER_GONE', 'The caller went away.', { cause });
}

/** Does something; when its signal has fired, whatever it then fails with is CANCELLED CALLER_GONE. */
export async function unlessGone<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted ? callerGone() : error;
  }
}
