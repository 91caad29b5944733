/** Counts the holders of a limited number of places. Does not queue: for that, use a semaphore. */
export interface Places {
  /**
   * Takes a place under each key, up to the maximum given for it. Returns a function that releases all of them; further
   * calls do nothing. If a key is full, takes no place and returns undefined.
   */
  take(most: Readonly<Record<string, number>>): (() => void) | undefined;
  /** Places taken under a key. */
  taken(key: string): number;
  /** Places taken under all keys. */
  total(): number;
}

/** Places in memory; a key without holders uses no memory. */
export function createPlaces(): Places {
  const counts = new Map<string, number>();
  const taken = (key: string) => counts.get(key) ?? 0;
  return {
    take(most) {
      const keys = Object.keys(most);
      if (keys.some((key) => taken(key) >= most[key]!)) return undefined;
      for (const key of keys) counts.set(key, taken(key) + 1);
      return () => {
        for (const key of keys.splice(0)) {
          const left = taken(key) - 1;
          if (left > 0) counts.set(key, left);
          else counts.delete(key);
        }
      };
    },
    taken,
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
  };
}
