import type { Clock } from '../../src/ports.ts';

interface Timer {
  at: number;
  fire: () => void;
}

/** A clock that stands still until it is told to move. */
export interface FakeClock extends Clock {
  /**
   * Moves on by `ms`, firing what falls due on the way in order of time (`now()` shows each timer its own instant), and
   * lets promises settle after each, so that what a timer sets in motion may set further timers within the same span.
   */
  advance(ms: number): Promise<void>;
  /** Moves straight to an instant, also backwards, as when somebody sets the machine's clock; fires what is then due. */
  jump(to: number): Promise<void>;
  /** When the next timer is due; Infinity where there is none. */
  nextAt(): number;
  /** Timers not yet fired or cancelled. */
  pending(): number;
}

/** A clock for tests, standing at `start` (epoch ms). Timers already past fire on the next turn, as the port promises. */
export function fakeClock(start = 1_700_000_000_000): FakeClock {
  let now = start;
  const timers = new Set<Timer>();

  const settle = () => new Promise<void>((resolve) => void setImmediate(resolve));
  const take = (timer: Timer) => {
    if (timers.delete(timer)) timer.fire();
  };
  const nextDue = (until: number) =>
    [...timers].filter((timer) => timer.at <= until).reduce<Timer | undefined>(earlier, undefined);

  return {
    now: () => now,
    at(at, fire) {
      const timer = { at, fire };
      timers.add(timer);
      if (at <= now) setImmediate(take, timer);
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const end = now + ms;
      await settle();
      for (let timer = nextDue(end); timer; timer = nextDue(end)) {
        now = Math.max(now, timer.at);
        take(timer);
        await settle();
      }
      now = end;
      await settle();
    },
    async jump(to) {
      now = to;
      await this.advance(0);
    },
    nextAt: () => nextDue(Infinity)?.at ?? Infinity,
    pending: () => timers.size,
  };
}

// Insertion order breaks ties: a Set hands timers out in the order they were set.
function earlier(best: Timer | undefined, timer: Timer): Timer {
  return best === undefined || timer.at < best.at ? timer : best;
}
