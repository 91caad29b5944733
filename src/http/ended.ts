import type { ServerResponse } from 'node:http';

/** Node's own pipelines use most of the default of ten listeners per answer. */
const LISTENERS = 30;

/**
 * Calls `call` when an answer has ended: sent completely, or the connection closed. Calls it at once if that has
 * happened already. Each call adds its own listener, which Node releases after use. A list would keep the request's
 * memory until the next major garbage collection (measured: 12 KB a call).
 */
export function onceEnded(response: ServerResponse, call: () => void): void {
  if (response.closed) return call();
  response.setMaxListeners(LISTENERS);
  response.once('close', call);
}

/**
 * Returns a signal that fires if the client disconnects before the answer is complete. It does not fire after a
 * complete answer, because an abort costs an exception.
 */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  onceEnded(response, () => response.writableFinished || gone.abort());
  return gone.signal;
}
