import type { Clock } from './clock.ts';

/**
 * Measures how much time has passed, regardless of changes to the machine's clock and across restarts of this process.
 * Its instants are epoch ms close to the machine's clock ("the wall"), but only their differences mean anything:
 * `wallOf` converts one for display or storage. Its timers fire after the given time has passed.
 */
export interface SteadyClock extends Clock {
  /** Identifies the boot of the machine that the count belongs to; '' if it is unknown. */
  readonly epoch: string;
  /** Returns how far the wall is ahead. Changes whenever the machine's clock is set. */
  offsetMs(): number;
  /** Returns the wall's time of the instant `steadyAt`. */
  wallOf(steadyAt: number): number;
  /** Converts the wall's time `wallAt` to an instant. */
  ofWall(wallAt: number): number;
  /** Converts the wall's time `wallAt` of a past event to an instant that is never in the future. */
  ofPast(wallAt: number): number;
}

/** The start of a count of time. */
export interface Anchor {
  epoch: string;
  monotonicMs: number;
  steadyMs: number;
}

export interface SteadyTime {
  /** The wall. */
  clock: Clock;
  /** Returns a count of ms that never decreases. */
  monotonicMs: () => number;
}

/** Smaller differences are ignored, because two clocks are never read at the same instant. */
const STEP_MS = 500;

/** Creates the steady clock that started at `anchor`. */
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
    // The wall's timers measure elapsed time, so only the difference matters.
    at: (steadyAt, fire) => clock.at(clock.now() + (steadyAt - now()), fire),
  };
}
