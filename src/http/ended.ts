import type { ServerResponse } from 'node:http';

const waiting = new WeakMap<ServerResponse, (() => void)[]>();

/**
 * Calls back when an answer has ended: it was sent whole, or its connection is gone. At once where it has ended already. One
 * listener serves all who ask: Node's own pipelines need most of those that an answer may have without a warning.
 */
export function onceEnded(response: ServerResponse, call: () => void): void {
  if (response.closed) return call();
  const calls = waiting.get(response);
  if (calls) return void calls.push(call);
  const first = [call];
  waiting.set(response, first);
  response.once('close', () => {
    for (const each of first) each();
  });
}
