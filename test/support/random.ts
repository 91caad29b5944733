import { randomInt } from 'node:crypto';
import type { ExecutionContext } from 'ava';

/** Returns a number from 0 to below 1. */
export type Random = () => number;

/** The seed of all random choices in a run: `TEST_SEED`, which repeats a run's choices, or a new number. */
export const SEED = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31));

/** Returns a generator of numbers that the seed determines (mulberry32). */
export function random(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns the random numbers of one test, which `SEED` determines. Logs the seed if the test fails. */
export function chance(t: ExecutionContext): Random {
  t.teardown(() => {
    if (!t.passed) t.log(`TEST_SEED=${SEED} repeats it`);
  });
  return random(SEED);
}
