import type { Clock } from './clock.ts';

/** The longest delay of a timer. Longer waits are split into steps. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The machine's own clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  at(at, fire) {
    let timer: NodeJS.Timeout;
    const arm = () => {
      const left = Math.max(0, at - Date.now());
      timer = setTimeout(() => (left > MAX_DELAY_MS ? arm() : fire()), Math.min(left, MAX_DELAY_MS));
      timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};

/** Real time for deadlines: setting the machine's clock does not change it. Its timers keep the process alive. */
export const monotonicClock: Clock = {
  now: () => performance.now(),
  at(at, fire) {
    const timer = setTimeout(fire, Math.max(0, at - performance.now()));
    return () => clearTimeout(timer);
  },
};

/** Returns the ms since the machine's boot. Setting the machine's clock does not change them. */
export function sinceBoot(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
