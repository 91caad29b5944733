import { KIB } from '../../kernel/units.ts';

/** How much of a game's log a follower gets in each window, which costs a few hundredths of a core. */
export const LOG_PACE = { amount: 128 * KIB, windowMs: 200 } as const;
/** A follower that has fallen behind goes on so many lines before the end. */
export const SKIP_TO_LINES = 100;

/** The line that stands for those left out. */
export function leftOut(bytes?: number): string {
  const what = bytes === undefined ? 'lines' : `${Math.max(0, bytes)} bytes`;
  return `[... ${what} of the log left out: the game prints faster than it can be shown ...]`;
}
