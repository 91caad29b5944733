/** Runs pieces of work one after another for each key, in the order they were given; different keys don't wait. */
export type KeyedLock = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** A fresh lock. Nothing stays behind for a key whose work is done. */
export function keyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = tails.get(key);
    const mine = (before ?? Promise.resolve()).then(work, work);
    tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (tails.get(key) === mine) tails.delete(key);
    }
  };
}
