import type { ExecutionContext } from 'ava';

/** What waits for its turn, and gives it on when it ends. */
export type FewTest = Pick<ExecutionContext, 'teardown'>;

/**
 * What lets so many tests of a file go on at a time; the next one follows when one has ended. For what is heavy, so that
 * each of them is done soon instead of all of them late.
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
