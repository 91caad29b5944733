import type { Clock } from '../../src/kernel/clock.ts';
import { type SteadyClock, steadyClock } from '../../src/kernel/steady-clock.ts';

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
  /** Moves straight to an instant, also backwards; fires what is then due. */
  jump(to: number): Promise<void>;
  /** Somebody sets the machine's clock: timers ring as much later as ever. */
  set(to: number): Promise<void>;
  /** How much time has passed in truth, whatever the clock was set to. */
  monotonicMs(): number;
  /** When the next timer is due; Infinity where there is none. */
  nextAt(): number;
  /** Timers not yet fired or cancelled. */
  pending(): number;
}

/** A clock for tests, standing at `start` (epoch ms). Timers already past fire on the next turn, as the port promises. */
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

/** What machines of a service with this clock live by, from the clock's present instant on. */
export function steadyOf(clock: Clock & Pick<FakeClock, 'monotonicMs'>, epoch = 'this boot'): SteadyClock {
  const { monotonicMs } = clock;
  return steadyClock({ clock, monotonicMs }, { epoch, monotonicMs: monotonicMs(), steadyMs: clock.now() });
}

// Insertion order breaks ties: a Set hands timers out in the order they were set.
function earlier(best: Timer | undefined, timer: Timer): Timer {
  return best === undefined || timer.at < best.at ? timer : best;
}
