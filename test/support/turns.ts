import { setImmediate as turn } from 'node:timers/promises';

/** Waits for `count` turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await turn();
}
