import { KIB } from '../../kernel/units.ts';

/** The amount of a game's log that a follower receives in each window. It costs a few hundredths of a core. */
export const LOG_PACE = { amount: 128 * KIB, windowMs: 200 } as const;
/** A follower that has fallen behind continues this many lines before the end. */
export const SKIP_TO_LINES = 100;

/** Returns the line that replaces skipped output. */
export function leftOut(bytes?: number): string {
  const what = bytes === undefined ? 'lines' : `${Math.max(0, bytes)} bytes`;
  return `[... ${what} of the log left out: the game prints faster than it can be shown ...]`;
}
