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

/** Waits at most `ms`: an engine that hangs is an engine that is away, and a lost answer would otherwise never end. */
export async function within<T>(ms: number, call: Promise<T>): Promise<T> {
  return await withTimeout(call, ms, {
    late() {
      throw Object.assign(new Error(`the Docker Engine did not answer within ${ms} ms`), { code: 'ETIMEDOUT' });
    },
  });
}

/** Whatever dockerode rejected with, as an engine's error. What is one already passes unchanged. */
export function engineError(error: unknown): Error {
  if (error instanceof EngineError || error instanceof TypeError) return error;
  const message = error instanceof Error ? error.message.trim() : String(error);
  if (isConnectionError(error)) {
    return new EngineError('engine_unavailable', 'The Docker Engine does not answer.', {
      suggestion: 'It is tried again by itself; if it stays so, the operator must look at the Docker service.',
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
