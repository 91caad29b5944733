import type { Clock } from '../../src/kernel/clock.ts';
import { type SteadyClock, steadyClock } from '../../src/kernel/steady-clock.ts';

interface Timer {
  at: number;
  fire: () => void;
}

/** A clock that moves only when a test moves it. */
export interface FakeClock extends Clock {
  /**
   * Moves on by `ms` and fires due timers in order of time. `now()` shows each timer its own instant. Promises settle
   * after each timer, so that it may set further timers within the same span.
   */
  advance(ms: number): Promise<void>;
  /** Moves straight to an instant, also backwards, and fires due timers. */
  jump(to: number): Promise<void>;
  /** Sets the time as a change of the machine's clock does: each timer keeps its remaining time. */
  set(to: number): Promise<void>;
  /** Returns the time that has really passed, whatever the clock was set to. */
  monotonicMs(): number;
  /** Returns the time of the next timer; Infinity without timers. */
  nextAt(): number;
  /** Returns the number of timers that have neither fired nor been cancelled. */
  pending(): number;
}

/**
 * Creates a clock that stands at `start` (epoch ms). Timers in the past fire on the next turn, as the port promises.
 */
export function fakeClock(start = 1_700_000_000_000): FakeClock {
  let now = start;
  let passed = 0;
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
      let left = ms;
      const pass = (span: number) => {
        now += span;
        passed += span;
        left -= span;
      };
      await settle();
      for (let timer = nextDue(now + left); timer; timer = nextDue(now + left)) {
        pass(Math.max(0, timer.at - now));
        take(timer);
        await settle();
      }
      pass(left);
      await settle();
    },
    async jump(to) {
      now = to;
      await this.advance(0);
    },
    async set(to) {
      for (const timer of timers) timer.at += to - now;
      now = to;
      await settle();
    },
    monotonicMs: () => passed,
    nextAt: () => nextDue(Infinity)?.at ?? Infinity,
    pending: () => timers.size,
  };
}

/** Returns the steady clock of a service with this clock, from its present instant on. */
export function steadyOf(clock: Clock & Pick<FakeClock, 'monotonicMs'>, epoch = 'this boot'): SteadyClock {
  const { monotonicMs } = clock;
  return steadyClock({ clock, monotonicMs }, { epoch, monotonicMs: monotonicMs(), steadyMs: clock.now() });
}

// Insertion order breaks ties: a Set hands timers out in the order they were set.
function earlier(best: Timer | undefined, timer: Timer): Timer {
  return best === undefined || timer.at < best.at ? timer : best;
}
