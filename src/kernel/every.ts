import type { Clock } from './clock.ts';

/**
 * Calls `fire` every `ms`, for the first time after `ms`. Returns a function that stops it, even from within `fire`.
 */
export function every(clock: Clock, ms: number, fire: () => void): () => void {
  let cancel = clock.at(clock.now() + ms, beat);
  function beat(): void {
    cancel = clock.at(clock.now() + ms, beat);
    fire();
  }
  return () => cancel();
}
