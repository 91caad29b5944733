import { withTimeout } from '../../kernel/timeout.ts';
import { EngineError } from '../engine.ts';

/** The HTTP status the Docker Engine answered with; undefined where no answer came. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined;
}

/**
 * Docker's way of saying that a call was not needed: 304 it is so already, 404 there is no such thing, 409 not in a state
 * for it. Resolves to undefined for the statuses named; anything else rejects.
 */
export async function unless<T>(statuses: number[], call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    const status = statusOf(error);
    if (status !== undefined && statuses.includes(status)) return undefined;
    throw error;
  }
}

/** Waits at most `ms`: an engine that hangs counts as unreachable, and a lost answer would never come. */
export async function within<T>(ms: number, call: Promise<T>): Promise<T> {
  return await withTimeout(call, ms, {
    late() {
      throw Object.assign(new Error(`the Docker Engine did not answer within ${ms} ms`), { code: 'ETIMEDOUT' });
    },
  });
}

/** Converts a rejection of dockerode to an EngineError. An EngineError or TypeError passes unchanged. */
export function engineError(error: unknown): Error {
  if (error instanceof EngineError || error instanceof TypeError) return error;
  const message = error instanceof Error ? error.message.trim() : String(error);
  if (isConnectionError(error)) {
    return new EngineError('engine_unavailable', 'The Docker Engine does not answer.', {
      suggestion: 'The service retries automatically. If this continues, ask the operator to check Docker.',
      cause: error,
    });
  }
  if (/port is already allocated|address already in use/i.test(message)) {
    return new EngineError('port_in_use', 'A port of the server is taken.', { cause: error });
  }
  return new EngineError('unknown', `The container could not be changed: ${message}`, { cause: error });
}

const BROKEN = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ERR_STREAM_PREMATURE_CLOSE']);

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  // A socket file that is missing or not ours, a host that is unknown or out of reach.
  const dialling = 'syscall' in error && ['connect', 'getaddrinfo'].includes(String(error.syscall));
  return dialling || BROKEN.has(String(error.code));
}

/** Runs `work` and converts its rejection to an EngineError, or to the signal's reason once that has fired. */
export async function translated<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted ? signal.reason : engineError(error);
  }
}
