import { withTimeout } from '../../kernel/timeout.ts';
import { EngineError } from '../engine.ts';

/** Returns the HTTP status of the Docker Engine's answer; undefined if there was none. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined;
}

/**
 * Resolves to undefined if the call fails with one of the named statuses. Docker uses these for calls that were not
 * needed: 304 already in that state, 404 no such object, 409 not in a state for it. Rejects with any other error.
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

/** Waits at most `ms`, then rejects. An engine that hangs counts as unreachable. */
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
    return new EngineError('engine_unavailable', 'The Docker Engine does not respond.', {
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
  // The socket file is missing or not ours, or the host is unknown or unreachable.
  const dialling = 'syscall' in error && ['connect', 'getaddrinfo'].includes(String(error.syscall));
  return dialling || BROKEN.has(String(error.code));
}
