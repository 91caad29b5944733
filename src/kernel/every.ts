import type { Clock } from './clock.ts';

/** Calls `fire` each `ms`, the first time in so long, until the function that is returned is called; also from within `fire`. */
export function every(clock: Clock, ms: number, fire: () => void): () => void {
  let cancel = clock.at(clock.now() + ms, beat);
  function beat(): void {
    cancel = clock.at(clock.now() + ms, beat);
    fire();
  }
  return () => cancel();
}
