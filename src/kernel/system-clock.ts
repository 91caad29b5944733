import type { Clock } from './clock.ts';

/** The longest delay a timer takes; what lies further away is waited for in steps. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The machine's own clock. Its timers keep the process alive no longer than its listeners do. */
export const systemClock: Clock = clockOf(() => Date.now());

/** Real time for deadlines. Its instants count from the start of this process, so setting the machine's clock does not change them. */
export const monotonicClock: Clock = clockOf(() => performance.now());

function clockOf(now: () => number): Clock {
  return {
    now,
    at(at, fire) {
      let timer: NodeJS.Timeout;
      const arm = () => {
        const left = Math.max(0, at - now());
        timer = setTimeout(() => (left > MAX_DELAY_MS ? arm() : fire()), Math.min(left, MAX_DELAY_MS));
        timer.unref();
      };
      arm();
      return () => clearTimeout(timer);
    },
  };
}

/** Counts ms since the machine's boot; setting its clock does not change it. */
export function sinceBoot(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
