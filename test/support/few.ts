import type { ExecutionContext } from 'ava';

/** A test that waits for a place. Its teardown frees the place. */
export type FewTest = Pick<ExecutionContext, 'teardown'>;

/**
 * Limits the tests of a file to `count` at a time. Returns the function that waits for a place. For heavy tests, so
 * that each finishes soon instead of all of them late.
 */
export function fewAtATime(count: number): (t: FewTest) => Promise<void> {
  let free = count;
  const waiting: (() => void)[] = [];
  const inside = new WeakSet<FewTest>();
  return async (t) => {
    if (inside.has(t)) return;
    inside.add(t);
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    t.teardown(() => {
      const next = waiting.shift();
      if (next) next();
      else free++;
    });
  };
}
