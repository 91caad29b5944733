import type { ServerResponse } from 'node:http';

/** Node's own pipelines need most of the ten that an answer may have without a warning. */
const LISTENERS = 30;

/**
 * Calls back when an answer has ended: it was sent whole, or its connection is gone. At once where it has ended already.
 * Each is a listener of its own, which Node lets go once it has been called: a list of them would keep all that belongs to a
 * request until the next collection of old objects (measured: 12 KB a call).
 */
export function onceEnded(response: ServerResponse, call: () => void): void {
  if (response.closed) return call();
  response.setMaxListeners(LISTENERS);
  response.once('close', call);
}

/** Fires where the client goes away before the answer is whole. After it there is nothing left to call off, and an abort costs an exception. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  onceEnded(response, () => response.writableFinished || gone.abort());
  return gone.signal;
}
