import type { Clock } from './clock.ts';

/**
 * Measures how much time has passed, regardless of changes to the machine's clock and across restarts of this process.
 * Its instants are epoch ms close to the machine's clock ("the wall"), but only their differences mean anything:
 * `wallOf` converts one for display or storage. Its timers fire after the given time has passed.
 */
export interface SteadyClock extends Clock {
  /** Names what the count belongs to, this boot of the machine; '' where that is not known. */
  readonly epoch: string;
  /** How much the wall is ahead; another one whenever somebody sets the machine's clock. */
  offsetMs(): number;
  /** Returns the wall's time of the instant `steadyAt`. */
  wallOf(steadyAt: number): number;
  /** The instant that the wall calls `wallAt`. */
  ofWall(wallAt: number): number;
  /** The instant that the wall calls `wallAt`, for what has happened: never in the future. */
  ofPast(wallAt: number): number;
}

/** Which instant a count of time began with. */
export interface Anchor {
  epoch: string;
  monotonicMs: number;
  steadyMs: number;
}

export interface SteadyTime {
  /** The wall. */
  clock: Clock;
  /** A count of ms that only grows. */
  monotonicMs: () => number;
}

/** Two readings of two clocks are never of one instant; who sets a clock by less than this leaves it as it is. */
const STEP_MS = 500;

/** The steady clock that began with `anchor`. */
export function steadyClock({ clock, monotonicMs }: SteadyTime, anchor: Anchor): SteadyClock {
  let offset = 0;
  const now = () => anchor.steadyMs + Math.max(0, Math.floor(monotonicMs() - anchor.monotonicMs));
  const offsetMs = () => {
    const measured = clock.now() - now();
    if (Math.abs(measured - offset) >= STEP_MS) offset = measured;
    return offset;
  };
  const ofWall = (wallAt: number) => wallAt - offsetMs();
  return {
    epoch: anchor.epoch,
    now,
    offsetMs,
    ofWall,
    wallOf: (steadyAt) => steadyAt + offsetMs(),
    ofPast: (wallAt) => Math.min(now(), ofWall(wallAt)),
    // A timer of the wall's is set by a difference, and runs by the machine's count of time.
    at: (steadyAt, fire) => clock.at(clock.now() + (steadyAt - now()), fire),
  };
}
